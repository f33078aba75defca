"""`counterpoint watch`: a debate that any process runs, printed as it is recorded."""

import click

from server.cli import session
from server.debate.facts.events import Recorded
from server.debate.views.events import build_event_row, is_hidden, list_shown_entries
from server.debate.views.state import status_reason
from server.engine.database.store import DebateSnapshot
from server.engine.debates import DebateManager
from server.settings import Settings


@click.command()
@session.debate_id_argument
@click.option("--since-seq", type=click.IntRange(0), default=0, help="Leave out the entries up to this one.")
@click.option("--json", "as_json", is_flag=True, help="Print each entry as JSON, one a line.")
@click.pass_obj
def watch(settings: Settings, debate_id: str, since_seq: int, *, as_json: bool) -> None:
    """Follow a debate, whichever process runs it, and print what is said as it is recorded.

    It ends with the debate. Ctrl-C leaves the debate as it is; --since-seq goes on from an entry.

    Example: counterpoint watch k3x9w2m4p7qr
    """
    from server.cli.live import events, result  # noqa: PLC0415  (imports rich)

    out = session.open_terminal()

    def show(snapshot: DebateSnapshot, entry: Recorded) -> None:
        hidden = is_hidden(snapshot.debate, entry.event)
        if as_json:
            row = build_event_row(snapshot.debate, entry, is_hidden=hidden)
            click.echo(session.format_json_line(row))
        elif not hidden:
            events.print_event(out, snapshot, entry.event)

    async def follow(manager: DebateManager, this_id: str) -> DebateSnapshot:
        seq, reason = since_seq, ""
        async for snapshot in manager.watch_states(this_id):
            for entry in list_shown_entries(snapshot)[seq:]:
                seq = entry.seq
                show(snapshot, entry)
            before, reason = reason, status_reason(snapshot.debate) if snapshot.status == "waiting" else ""
            if reason and reason != before and not as_json:
                events.print_note(out, f"Waiting: {reason}", "")
        return snapshot

    snapshot = session.run_with_debate(settings, debate_id, follow)
    if not as_json:
        result.print_summary(snapshot, out)
