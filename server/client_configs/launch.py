"""How a client starts this server, and whether it answers then."""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import anyio

from server.debate.facts.text import clean_line
from server.settings import PREFIX, package_version

SERVER_NAME = "counterpoint"
PACKAGE = "counterpoint-mcp"
HANDSHAKE_TIMEOUT = 20.0  # seconds: a first start on a slow disk takes several


class LaunchCommand(NamedTuple):
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


SHARED_COMMAND = LaunchCommand("uvx", (PACKAGE,))
"""For files that a team shares: a path on one machine would be wrong on another."""


def choose_launch_command(argv0: str = "") -> LaunchCommand:
    """The command that starts this server, with an absolute path: clients do not have the user's PATH."""
    release = package_version(missing="")
    suffix = ".exe" if os.name == "nt" else ""
    running = Path(argv0 or sys.argv[0]).absolute()
    own_command = Path(sys.executable).parent / f"{SERVER_NAME}{suffix}"
    for script in (running, running.with_suffix(suffix), own_command):
        if script.stem in (SERVER_NAME, PACKAGE) and script.is_file():
            uvx = shutil.which("uvx")
            if uvx and {"archive-v0", "environments-v2"} & set(script.parts):
                # The script is in uvx's cache, which may be emptied at any time.
                return LaunchCommand(uvx, (f"{PACKAGE}@{release}" if release else PACKAGE,))
            return LaunchCommand(str(script))
    environment = {} if release else {"PYTHONPATH": str(Path(__file__).parents[2])}
    return LaunchCommand(sys.executable, ("-m", "counterpoint"), environment)


class HandshakeError(Exception):
    """The server did not answer. The text is the reason, in one line."""


async def count_tools(
    command: str, arguments: Sequence[str], environ: Mapping[str, str]
) -> tuple[int, float]:
    """(number of tools, seconds from start to end). The server resumes no debates and runs no hooks.

    Raises HandshakeError if it did not start, or did not answer in time.
    """
    from mcp import Client, StdioServerParameters, stdio_client  # noqa: PLC0415  (slow)

    environment = {**os.environ, **environ, f"{PREFIX}MAX_RECOVERY_AGE_HOURS": "0", f"{PREFIX}HOOKS": ""}
    server = StdioServerParameters(command=command, args=[*arguments], env=environment)
    start = perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            with anyio.fail_after(HANDSHAKE_TIMEOUT):
                async with Client(stdio_client(server, errlog=log)) as client:
                    tools = (await client.list_tools()).tools
        except Exception as error:
            log.seek(0)
            lines = [line for line in log.read().splitlines() if line.strip()]
            reason = lines[-1] if lines else str(error) or type(error).__name__
            raise HandshakeError(clean_line(reason)[:300]) from error
    return len(tools), perf_counter() - start
