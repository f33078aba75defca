"""The server over stdin and stdout, and how it ends.

It ends when its client closes stdin (0), on SIGTERM (143) and on SIGINT (130): in each case debates
stop where they are, what they have said is recorded, and the database is closed. The SDK does neither
on a signal: SIGTERM kills it, and after SIGINT it waits for a line that never comes.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
from contextlib import nullcontext
from typing import Any

import anyio

from server.app import build, open_hall
from server.debate.refused import DebateError
from server.settings import Settings

GRACE = 0.9
"""Seconds after a signal in which the database can be closed. It stays whole if that is not enough."""

LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"

log = logging.getLogger(__name__)


def serve_stdio(settings: Settings | None = None) -> int:
    """Serve until the client is gone; the exit code of the process. A signal does not return from here."""
    try:
        settings = settings or Settings.read()
        log_to_stderr(settings)
        if sys.stdin.isatty():
            sys.stderr.write(
                "Counterpoint waits for an MCP client on stdin. To use it by hand: `counterpoint --help`.\n"
            )
        return anyio.run(serve, settings)
    except DebateError as error:
        sys.stderr.write(f"counterpoint: {error}\n")
        return 1


def log_to_stderr(settings: Settings) -> None:
    """Has to come before an MCPServer is built: that sets up logging of its own where there is none."""
    logging.basicConfig(stream=sys.stderr, level=settings.log_level, format=LOG_FORMAT)
    # It would tell every statement with all that is said in the debate, and fill the pipe of a client that
    # does not read: then the server stands still.
    logging.getLogger("aiosqlite").setLevel(logging.WARNING)


async def serve(settings: Settings) -> int:
    """The exit code.

    The hall is opened before anything is read, so that an unusable database ends the process at once,
    and closed whether or not the protocol ends: its reader sits in a thread until a line comes.

    Raises:
        Unreadable: the database cannot be opened.
    """
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    on_signals(stopped)
    speaking: asyncio.Task[None] | None = None
    code = 0
    try:
        async with open_hall(settings) as hall:
            speaking = asyncio.create_task(build(lambda: nullcontext(hall)).run_stdio_async())
            either: set[asyncio.Future[Any]] = {speaking, stopped}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not speaking.done():
                speaking.cancel()
    except Exception:
        if speaking is None:
            raise
        log.exception("The server broke")
        code = 1
    if stopped.done():
        os._exit(128 + stopped.result())
    if not speaking.done():
        os._exit(code)
    if error := speaking.exception():
        log.error("The connection broke", exc_info=error)
        code = 1
    return code


def on_signals(stopped: asyncio.Future[int]) -> None:
    """Let the first signal stop the server. Plain handlers work on every system; the loop's do not."""
    loop = asyncio.get_running_loop()

    def stop(number: int, _frame: object) -> None:
        watchdog = threading.Timer(GRACE, os._exit, (128 + number,))
        watchdog.daemon = True
        watchdog.start()
        loop.call_soon_threadsafe(settle, number)

    def settle(number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):  # the last is Windows' way to end a child
        if number := getattr(signal, name, None):
            signal.signal(number, stop)
