"""`counterpoint watch`: show a debate as it is recorded, whichever process runs it."""

import click

from server.cli import session
from server.debate.views.events import build_event_row, list_shown_entries
from server.debate.views.provenance import describe_provenance
from server.debate.views.visibility import is_hidden
from server.engine.debates import DebateManager
from server.settings import Settings


@click.command()
@session.optional_debate_id_argument
@click.option("--since-seq", type=click.IntRange(0), default=0, help="Leave out the entries up to this one.")
@click.option("--json", "as_json", is_flag=True, help="Print each entry as JSON, one a line.")
@click.pass_obj
def watch(settings: Settings, debate_id: str, since_seq: int, *, as_json: bool) -> None:
    """Follow a debate, whichever process runs it. Without ID: the latest.

    A terminal shows what `counterpoint debate` shows, and takes its keys; elsewhere what is said is printed as it is
    recorded. It ends with the debate. q and Ctrl-C leave the debate as it is; --since-seq goes on from an entry.

    Example: counterpoint watch k3x9w2m4p7qr
    """
    if as_json:
        session.run_with_debate(
            settings, debate_id, lambda manager, full_id: print_rows(manager, full_id, since_seq)
        )
        return
    from server.cli.live import display, result, run  # noqa: PLC0415  (imports rich)

    live_display = display.LiveDisplay.for_streams(show_turns=True, show_bar=True)
    snapshot, is_over = session.run_with_debate(
        settings,
        debate_id,
        lambda manager, full_id: run.follow_debate(manager, full_id, live_display, since_seq),
    )
    if is_over:
        result.print_summary(snapshot, live_display.out)
    else:
        click.echo(f"It goes on without you. Watch it again: counterpoint watch {snapshot.id}")


async def print_rows(manager: DebateManager, debate_id: str, seq: int) -> None:
    """Print each entry after `seq` as a line of JSON, as it is recorded. Who recorded the debate goes to stderr."""
    head = await manager.load(debate_id)
    if provenance := describe_provenance(head.provenance, len(head.entries)):
        click.echo(provenance, err=True)
    async for snapshot in manager.watch_states(debate_id):
        for entry in list_shown_entries(snapshot)[seq:]:
            seq = entry.seq
            hidden = is_hidden(snapshot.debate, entry.event)
            row = build_event_row(snapshot.debate, entry, is_hidden=hidden)
            click.echo(session.format_json(row, indent=None))
