"""Text made for a terminal: what it would obey taken out, wrapped, its marks made plain."""

import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import click

MAX_WIDTH = 100
"""Columns: longer lines are hard to read."""

MIN_WIDTH = 20

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
# The last group reverses the order in which text is shown, and with it who seems to say what.
_CONTROL_CHARACTER = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]|[\u202a-\u202e\u2066-\u2069]"
)

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,3}[.)])\s+(.*)")
_BOLD_LINE = re.compile(r"\*\*([^*]+)\*\*:?")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_ITALIC = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])")


def sanitize_text(text: str) -> str:
    """Text without anything that a terminal would obey rather than show."""
    return _CONTROL_CHARACTER.sub("", _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n")))


def sanitize_line(text: str) -> str:
    return " ".join(sanitize_text(text).split())


@dataclass(frozen=True, slots=True)
class Screen:
    """What the two streams can show: the text goes to stdout, the bar to stderr."""

    width: int = 80
    supports_colours: bool = False
    supports_bar: bool = False

    @classmethod
    def detect(cls, environ: Mapping[str, str] = os.environ) -> Self:
        capable = environ.get("TERM") != "dumb"
        return cls(
            width=min(max(shutil.get_terminal_size().columns, MIN_WIDTH), MAX_WIDTH),
            supports_colours=capable and sys.stdout.isatty() and not environ.get("NO_COLOR"),
            supports_bar=capable and sys.stderr.isatty(),
        )

    def paint(self, text: str, **style: Any) -> str:
        return click.style(text, **style) if self.supports_colours else text

    def wrap(self, text: str, first_indent: str = "", hanging_indent: str | None = None) -> str:
        return textwrap.fill(
            text,
            self.width,
            initial_indent=first_indent,
            subsequent_indent=first_indent if hanging_indent is None else hanging_indent,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def render(self, markdown: str, margin: str = "") -> str:
        """Markdown for the eye: wrapped, its marks taken away or made plain."""
        lines, fenced = [], False
        for line in sanitize_text(markdown).expandtabs(4).splitlines():
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif fenced:
                lines.append(f"{margin}    {line}")
            else:
                lines.append(self.render_line(line.rstrip(), margin))
        return "\n".join(lines)

    def render_line(self, line: str, margin: str) -> str:
        if not line.strip():
            return ""
        if found := _HEADING.fullmatch(line):
            return self.render_title(strip_emphasis(found[2]), len(found[1]), margin)
        if found := _BOLD_LINE.fullmatch(line):
            return margin + self.paint(found[1].rstrip(":") + ":", bold=True)
        if found := _ITEM.fullmatch(line):
            mark = f"{margin}{found[1]}{found[2]} "
            return self.wrap(strip_emphasis(found[3]), mark, " " * len(mark))
        if line.lstrip().startswith("|"):
            return margin + line
        return self.wrap(strip_emphasis(line.removeprefix("\\")), margin)

    def render_title(self, text: str, level: int, margin: str = "") -> str:
        """Underlined where it is a large one, so that it shows without colours, too."""
        wrapped = self.wrap(text, margin)
        painted = "\n".join(self.paint(line, bold=True) for line in wrapped.splitlines())
        if level > 2:  # noqa: PLR2004  (levels of headings)
            return painted
        length = max(map(count_columns, wrapped.splitlines()), default=0) - len(margin)
        return f"{painted}\n{margin}{('=' if level == 1 else '-') * length}"


def strip_emphasis(text: str) -> str:
    return _ITALIC.sub(r"\1", _BOLD.sub(r"\1", text))


def count_columns(text: str) -> int:
    return sum(character_width(character) for character in text)


def character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def last_columns(text: str, max_columns: int) -> str:
    """The end of a text, as much of it as has room."""
    taken = len(text)
    for character in reversed(text):
        max_columns -= character_width(character)
        if max_columns < 0:
            break
        taken -= 1
    return text[taken:]
