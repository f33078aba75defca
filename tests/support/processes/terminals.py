"""Programs in a terminal of their own, and what is on its screen."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic

import pyte

from server.cli.live.region import END_UPDATE
from tests.support.patience import PATIENCE, START_PATIENCE
from tests.support.processes.fork_server import take_terminal

DRAWN = END_UPDATE.encode()
MARKED_PASTES = 2004 << 5  # as pyte has modes of terminals that are not of the standard
SIZES = (
    "COLUMNS",
    "LINES",
)  # which processes of pytest-xdist have: they would count more than the terminal's
PIECE = 2048  # bytes: a screen that is soon replaced is seen, too, also by a reader that comes late


class TerminalProgram:
    """A child whose stdin, stdout and stderr are a terminal. `written`: every byte that it wrote."""

    def __init__(self, command: list[str], environ: Mapping[str, str], columns: int, lines: int) -> None:
        self.screen = pyte.HistoryScreen(columns, lines, history=5_000, ratio=1.0)
        self.stream = pyte.ByteStream(self.screen)
        self.written = b""
        self.exit_code: int | None = None
        self.terminal, other_end = pty.openpty()
        self.resize(columns, lines)
        own = {name: value for name, value in os.environ.items() if name not in SIZES}
        self.process = subprocess.Popen(
            command,
            stdin=other_end,
            stdout=other_end,
            stderr=other_end,
            env={**own, **environ},
            start_new_session=True,
            preexec_fn=take_terminal,  # noqa: PLW1509  (the test has no other thread)
        )
        self.pid = self.process.pid
        os.close(other_end)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def send(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def paste(self, text: str) -> None:
        """As a terminal does it that was asked to mark pastes."""
        assert MARKED_PASTES in self.screen.mode
        self.send(f"\x1b[200~{text}\x1b[201~")

    def read(self, seconds: float) -> bool:
        """What it has written, waited for so long. False if its end of the terminal is closed."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.terminal, PIECE)
        except OSError:  # how Linux says that the other end is closed
            return False
        self.written += piece
        self.stream.feed(piece)
        return bool(piece)

    @property
    def shown(self) -> str:
        """The lines on the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def whole(self) -> str:
        """What scrolled off the screen, and the screen."""
        above = (
            "".join(cell.data for _, cell in sorted(line.items())).rstrip()
            for line in self.screen.history.top
        )
        return "\n".join([*above, self.shown])

    def wait_for(self, *texts: str) -> str:
        """The screen when it shows all of these."""
        is_there = self.wait_until(lambda shown: all(text in shown for text in texts))
        assert is_there, f"{texts} not in:\n{self.whole}"
        return self.shown

    def wait_until_gone(self, text: str) -> None:
        """Return when a whole board is shown without this: while it is drawn, parts of it are missing."""
        is_gone = self.wait_until(lambda shown: self.written.endswith(DRAWN) and text not in shown)
        assert is_gone, f"{text} still in:\n{self.whole}"

    def wait_until(self, is_met: Callable[[str], bool]) -> bool:
        """Whether the screen is so, within the time that a program has."""
        is_silent, is_open = not self.written, True
        until = monotonic() + (START_PATIENCE if is_silent else PATIENCE)
        while not is_met(self.shown):
            if not is_open or monotonic() > until:
                return False
            is_open = self.read(0.05)
            if is_silent and self.written:  # it has started
                is_silent, until = False, monotonic() + PATIENCE
        return True

    def wait(self) -> int:
        """Its exit code."""
        until = monotonic() + START_PATIENCE
        while self.exit_code is None:
            assert monotonic() < until, f"it still runs:\n{self.shown}"
            self.read(0.05)
            self.exit_code = self.process.poll()
        while select.select([self.terminal], [], [], 0)[0] and self.read(0):
            pass
        return self.exit_code

    @property
    def is_reading_lines(self) -> bool:
        mode = termios.tcgetattr(self.terminal)[3]
        return bool(mode & termios.ICANON and mode & termios.ECHO)

    @property
    def is_restored(self) -> bool:
        """Whether the terminal gives lines again, echoes, wraps, shows its cursor, and marks no pastes."""
        modes = self.screen.mode
        is_plain = pyte.modes.DECAWM in modes and MARKED_PASTES not in modes
        return self.is_reading_lines and is_plain and not self.screen.cursor.hidden


@contextmanager
def open_terminal(
    *arguments: str,
    database: str,
    columns: int = 100,
    lines: int = 30,
    through: str = "",
    redirect: str = "",
    **environ: str,
) -> Iterator[TerminalProgram]:
    """Runs `counterpoint` so. `through`: a shell that waits for it; `redirect`: what the shell does to its streams."""
    variables = {"COUNTERPOINT_DB": database, "TERM": "xterm-256color", **environ}
    command = [sys.executable, "-m", "counterpoint", *arguments]
    if through:
        command = [through, "-c", f'"$@" {redirect}; sleep 60', through, *command]
    program = TerminalProgram(command, variables, columns, lines)
    try:
        yield program
    finally:
        if program.exit_code is None:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.process.wait()
        os.close(program.terminal)
