"""Keys as they are pressed, without echo. Ctrl-C and Ctrl-Z stay signals."""

import codecs
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Self

import anyio

from server.cli.live.region import RESTORE

_CONTROL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\[O])")  # arrows, function keys, Alt

ENTER, ESCAPE, BACKSPACE, CLEAR = "enter", "escape", "backspace", "clear"
NAMES = {"\r": ENTER, "\n": ENTER, "\x1b": ESCAPE, "\x7f": BACKSPACE, "\b": BACKSPACE, "\x15": CLEAR}


class Keyboard:
    """A terminal that gives keys instead of lines, from `with` to its end.

    Its mode is put back at the end, and while the process is stopped by Ctrl-Z.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.mode: list[Any] = []
        self.handlers: dict[int, Any] = {}
        self.on_return: Callable[[], None] = lambda: None  # after Ctrl-Z

    @classmethod
    def find(cls) -> Self | None:
        """stdin, if it is a terminal and this process is the one that reads from it."""
        if sys.platform == "win32":
            return None
        try:
            descriptor = sys.stdin.fileno()
            # Another process group would be stopped when it changes the terminal.
            is_own = os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp()
        except (OSError, ValueError, AttributeError):  # closed, or replaced by a program
            return None
        return cls(descriptor) if is_own else None

    def __enter__(self) -> Self:
        import termios  # noqa: PLC0415  (Windows has none)

        self.mode = termios.tcgetattr(self.descriptor)
        self.take_keys()
        self.handlers = {
            number: signal.signal(number, handle)
            for number, handle in ((signal.SIGTSTP, self.stop), (signal.SIGCONT, self.go_on))
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        set_mode(self.descriptor, self.mode)

    def take_keys(self) -> None:
        import termios  # noqa: PLC0415
        import tty  # noqa: PLC0415

        with suppress(OSError, termios.error):
            tty.setcbreak(self.descriptor)
            mode = termios.tcgetattr(self.descriptor)
            # A read never waits: Ctrl-C drops what was typed before it, also when that was said to be there.
            mode[6][termios.VMIN] = mode[6][termios.VTIME] = 0
            termios.tcsetattr(self.descriptor, termios.TCSANOW, mode)

    def stop(self, number: int, _: FrameType | None) -> None:
        """Ctrl-Z: give the terminal back as it was, and stop."""
        set_mode(self.descriptor, self.mode)
        with suppress(OSError):
            os.write(self.descriptor, RESTORE.encode())  # stdout may be in the middle of a write
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def go_on(self, _number: int, _: FrameType | None) -> None:
        signal.signal(signal.SIGTSTP, self.stop)
        with suppress(OSError):
            if os.tcgetpgrp(self.descriptor) == os.getpgrp():
                self.take_keys()
        self.on_return()

    async def read(self) -> AsyncIterator[list[str]]:
        """Keys that were pressed at once: characters, and names of others. It ends when the terminal is closed."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            await anyio.wait_readable(self.descriptor)
            try:
                piece = os.read(self.descriptor, 4096)
            except OSError:  # it is gone
                return
            if piece:
                yield parse_keys(decoder.decode(piece))
            elif not self.is_open:
                return

    @property
    def is_open(self) -> bool:
        import termios  # noqa: PLC0415

        try:
            termios.tcgetattr(self.descriptor)
        except (OSError, termios.error):
            return False
        return True


def set_mode(descriptor: int, mode: list[Any]) -> None:
    """Put back the mode of a terminal, also from the background, where that would stop the process."""
    import termios  # noqa: PLC0415

    handler = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        termios.tcsetattr(descriptor, termios.TCSANOW, mode)
    except (OSError, termios.error):  # it is gone
        pass
    finally:
        signal.signal(signal.SIGTTOU, handler)


def parse_keys(text: str) -> list[str]:
    """The keys of a text that a terminal sent. A line break within it was pasted, and is a space."""
    plain = _CONTROL_SEQUENCE.sub("", text)
    whole = [" " if key in "\r\n" and end < len(plain) else key for end, key in enumerate(plain, 1)]
    return [NAMES.get(key, key) for key in whole if key in NAMES or key.isprintable()]
