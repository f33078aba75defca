"""What a person sees: text made for a terminal, and a debate while it runs."""

import os
import re
import shutil
import signal
import sys
import textwrap
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from types import FrameType
from typing import Any, Self

import anyio
import click

from server.debate.events import (
    Event,
    Failed,
    Intervened,
    Judged,
    Opened,
    Paused,
    PhaseEntered,
    Resumed,
    Spoke,
)
from server.debate.markdown import heading
from server.debate.opening import warnings
from server.debate.prompts import letter_of, lettered
from server.debate.state import Debate, judges
from server.debate.views import awaiting
from server.hall import Hall
from server.models.choice import family
from server.runner import Case

WIDEST = 100
"""Columns: longer lines are hard to read."""

NARROWEST = 20

TICK = 0.1
"""Seconds between looks at what there is to show."""

TAIL = 400
"""Characters kept of what is being written: more than the bar has room for."""

COLOURS = ("cyan", "yellow", "green", "magenta", "blue")

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
# The last group reverses the order in which text is shown, and with it who seems to say what.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]|[\u202a-\u202e\u2066-\u2069]")

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,3}[.)])\s+(.*)")
_BOLD_LINE = re.compile(r"\*\*([^*]+)\*\*:?")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_ITALIC = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])")


def plain(text: str) -> str:
    """Text without anything that a terminal would obey rather than show."""
    return _CONTROL.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    return " ".join(plain(text).split())


@dataclass(frozen=True, slots=True)
class Screen:
    """What the two streams can show: the text goes to stdout, the bar to stderr."""

    width: int = 80
    colours: bool = False
    bar: bool = False

    @classmethod
    def here(cls, environ: Mapping[str, str] = os.environ) -> Self:
        capable = environ.get("TERM") != "dumb"
        return cls(
            width=min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST),
            colours=capable and sys.stdout.isatty() and not environ.get("NO_COLOR"),
            bar=capable and sys.stderr.isatty(),
        )

    def paint(self, text: str, **style: Any) -> str:
        return click.style(text, **style) if self.colours else text

    def wrap(self, text: str, first: str = "", rest: str | None = None) -> str:
        return textwrap.fill(
            text,
            self.width,
            initial_indent=first,
            subsequent_indent=first if rest is None else rest,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def render(self, markdown: str, margin: str = "") -> str:
        """Markdown for the eye: wrapped, its marks taken away or made plain."""
        lines, fenced = [], False
        for line in plain(markdown).expandtabs(4).splitlines():
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
            return self.title(unmarked(found[2]), len(found[1]), margin)
        if found := _BOLD_LINE.fullmatch(line):
            return margin + self.paint(found[1].rstrip(":") + ":", bold=True)
        if found := _ITEM.fullmatch(line):
            mark = f"{margin}{found[1]}{found[2]} "
            return self.wrap(unmarked(found[3]), mark, " " * len(mark))
        if line.lstrip().startswith("|"):
            return margin + line
        return self.wrap(unmarked(line.removeprefix("\\")), margin)

    def title(self, text: str, level: int, margin: str = "") -> str:
        """Underlined where it is a large one, so that it shows without colours, too."""
        wrapped = self.wrap(text, margin)
        painted = "\n".join(self.paint(line, bold=True) for line in wrapped.splitlines())
        if level > 2:  # noqa: PLR2004  (levels of headings)
            return painted
        length = max(map(columns, wrapped.splitlines()), default=0) - len(margin)
        return f"{painted}\n{margin}{('=' if level == 1 else '-') * length}"


def unmarked(text: str) -> str:
    return _ITALIC.sub(r"\1", _BOLD.sub(r"\1", text))


def columns(text: str) -> int:
    return sum(width_of(character) for character in text)


def width_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def last_columns(text: str, room: int) -> str:
    """The end of a text, as much of it as has room."""
    taken = len(text)
    for character in reversed(text):
        room -= width_of(character)
        if room < 0:
            break
        taken -= 1
    return text[taken:]


class Live:
    """A debate as it comes in: what is recorded is printed, what is being written runs along the bar.

    The hall only tells it things; it looks at them in its own time, so that nothing it does can fail
    or hold up a debate.
    """

    def __init__(self, screen: Screen, *, turns: bool, bar: bool) -> None:
        self.screen = screen
        self.turns = turns
        self.bar = bar and screen.bar
        self.case: Case | None = None
        self.seen = 0  # entries shown
        self.writing: dict[str, str] = {}  # the seat that wrote last stands last
        self.drawn = ""  # what the bar shows
        self.began = monotonic()

    # Told by the hall

    def committed(self, case: Case) -> None:
        known = self.case.debate.version if self.case else 0
        for entry in case.log[known:]:
            if isinstance(entry.event, Spoke | Judged | Failed):
                self.writing.pop(entry.event.seat, None)
        self.case = case

    def wrote(self, _debate_id: str, seat: str, piece: str) -> None:
        self.writing[seat] = (self.writing.pop(seat, "") + piece)[-TAIL:]

    # Shown to the person

    def go_on(self, case: Case) -> None:
        """Begin with a debate that has a past, which is not printed again."""
        self.case, self.seen = case, case.debate.version
        if self.turns:
            said = len(case.debate.turns)
            click.echo(self.opening(case))
            click.echo(f"{said} {'turn' if said == 1 else 'turns'} so far: counterpoint show {case.id}")

    async def keep_drawing(self) -> None:
        while True:
            self.draw()
            await anyio.sleep(TICK)

    def draw(self) -> None:
        if self.case is None:
            return
        case, seen = self.case, self.seen
        self.seen = case.debate.version
        if self.turns and self.seen > seen:
            self.erase()
            for entry in case.log[seen:]:
                if block := self.block(case, entry.event):
                    click.echo(block)
        if self.bar and not (case.debate.ended or case.debate.paused):
            line = self.bar_line(case.debate)
            if line != self.drawn:
                click.echo("\r\x1b[2K" + line, err=True, nl=False)
            self.drawn = line

    def erase(self) -> None:
        if self.drawn:
            self.drawn = ""
            click.echo("\r\x1b[2K", err=True, nl=False)

    def block(self, case: Case, event: Event) -> str:
        """What is printed when this is recorded; "" for what shows in the verdict."""
        screen, text = self.screen, ""
        match event:
            case Opened():
                text = self.opening(case)
            case PhaseEntered():
                text = "\n" + screen.paint(f"== Round {event.round}: {plain(event.phase)} ==", bold=True)
            case Spoke():
                cut = "\n(cut at the length limit)" if event.cut else ""
                text = f"\n{self.speaker(case.debate, event.seat)}\n{screen.render(event.text + cut, '  ')}"
            case Judged():
                found = f"for {one_line(event.winner)}, margin {event.margin} of 3"
                head = f"{event.seat}, reading {event.reading}: {found if event.winner else 'for no side'}"
                head += "" if event.informative else " (not counted: the model is too small to judge)"
                text = f"\n{screen.title(head, 3)}\n{screen.render(event.verdict, '  ')}"
            case Failed():
                line = screen.wrap(f"{event.seat} failed: {one_line(event.detail)}", "! ", "  ")
                text = "\n" + screen.paint(line, fg="red")
            case Intervened(action="inject"):
                head = f"Note to {one_line(event.to) or 'everybody'}"
                text = f"\n{screen.paint(head, bold=True)}\n{screen.render(event.text, '  ')}"
            case Paused() | Resumed() | Intervened():
                word = {"paused": "Paused", "resumed": "Resumed"}.get(event.kind, "The talk is concluded")
                text = "\n" + screen.wrap(": ".join(filter(None, (word, one_line(event.reason)))))
            case _:
                pass
        return text

    def opening(self, case: Case) -> str:
        setup = case.debate.setup
        lines = [self.screen.title(one_line(heading(setup.question)), 1)]
        for letter, debater in lettered(case.debate):
            stance = f"{letter}. {one_line(debater.name)}: {one_line(debater.stance)}"
            lines.append(self.screen.wrap(f"{stance} ({one_line(debater.model)})", "  ", "     "))
        count, models = len(setup.judges.models), ", ".join(dict.fromkeys(setup.judges.models))
        who = "1 judge" if count == 1 else f"{count} judges"
        line = f"{who} ({one_line(models)}), {setup.format}, {setup.max_rounds} rounds, debate {case.id}"
        lines.append(self.screen.wrap(line, "  ", "     "))
        families = len({family(debater.model) for debater in setup.debaters})
        lines += [self.screen.wrap(warning, "  ! ", "    ") for warning in warnings(setup, families)]
        return "\n".join(lines)

    def speaker(self, debate: Debate, seat: str) -> str:
        letter = letter_of(debate, seat)
        colour = COLOURS[(ord(letter) - ord("A")) % len(COLOURS)]
        name = f"{letter}. {one_line(seat)}"
        line = self.screen.wrap(f"{name} ({one_line(heading(debate.debater(seat).stance))})", "", "   ")
        return line.replace(name, self.screen.paint(name, fg=colour, bold=True), 1)

    def bar_line(self, debate: Debate) -> str:
        """Answers so far, how long it takes, and the end of what is being written: one line exactly."""
        done, total = len(debate.turns) + len(debate.judged), expected(debate)
        full, empty = "█░" if "utf" in (sys.stderr.encoding or "").lower() else "#."
        filled = round(10 * min(done / total, 1))
        phase = f"{debate.phase.name}: " if debate.phase else ""
        head = (
            f"{full * filled}{empty * (10 - filled)} {done}/{total} {int(monotonic() - self.began)}s {phase}"
        )
        room = max(columns_of_stderr() - columns(head) - 1, 0)
        return head + self.activity(debate, room)

    def activity(self, debate: Debate, room: int) -> str:
        if not self.writing:
            asked = ", ".join(map(one_line, awaiting(debate)))
            return f"asking {asked}"[:room] if asked else ""
        seat, text = next(reversed(self.writing.items()))
        if seat in judges(debate.setup):
            return f"{seat} writes its finding"[:room]
        name = f"{one_line(seat)}: "
        return name[:room] + last_columns(one_line(text), max(room - columns(name), 0))


class Interruptible:
    """Within it SIGTERM does what Ctrl-C does. `code` is what the process then exits with."""

    def __init__(self) -> None:
        self.code = 128 + signal.SIGINT

    def __enter__(self) -> Self:
        self.before = signal.signal(signal.SIGTERM, self.terminated)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, self.before or signal.SIG_DFL)

    def terminated(self, number: int, frame: FrameType | None) -> None:
        self.code = 128 + number
        interrupted = signal.getsignal(signal.SIGINT)
        if not callable(interrupted):  # ignored, as it is for what a script runs in the background
            raise KeyboardInterrupt
        interrupted(signal.SIGINT, frame)


def columns_of_stderr() -> int:
    """Stdout may be a file while the bar runs."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or shutil.get_terminal_size().columns
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


def expected(debate: Debate) -> int:
    """How many answers the whole debate has: an estimate, since talk can end early and answers fail."""
    setup = debate.setup
    readings = 2 if setup.judges.both_orders else 1
    return max(setup.max_rounds * len(setup.debaters) + len(setup.judges.models) * readings, 1)


async def watch(hall: Hall, case: Case, live: Live) -> Case:
    """Show a debate, wherever it stands, until it is over or paused."""
    hall.ensure(case, None)
    try:
        async with anyio.create_task_group() as drawing:
            drawing.start_soon(live.keep_drawing)
            case = await hall.follow(case.id, wait=60)
            while not (case.debate.ended or case.debate.paused):
                case = await hall.follow(case.id, wait=60)
            drawing.cancel_scope.cancel()
        live.committed(case)
        live.draw()
    finally:
        live.erase()
    return case
