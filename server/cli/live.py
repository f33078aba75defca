"""What a person sees of a debate while it runs."""

import os
import shutil
import signal
import sys
from time import monotonic
from types import FrameType
from typing import Self

import anyio
import click

from server.cli.rendering import Screen, columns, last_columns, one_line, plain
from server.debate.commands.open import warnings
from server.debate.facts.events import (
    Audited,
    Balloted,
    Event,
    Failed,
    HandedOff,
    Intervened,
    Judged,
    Opened,
    Paused,
    PhaseEntered,
    Researched,
    Resumed,
    RoundClosed,
    RoundOpened,
    Spoke,
)
from server.debate.facts.state import Debate
from server.debate.facts.text import counted
from server.debate.prompts.transcript import letter_of, lettered
from server.debate.rules.budget import calls_expected
from server.debate.views.audit import changes, kind_of
from server.debate.views.markdown import audit_block, closing_block, estimate_line, heading, opening_block
from server.debate.views.state import awaiting, shows
from server.engine.debates import Hall
from server.engine.runner import Case
from server.models.registry import family

TICK = 0.1
"""Seconds between looks at what there is to show."""

TAIL = 400
"""Characters kept of what is being written: more than the bar has room for."""

COLOURS = ("cyan", "yellow", "green", "magenta", "blue")


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
            self.writing.pop(getattr(entry.event, "seat", ""), None)
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
            hidden = case.debate.setup.hidden_from_client
            for entry in case.log[seen:]:
                if kind_of(entry.event) not in hidden and (block := self.block(case, entry.event)):
                    click.echo(block)
        if self.bar and case.status == "running":
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
                text = f"\n{self.speaker(case.debate, event)}\n{screen.render(event.text + cut, '  ')}"
            case RoundOpened() | RoundClosed() | Audited():
                text = self.officer(event)
            case HandedOff() | Researched() | Balloted():
                text = "\n" + screen.wrap(remark(event), "> ", "  ")
            case Judged():
                found = f"for {one_line(event.winner)}, margin {event.margin} of 3"
                head = f"{event.seat}, reading {event.reading}: {found if event.winner else 'for no side'}"
                head += "" if event.informative else " (not counted: the model is too small to judge)"
                text = f"\n{screen.title(head, 3)}\n{screen.render(event.verdict, '  ')}"
            case Failed():
                line = screen.wrap(f"{event.seat} failed: {one_line(event.detail)}", "! ", "  ")
                text = "\n" + screen.paint(line, fg="red")
            case Paused() | Resumed() | Intervened():
                text = self.steered(event)
            case _:
                pass
        return text

    def steered(self, event: Paused | Resumed | Intervened) -> str:
        """What somebody did to the debate."""
        screen = self.screen
        if isinstance(event, Intervened) and event.action in ("inject", "challenge"):
            what = "Note" if event.action == "inject" else "Challenge"
            head = f"{what} to {one_line(event.to) or 'everybody'}"
            return f"\n{screen.paint(head, bold=True)}\n{screen.render(event.text, '  ')}"
        words = {"paused": "Paused", "resumed": "Resumed"}
        word = words.get(event.kind, "The talk is concluded")
        if isinstance(event, Intervened) and event.action != "conclude":
            word = f"{event.action} {one_line(event.to)} {one_line(changes(event))}"
        return "\n" + screen.wrap(": ".join(filter(None, (" ".join(word.split()), one_line(event.reason)))))

    def officer(self, event: RoundOpened | RoundClosed | Audited) -> str:
        """What the moderator or the referee says."""
        match event:
            case RoundOpened():
                block = opening_block(event)
            case RoundClosed():
                block = closing_block(event)
            case Audited():
                block = audit_block(event)
        return "\n" + self.screen.render(block.strip(), "  ")

    def opening(self, case: Case) -> str:
        setup = case.debate.setup
        lines = [self.screen.title(one_line(heading(setup.question)), 1)]
        for letter, debater in lettered(case.debate):
            stance = f"{letter}. {one_line(debater.name)}: {one_line(debater.stance)}"
            lines.append(self.screen.wrap(f"{stance} ({one_line(debater.model)})", "  ", "     "))
        line = f"{setup.format}, {counted(case.debate.max_rounds, 'round')}, debate {case.id}"
        lines.append(self.screen.wrap(", ".join([*officers(setup), line]), "  ", "     "))
        lines.append(self.screen.wrap(estimate_line(setup), "  ", "     "))
        families = len({family(debater.model) for debater in setup.debaters})
        lines += [self.screen.wrap(warning, "  ! ", "    ") for warning in warnings(setup, families)]
        return "\n".join(lines)

    def speaker(self, debate: Debate, turn: Spoke) -> str:
        letter, seat = letter_of(debate, turn.seat), turn.seat
        colour = COLOURS[(ord(letter) - ord("A")) % len(COLOURS)]
        name = f"{letter}. {one_line(seat)}"
        whom = "" if turn.act == "argument" else f", {turn.act} to {one_line(turn.to)}"
        line = f"{name} ({one_line(heading(debate.debater(seat).stance))}){whom}"
        line = self.screen.wrap(line, "", "   ")
        return line.replace(name, self.screen.paint(name, fg=colour, bold=True), 1)

    def bar_line(self, debate: Debate) -> str:
        """Answers so far, how long it takes, and the end of what is being written: one line exactly."""
        done, total = answered(debate), max(calls_expected(debate), 1)
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
        if seat not in debate.names or not shows(debate, "debaters"):
            return f"{one_line(seat)} writes"[:room]
        name = f"{one_line(seat)}: "
        return name[:room] + last_columns(one_line(text), max(room - columns(name), 0))


def remark(event: HandedOff | Researched | Balloted) -> str:
    """What happened, in a line."""
    seat = one_line(event.seat)
    match event:
        case HandedOff():
            how = "hands over to" if event.because == "chosen" else "is followed, by lot, by"
            return f"{seat} {how} {one_line(event.to)}."
        case Researched():
            tools = (
                f"{one_line(found.tool)}{' (failed)' if found.failed else ''}" for found in event.lookups
            )
            return f"{seat} looks it up: {', '.join(tools)}"
        case Balloted():
            return f"{seat} votes for {one_line(event.choice) or 'no side'}: {one_line(event.reasoning)}"


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


def officers(setup: Opened) -> list[str]:
    """The seats that are no debaters', with their models."""
    found = []
    if count := len(setup.judges.models):
        models = ", ".join(dict.fromkeys(setup.judges.models))
        found.append(f"{counted(count, 'judge')} ({one_line(models)})")
    seats = {"moderator": setup.moderator, "referee": setup.referee, "synthesizer": setup.synthesizer}
    return found + [f"{name} ({one_line(officer.model)})" for name, officer in seats.items() if officer]


def answered(debate: Debate) -> int:
    """How many answers there are."""
    talk = len(debate.talk) - len(debate.notes)
    return talk + len(debate.ballots) + len(debate.judged) + (debate.deliverable is not None)


async def watch(hall: Hall, case: Case, live: Live) -> Case:
    """Show a debate, wherever it stands, until it is over, paused, or waits for the caller's turn."""
    try:
        async with anyio.create_task_group() as drawing:
            drawing.start_soon(live.keep_drawing)
            while True:
                hall.driving.ensure(case, None)  # again, too, where another process stopped it meanwhile
                case = await hall.follow(case.id, wait=60)
                if case.status != "running":
                    break
            drawing.cancel_scope.cancel()
        live.committed(case)
        live.draw()
    finally:
        live.erase()
    return case
