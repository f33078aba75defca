"""`counterpoint view`: debates in the browser: asked there, live, and with buttons."""

import os
import sys
import threading
import webbrowser

import click

from server.cli import session
from server.engine.debates import DebateManager
from server.engine.queries import find_debate_id
from server.settings import Settings

ACTOR = "page"  # recorded as the author of what the buttons do
DISPLAYS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")


@click.command()
@click.argument("debate_id", metavar="[ID]", default="")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Default: one that is free.")
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
            if not no_open:
                open_browser(address)
            await site.serve()

    with session.sigterm_as_interrupt():
        session.run_with_manager(settings, serve)


def open_browser(address: str) -> None:
    """Open the browser in a thread, because some return only when they are closed.

    Without a screen nothing is opened: a text browser would take over the terminal.
    """
    has_screen = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in DISPLAYS)
    if has_screen:
        threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
