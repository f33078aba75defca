"""A debate that can be left running: it runs in another process than the one that the shell waits for.

The command forks before it opens anything. The child runs and shows the debate; the parent waits, and restores the
terminal if the child is killed. To leave the debate, only the parent ends: the child goes on without a terminal, and
no call in flight is lost.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType

import click

from server.cli.live.keyboard import set_mode
from server.cli.live.region import RESTORE

LEAVE_MESSAGES = {
    b"left running": "Left running. Watch it: counterpoint watch {}",
    b"left paused": "Left paused. It goes on when it is resumed: counterpoint intervene {} resume",
}
"""What the child tells the parent when it is left, and what the parent prints."""
FORWARDED_SIGNALS = ("SIGTERM", "SIGHUP")


class Background:
    """The child's side: it tells the parent which debate it runs, and when the debate is left."""

    def __init__(self, pipe: int, parent: int) -> None:
        self.pipe, self.parent = pipe, parent

    @property
    def is_orphaned(self) -> bool:
        """Whether the parent is gone although nobody left."""
        return bool(self.pipe) and os.getppid() != self.parent

    def tell(self, text: bytes) -> None:
        with suppress(OSError):
            os.write(self.pipe, text + b"\n")

    def leave(self, *, is_paused: bool) -> None:
        """Give up the terminal, which has to be as it was, and go on without one."""
        null = os.open(os.devnull, os.O_RDWR)
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.close(null)
        os.setsid()  # no signal of the terminal reaches it any more
        self.tell(b"left paused" if is_paused else b"left running")
        os.close(self.pipe)
        self.pipe = 0


def fork(descriptor: int) -> Background:
    """Return in the child; the parent waits for it and exits. `descriptor`: the terminal."""
    import termios  # noqa: PLC0415  (Windows has none)

    sys.stdout.flush()
    sys.stderr.flush()
    mode = termios.tcgetattr(descriptor)
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reading)
        return Background(writing, parent)
    os.close(writing)
    sys.exit(wait(child, reading, lambda: set_mode(descriptor, mode)))


def wait(child: int, pipe: int, restore: Callable[[], None]) -> int:
    """Wait for the child. Returns its exit code, or 0 if it was left running or paused."""

    def forward(number: int, _: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for name in ("SIGINT", "SIGQUIT"):  # the terminal sends them to the child as well
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    for name in FORWARDED_SIGNALS:
        signal.signal(getattr(signal, name), forward)
    debate_ids: list[str] = []
    for line in iter_lines(pipe):
        if line in LEAVE_MESSAGES:
            click.echo(LEAVE_MESSAGES[line].format(debate_ids[-1]))
            return 0
        debate_ids.append(line.decode())
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status):
        return os.waitstatus_to_exitcode(status)
    restore()
    if sys.stdout.isatty():
        sys.stdout.write(f"\r{RESTORE}\x1b[J")
    hint = f" Continue with: counterpoint debate --continue {debate_ids[-1]}" if debate_ids else ""
    click.echo(f"Stopped by signal {os.WTERMSIG(status)}.{hint}", err=True)
    return 128 + os.WTERMSIG(status)


def iter_lines(pipe: int) -> Iterator[bytes]:
    """The lines that come through a pipe until its other end is closed."""
    unfinished_line = b""
    while piece := os.read(pipe, 4096):
        *lines, unfinished_line = (unfinished_line + piece).split(b"\n")
        yield from lines
