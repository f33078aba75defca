"""Keys as they are pressed, and pasted text, without echo. Ctrl-C and Ctrl-Z stay signals.

The terminal marks pastes. Timing could not tell them apart: keys pressed while this process was busy come at once, too.
"""

import codecs
import os
import re
import select
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
        self.enter_key_mode()
        self.handlers = {
            number: signal.signal(number, handle)
            for number, handle in ((signal.SIGTSTP, self.suspend), (signal.SIGCONT, self.resume))
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        set_mode(self.descriptor, self.mode)
        self._write(LEAVE_PASTES)

    def enter_key_mode(self) -> None:
        import termios  # noqa: PLC0415
        import tty  # noqa: PLC0415

        with suppress(OSError, termios.error):
            tty.setcbreak(self.descriptor)
            mode = termios.tcgetattr(self.descriptor)
            # A read must never wait: Ctrl-C discards typed input, even after the descriptor was reported readable.
            mode[6][termios.VMIN] = mode[6][termios.VTIME] = 0
            termios.tcsetattr(self.descriptor, termios.TCSANOW, mode)
        self._write(MARK_PASTES)

    def _write(self, codes: str) -> None:
        """Write to the terminal directly: a signal may interrupt a write of `sys.stdout`. stdin may be read-only."""
        for descriptor in (self.descriptor, sys.stdout.fileno()):
            with suppress(OSError):
                os.write(descriptor, codes.encode())
                return

    def suspend(self, number: int, _: FrameType | None) -> None:
        """Ctrl-Z: give the terminal back as it was, and stop."""
        set_mode(self.descriptor, self.mode)
        self._write(RESTORE)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def resume(self, _number: int, _: FrameType | None) -> None:
        signal.signal(signal.SIGTSTP, self.suspend)
        with suppress(OSError):
            if os.tcgetpgrp(self.descriptor) == os.getpgrp():
                self.enter_key_mode()
        self.on_return()

    async def read(self) -> AsyncIterator[str | Paste]:
        """Keys, as characters or names such as `ENTER`, and pastes. It ends when the terminal is closed."""
        decoder, parser = codecs.getincrementaldecoder("utf-8")("replace"), InputParser()
        while True:
            with anyio.move_on_after(PASTE_PATIENCE if parser.is_paste else None) as patience:
                await anyio.wait_readable(self.descriptor)
            if patience.cancelled_caught:
                yield parser.end_paste()
                continue
            try:
                piece = os.read(self.descriptor, 4096)
            except OSError:  # it is gone
                return
            if piece:
                for key in parser.feed(decoder.decode(piece)):
                    yield key
            elif not self.is_open:
                return

    def wait(self, seconds: float) -> bool:
        """Whether a key is pressed within this time."""
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        with suppress(OSError):  # it is gone
            return bool(ready and os.read(self.descriptor, 4096))
        return False

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
    """Finds keys and pastes in the pieces that a terminal sends."""

    def __init__(self) -> None:
        self._rest, self.is_paste = "", False

    def feed(self, piece: str) -> Iterator[str | Paste]:
        """The keys and pastes that are complete with this piece."""
        text, self._rest = self._rest + piece, ""
        while text:
            mark = _END_OF_PASTE if self.is_paste else _PASTE
            before, found_mark, after = text.partition(mark)
            if self.is_paste and not found_mark:  # the last characters may begin the mark
                self._rest = text[:MAX_PASTE_LENGTH] + text[MAX_PASTE_LENGTH:][-len(mark) :]
                return
            if self.is_paste:
                yield Paste(join_paste(before[:MAX_PASTE_LENGTH]))
            else:
                sequence_start = None if found_mark else _BEGUN_SEQUENCE.search(before)
                self._rest = sequence_start[0] if sequence_start else ""
                yield from parse_keys(before.removesuffix(self._rest))
            self.is_paste, text = self.is_paste != bool(found_mark), after

    def end_paste(self) -> Paste:
        """The part that came of a paste whose end mark is lost."""
        text, self._rest, self.is_paste = self._rest, "", False
        return Paste(join_paste(text[:MAX_PASTE_LENGTH]))


def parse_keys(text: str) -> list[str]:
    plain = _CONTROL_SEQUENCE.sub("", text)
    return [NAMES.get(key, key) for key in plain if key in NAMES or key.isprintable()]


def join_paste(text: str) -> str:
    plain = _CONTROL_SEQUENCE.sub("", text).rstrip("\r\n")
    return "".join(key for key in re.sub(r"[\r\n\t]+", " ", plain) if key.isprintable())
