"""`counterpoint watch` and `view`: follow a debate in the terminal, or all of them in the browser."""

import os
import sys
import threading
import webbrowser

import click

from server.cli import session
from server.debate.views.events import build_event_row, list_shown_entries
from server.debate.views.provenance import describe_provenance
from server.debate.views.visibility import is_hidden
from server.engine.debates import DebateManager
from server.engine.queries import find_debate_id
from server.settings import Settings


@click.command()
@session.optional_debate_id_argument
@click.option("--since-seq", type=click.IntRange(0), default=0, help="Leave out the entries up to this one.")
@click.option("--json", "as_json", is_flag=True, help="Print each entry as JSON, one a line.")
@click.pass_obj
def watch(settings: Settings, debate_id: str, since_seq: int, *, as_json: bool) -> None:
    """Follow a debate, whichever process runs it. Without ID: the latest.

    A terminal shows what `counterpoint debate` shows, and takes its keys. A file or a pipe gets what is said, as it
    is recorded. It ends with the debate. q and Ctrl-C leave the debate as it is; --since-seq goes on from an entry.

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


ACTOR = "page"  # recorded as the author of what the buttons do
DISPLAYS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")


@click.command()
@click.argument("debate_id", metavar="[ID]", default="")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, help="The port. Default: any that is free."
)
@click.option("--no-open", is_flag=True, help="Only print the address.")
@click.pass_obj
def view(settings: Settings, debate_id: str, port: int, *, no_open: bool) -> None:
    """Ask and follow debates in the browser. Without ID: the list of all, and a form for a new question.

    The page follows a debate whichever process runs it. It is served to this machine only, at an address with a token
    in it that is new each time; whoever has the address sees and steers all debates. Ctrl-C ends it.

    Example: counterpoint view k3x9w2m4p7qr
    """
    from server.web.site.serving import Site, open_port  # noqa: PLC0415  (imports a web server)

    async def serve(manager: DebateManager) -> None:
        full_id = (await manager.load(await find_debate_id(manager, debate_id))).id if debate_id else ""
        with open_port(port) as listener:
            site = Site(manager, listener, actor=ACTOR)
            address = site.build_address(full_id)
            click.echo(address)
            sys.stdout.flush()
            if sys.stderr.isatty():
                click.echo("Open this address in a browser of this machine. Ctrl-C ends it.", err=True)
            if not no_open:
                open_browser(address)
            await site.serve()

    with session.sigterm_as_interrupt():
        session.run_with_manager(settings, serve, makes_database=not debate_id)


def open_browser(address: str) -> None:
    """Open the browser in a thread, because some return only when they are closed.

    Without a screen nothing is opened: a text browser would take over the terminal.
    """
    has_screen = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in DISPLAYS)
    if has_screen:
        threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
