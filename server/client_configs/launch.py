"""How a client starts this server."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from server.settings import package_version

SERVER_NAME = "counterpoint"
PACKAGE = "counterpoint-mcp"


class LaunchCommand(NamedTuple):
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


SHARED_COMMAND = LaunchCommand("uvx", (PACKAGE,))
"""For files that a team shares: a path of one machine would be wrong on the next."""


def find_launch_command(argv0: str = "") -> LaunchCommand:
    """An absolute path, because clients start programs without the user's PATH."""
    release = package_version(missing="")
    suffix = ".exe" if os.name == "nt" else ""
    running = Path(argv0 or sys.argv[0]).absolute()
    installed = Path(sys.executable).parent / f"{SERVER_NAME}{suffix}"
    for script in (running, running.with_suffix(suffix), installed):
        if script.stem in (SERVER_NAME, PACKAGE) and script.is_file():
            uvx = shutil.which("uvx")
            if uvx and {"archive-v0", "environments-v2"} & set(script.parts):
                # The script is in uvx's cache, which is emptied now and then.
                return LaunchCommand(uvx, (f"{PACKAGE}@{release}" if release else PACKAGE,))
            return LaunchCommand(str(script))
    environment = {} if release else {"PYTHONPATH": str(Path(__file__).parents[2])}
    return LaunchCommand(sys.executable, ("-m", "counterpoint"), environment)
