"""Keys as they are pressed, and text that is pasted, without echo. Ctrl-C and Ctrl-Z stay signals.

The terminal marks what is pasted: keys that were pressed while this process was busy arrive at once, too.
"""

import codecs
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, Self

import anyio

from server.cli.live.region import LEAVE_PASTES, MARK_PASTES, RESTORE

_CONTROL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\[O])")  # arrows, function keys, Alt
_BEGUN_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*\Z")  # the rest of it comes with the next piece
_PASTE, _END_OF_PASTE = "\x1b[200~", "\x1b[201~"
MAX_PASTE_LENGTH = 10_000  # characters, more than a note may have; what comes after them is dropped
PASTE_PATIENCE = 3.0  # seconds without more of a paste, after which its end is taken to be lost

ENTER, ESCAPE, BACKSPACE, CLEAR = "enter", "escape", "backspace", "clear"
NAMES = {"\r": ENTER, "\n": ENTER, "\x1b": ESCAPE, "\x7f": BACKSPACE, "\b": BACKSPACE, "\x15": CLEAR}


@dataclass(frozen=True, slots=True)
class Paste:
    """What was pasted, as one line."""

    text: str


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
        self._write(LEAVE_PASTES)

    def take_keys(self) -> None:
        import termios  # noqa: PLC0415
        import tty  # noqa: PLC0415

        with suppress(OSError, termios.error):
            tty.setcbreak(self.descriptor)
            mode = termios.tcgetattr(self.descriptor)
            # A read never waits: Ctrl-C drops what was typed before it, also when that was said to be there.
            mode[6][termios.VMIN] = mode[6][termios.VTIME] = 0
            termios.tcsetattr(self.descriptor, termios.TCSANOW, mode)
        self._write(MARK_PASTES)

    def _write(self, codes: str) -> None:
        """To the terminal: `sys.stdout` may be in the middle of a write. Through stdout if stdin can only be read."""
        for descriptor in (self.descriptor, sys.stdout.fileno()):
            with suppress(OSError):
                os.write(descriptor, codes.encode())
                return

    def stop(self, number: int, _: FrameType | None) -> None:
        """Ctrl-Z: give the terminal back as it was, and stop."""
        set_mode(self.descriptor, self.mode)
        self._write(RESTORE)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def go_on(self, _number: int, _: FrameType | None) -> None:
        signal.signal(signal.SIGTSTP, self.stop)
        with suppress(OSError):
            if os.tcgetpgrp(self.descriptor) == os.getpgrp():
                self.take_keys()
        self.on_return()

    async def read(self) -> AsyncIterator[str | Paste]:
        """Keys, as characters and names of others, and pastes. It ends when the terminal is closed."""
        decoder, parser = codecs.getincrementaldecoder("utf-8")("replace"), InputParser()
        while True:
            with anyio.move_on_after(PASTE_PATIENCE if parser.is_paste else None) as waited:
                await anyio.wait_readable(self.descriptor)
            if waited.cancelled_caught:
                yield parser.end_paste()
                continue
            try:
                piece = os.read(self.descriptor, 4096)
            except OSError:  # it is gone
                return
            if piece:
                for one in parser.feed(decoder.decode(piece)):
                    yield one
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


class InputParser:
    """Keys and pastes in the pieces of what a terminal sends."""

    def __init__(self) -> None:
        self._rest, self.is_paste = "", False

    def feed(self, piece: str) -> Iterator[str | Paste]:
        """What is complete with this piece."""
        text, self._rest = self._rest + piece, ""
        while text:
            mark = _END_OF_PASTE if self.is_paste else _PASTE
            before, found, after = text.partition(mark)
            if self.is_paste and not found:  # the last characters may begin the mark
                self._rest = text[:MAX_PASTE_LENGTH] + text[MAX_PASTE_LENGTH:][-len(mark) :]
                return
            if self.is_paste:
                yield Paste(flatten(before[:MAX_PASTE_LENGTH]))
            else:
                begun = None if found else _BEGUN_SEQUENCE.search(before)
                self._rest = begun[0] if begun else ""
                yield from parse_keys(before.removesuffix(self._rest))
            self.is_paste, text = self.is_paste != bool(found), after

    def end_paste(self) -> Paste:
        """What there is of a paste whose end does not come."""
        text, self._rest, self.is_paste = self._rest, "", False
        return Paste(flatten(text[:MAX_PASTE_LENGTH]))


def parse_keys(text: str) -> list[str]:
    plain = _CONTROL_SEQUENCE.sub("", text)
    return [NAMES.get(key, key) for key in plain if key in NAMES or key.isprintable()]


def flatten(pasted: str) -> str:
    plain = _CONTROL_SEQUENCE.sub("", pasted).rstrip("\r\n")
    return "".join(key for key in re.sub(r"[\r\n\t]+", " ", plain) if key.isprintable())
