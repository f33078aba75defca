"""Output for people: rich's console, with control characters filtered out."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import IO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from server.debate.facts.quoting import quote_heading, unescape_markup
from server.debate.facts.text import clean_line, remove_invisible

MIN_WIDTH = 20
MAX_WIDTH = 100  # columns: longer lines are hard to read
MIN_TEXT_WIDTH = 10
MAX_COLUMN_WIDTH = 40  # a longer cell pushes the rest of its line aside
GAP = "  "  # between columns
QUOTE_MARK = "\u2502 "  # before each line of a quotation
UNDERLINES = {1: "=", 2: "-"}  # by level of heading, so that headings show without styles

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?=\S)")
# Stars that stand in a product, a power, the arguments of a call or a pattern of files mark nothing.
_BOLD = re.compile(
    r"(?<![A-Za-z0-9_*)\]}/\\`])\*\*(?=[^\s*,;:.)\]}/])(?P<bold>(?:[^*\n]|\*(?!\*))+?)(?<=[^\s*,;(\[{/])\*\*(?![A-Za-z0-9_*(\[{/])"
)
_EMPHASIS = re.compile(rf"{_BOLD.pattern}|(?<![\w*])\*(?=[^\W_])(?P<italic>[^*\n]+?)(?<=\S)\*(?![\w*])")


class Terminal(Console):
    """A console that is safe for untrusted text.

    Control characters are removed from everything that is printed, and rich's own mark-up, emoji codes,
    highlighting and links are off. Anything but a capable terminal gets plain text.
    """

    def __init__(
        self, stream: IO[str], *, is_terminal: bool | None = None, environ: Mapping[str, str] = os.environ
    ) -> None:
        """is_terminal: whether to style text and to redraw a live display; by default the stream decides."""
        capable = stream.isatty() and environ.get("TERM") != "dumb" if is_terminal is None else is_terminal
        super().__init__(
            file=stream,
            force_terminal=capable,
            color_system="auto" if capable and not environ.get("NO_COLOR") else None,
            markup=False,
            emoji=False,
            highlight=False,
        )
        self.fit_width()

    def fit_width(self) -> None:
        """Read the width of the window again: it may have changed."""
        self.width = min(max(self.measure_size().columns, MIN_WIDTH), MAX_WIDTH)

    def measure_size(self) -> os.terminal_size:
        """Columns and lines of the window; those of a pipe are COLUMNS and LINES, or 80 and 24."""
        try:
            own_size = os.get_terminal_size(self.file.fileno())
        except (OSError, ValueError):
            own_size = os.terminal_size((80, 24))
        return shutil.get_terminal_size(own_size if own_size.columns else (80, 24))

    @property
    def has_unicode(self) -> bool:
        """Whether its encoding has more than ASCII."""
        return "utf" in (self.encoding or "").lower()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=remove_invisible(segment.text))

    def print_line(self, line: str | Text = "") -> None:
        """Print one line, which the terminal itself wraps if it is too long."""
        self.print(line, soft_wrap=True)

    def print_wrapped(
        self,
        text: str | Text,
        lead: str = "",
        style: str = "",
        *,
        lead_style: str = "",
        repeat_lead: bool = False,
    ) -> None:
        """Print text as one paragraph wrapped at words, with `lead` before it and as many spaces below that.

        style: for the whole paragraph. lead_style: for the lead alone. repeat_lead: print `lead` before each line.
        """
        margin = cell_len(lead)
        below = lead if repeat_lead else " " * margin
        body = Text(clean_line(text)) if isinstance(text, str) else text
        width = max(self.width - margin, MIN_TEXT_WIDTH)
        if not self.is_terminal:  # a path or an address in a file stays in one piece
            width = max([width, *map(cell_len, body.plain.split())])
        lines = body.wrap(self, width)
        for line in lines:
            line.rstrip()
        block = Text(style=style).append(lead, lead_style).append(Text("\n" + below).join(lines))
        block.rstrip()
        self.print_line(block)

    def print_rows(self, table: Sequence[Sequence[str]]) -> None:
        """Print rows in columns. On a terminal the last cell of a row stands below the others."""
        widths = [min(max(map(cell_len, column)), MAX_COLUMN_WIDTH) for column in zip(*table, strict=True)]
        for *cells, last_cell in table:
            padded = [
                cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=False)
            ]
            if self.is_terminal:
                lead = f"{padded[0]}{GAP}"
                self.print_wrapped(GAP.join(padded[1:]).rstrip(), lead, lead_style="bold")
                self.print_wrapped(last_cell, " " * cell_len(lead))
            else:
                self.print_line(GAP.join([*padded, last_cell]))

    def print_heading(self, text: str, level: int, indent: int = 0, style: str = "bold") -> None:
        self.print_wrapped(text, " " * indent, style)
        if level in UNDERLINES:
            length = min(cell_len(text), self.width - indent)
            self.print_line(" " * indent + UNDERLINES[level] * length)

    def print_markdown(self, source: str, indent: int = 0, style: str = "bold") -> None:
        """Print Markdown line by line: emphasis and headings (in `style`) styled, all else as written."""
        is_code, margin = False, " " * indent
        for line in remove_invisible(source).expandtabs(4).splitlines():
            if line.lstrip().startswith("```"):
                is_code = not is_code
            elif is_code or line.lstrip().startswith("|"):
                self.print_line(f"{margin}{'    ' if is_code else ''}{line}")
            elif heading := _HEADING.fullmatch(line):
                self.print_heading(
                    parse_emphasis(unescape_markup(heading[2])).plain, len(heading[1]), indent, style
                )
            elif line.startswith(">"):  # foreign words: each line on the screen is marked
                words = unescape_markup(line[1:].strip())
                quoted = parse_bold(words) if self.is_terminal else Text(words)
                self.print_wrapped(quoted, f"{margin}{QUOTE_MARK}", repeat_lead=True)
            else:
                item = _ITEM.match(line)
                mark = item[0] if item else ""
                self.print_wrapped(parse_emphasis(unescape_markup(line[len(mark) :])), margin + mark)


def parse_emphasis(line: str) -> Text:
    """A line of Markdown with bold and italic text styled; no other mark-up is read."""
    return style_marked(line, _EMPHASIS)


def parse_bold(words: str) -> Text:
    """Foreign words with bold text styled. A star alone may be a product, or stand in a pattern of files."""
    return style_marked(words, _BOLD)


def style_marked(line: str, marks: re.Pattern[str]) -> Text:
    text, end = Text(), 0
    for match in marks.finditer(line):
        kind = match.lastgroup or ""
        text.append(line[end : match.start()]).append(match[kind], style=kind)
        end = match.end()
    return text.append(line[end:])


def quote_words(text: str) -> str:
    """Foreign text in quotation marks, on one line. Its Markdown is not escaped: a terminal does not render any."""
    return unescape_markup(quote_heading(text))
