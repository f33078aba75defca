"""The lines at the bottom of a terminal that are drawn again and again, below the text that stays."""

import os
from collections.abc import Callable

from rich.console import RenderableType

from server.cli.terminal import Terminal

Build = Callable[[int, int], RenderableType]
"""What to draw on so many columns and lines."""

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
WRAP_OFF, WRAP_ON = "\x1b[?7l", "\x1b[?7h"
BEGIN_UPDATE, END_UPDATE = "\x1b[?2026h", "\x1b[?2026l"  # terminals that know it show the whole at once
MARK_PASTES, LEAVE_PASTES = "\x1b[?2004h", "\x1b[?2004l"  # whether the terminal says what was pasted
RESTORE = f"{WRAP_ON}{SHOW_CURSOR}{LEAVE_PASTES}"


class Region:
    """Lines that replace each other. The cursor waits at the end of the last one.

    Lines do not wrap while they are drawn: a character that the terminal draws wider than expected is cut off at the
    edge, and the next drawing still finds the first line.
    """

    def __init__(self, out: Terminal) -> None:
        self.out = out
        self.shown: list[str] = []
        self.size = os.terminal_size((0, 0))

    def draw(self, build: Build) -> None:
        """Draw, or leave what is there already. The last column and line stay free."""
        size = self.out.measure_size()
        if self.shown and size != self.size:
            self.push_out(size)
        self.size = size
        columns, lines = max(size.columns - 1, 1), max(size.lines - 1, 1)
        self.out.width = columns
        with self.out.capture() as captured:
            self.out.print(build(columns, lines))
        self.out.fit_width()
        text = captured.get().rstrip("\n").split("\n")[:lines]
        if text != self.shown:
            whole = "\r\n".join(f"\x1b[2K{line}" for line in text)
            home = self.build_home_codes() if self.shown else HIDE_CURSOR
            self.write(f"{BEGIN_UPDATE}{WRAP_OFF}{home}{whole}\x1b[J{WRAP_ON}{END_UPDATE}")
            self.shown = text

    def erase(self) -> None:
        """Take the lines away, so that text can be printed in their place."""
        if self.shown:
            self.write(f"{self.build_home_codes()}\x1b[J")
            self.shown = []

    def close(self) -> None:
        if self.size.columns:
            self.erase()
            self.write(RESTORE)

    def build_home_codes(self) -> str:
        """The codes that move the cursor to the beginning of the first line."""
        above = len(self.shown) - 1
        return f"\r\x1b[{above}A" if above else "\r"

    def push_out(self, size: os.terminal_size) -> None:
        """Scroll the lines out of the window: after a resize nobody knows where the terminal wrapped them."""
        self.write("\r\n" * size.lines + "\x1b[H\x1b[J")
        self.shown = []

    def write(self, codes: str) -> None:
        self.out.file.write(codes)
        self.out.file.flush()
