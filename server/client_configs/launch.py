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
