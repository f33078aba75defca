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

from server.cli.rendering import Screen, count_columns, last_columns, sanitize_line, sanitize_text
from server.debate.commands.open import find_setup_warnings
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
from server.debate.facts.text import format_count
from server.debate.prompts.transcript import debater_letter, lettered_debaters
from server.debate.rules.budget import count_expected_calls
from server.debate.views.audit import describe_intervention, find_seat_kind
from server.debate.views.markdown import (
    audit_block,
    estimate_line,
    format_heading,
    round_plan_block,
    round_summary_block,
)
from server.debate.views.state import awaited_seats, is_visible
from server.engine.debates import DebateManager
from server.engine.store import DebateSnapshot
from server.models.registry import family

REDRAW_INTERVAL = 0.1
"""Seconds between looks at what there is to show."""

MAX_PARTIAL_LENGTH = 400
"""Characters kept of what is being written: more than the bar has room for."""

COLOURS = ("cyan", "yellow", "green", "magenta", "blue")


class LiveDisplay:
    """A debate as it comes in: what is recorded is printed, what is being written runs along the bar.

    The hall only tells it things; it looks at them in its own time, so that nothing it does can fail
    or hold up a debate.
    """

    def __init__(self, screen: Screen, *, show_turns: bool, show_bar: bool) -> None:
        self.screen = screen
        self.show_turns = show_turns
        self.show_bar = show_bar and screen.supports_bar
        self.snapshot: DebateSnapshot | None = None
        self.shown_count = 0  # entries shown
        self.partial_texts: dict[str, str] = {}  # the seat that wrote last stands last
        self.current_bar = ""  # what the bar shows
        self.start_time = monotonic()

    # Told by the hall

    def on_commit(self, snapshot: DebateSnapshot) -> None:
        known = self.snapshot.debate.version if self.snapshot else 0
        for entry in snapshot.entries[known:]:
            self.partial_texts.pop(getattr(entry.event, "seat", ""), None)
        self.snapshot = snapshot

    def on_text(self, _debate_id: str, seat: str, piece: str) -> None:
        self.partial_texts[seat] = (self.partial_texts.pop(seat, "") + piece)[-MAX_PARTIAL_LENGTH:]

    # Shown to the person

    def continue_from(self, snapshot: DebateSnapshot) -> None:
        """Begin with a debate that has a past, which is not printed again."""
        self.snapshot, self.shown_count = snapshot, snapshot.debate.version
        if self.show_turns:
            said = len(snapshot.debate.turns)
            click.echo(self.render_header(snapshot))
            click.echo(f"{said} {'turn' if said == 1 else 'turns'} so far: counterpoint show {snapshot.id}")

    async def redraw_periodically(self) -> None:
        while True:
            self.draw()
            await anyio.sleep(REDRAW_INTERVAL)

    def draw(self) -> None:
        if self.snapshot is None:
            return
        case, seen = self.snapshot, self.shown_count
        self.shown_count = case.debate.version
        if self.show_turns and self.shown_count > seen:
            self.erase_bar()
            hidden = case.debate.setup.hidden_from_client
            for entry in case.entries[seen:]:
                if find_seat_kind(entry.event) not in hidden and (
                    block := self.render_event(case, entry.event)
                ):
                    click.echo(block)
        if self.show_bar and case.status == "running":
            line = self.render_bar(case.debate)
            if line != self.current_bar:
                click.echo("\r\x1b[2K" + line, err=True, nl=False)
            self.current_bar = line

    def erase_bar(self) -> None:
        if self.current_bar:
            self.current_bar = ""
            click.echo("\r\x1b[2K", err=True, nl=False)

    def render_event(self, snapshot: DebateSnapshot, event: Event) -> str:
        """What is printed when this is recorded; "" for what shows in the verdict."""
        screen, text = self.screen, ""
        match event:
            case Opened():
                text = self.render_header(snapshot)
            case PhaseEntered():
                text = "\n" + screen.paint(
                    f"== Round {event.round}: {sanitize_text(event.phase)} ==", bold=True
                )
            case Spoke():
                cut = "\n(cut at the length limit)" if event.cut else ""
                text = f"\n{self.render_speaker(snapshot.debate, event)}\n{screen.render(event.text + cut, '  ')}"
            case RoundOpened() | RoundClosed() | Audited():
                text = self.render_moderation(event)
            case HandedOff() | Researched() | Balloted():
                text = "\n" + screen.wrap(describe_event(event), "> ", "  ")
            case Judged():
                found = f"for {sanitize_line(event.winner)}, margin {event.margin} of 3"
                head = f"{event.seat}, reading {event.slot_index}: {found if event.winner else 'for no side'}"
                head += "" if event.informative else " (not counted: the model is too small to judge)"
                text = f"\n{screen.render_title(head, 3)}\n{screen.render(event.verdict, '  ')}"
            case Failed():
                line = screen.wrap(f"{event.seat} failed: {sanitize_line(event.detail)}", "! ", "  ")
                text = "\n" + screen.paint(line, fg="red")
            case Paused() | Resumed() | Intervened():
                text = self.render_intervention(event)
            case _:
                pass
        return text

    def render_intervention(self, event: Paused | Resumed | Intervened) -> str:
        """What somebody did to the debate."""
        screen = self.screen
        if isinstance(event, Intervened) and event.action in ("inject", "challenge"):
            what = "Note" if event.action == "inject" else "Challenge"
            head = f"{what} to {sanitize_line(event.to) or 'everybody'}"
            return f"\n{screen.paint(head, bold=True)}\n{screen.render(event.text, '  ')}"
        words = {"paused": "Paused", "resumed": "Resumed"}
        word = words.get(event.kind, "The talk is concluded")
        if isinstance(event, Intervened) and event.action != "conclude":
            word = f"{event.action} {sanitize_line(event.to)} {sanitize_line(describe_intervention(event))}"
        return "\n" + screen.wrap(
            ": ".join(filter(None, (" ".join(word.split()), sanitize_line(event.reason))))
        )

    def render_moderation(self, event: RoundOpened | RoundClosed | Audited) -> str:
        """What the moderator or the referee says."""
        match event:
            case RoundOpened():
                block = round_plan_block(event)
            case RoundClosed():
                block = round_summary_block(event)
            case Audited():
                block = audit_block(event)
        return "\n" + self.screen.render(block.strip(), "  ")

    def render_header(self, snapshot: DebateSnapshot) -> str:
        setup = snapshot.debate.setup
        lines = [self.screen.render_title(sanitize_line(format_heading(setup.question)), 1)]
        for letter, debater in lettered_debaters(snapshot.debate):
            stance = f"{letter}. {sanitize_line(debater.name)}: {sanitize_line(debater.stance)}"
            lines.append(self.screen.wrap(f"{stance} ({sanitize_line(debater.model)})", "  ", "     "))
        line = f"{setup.format}, {format_count(snapshot.debate.max_rounds, 'round')}, debate {snapshot.id}"
        lines.append(self.screen.wrap(", ".join([*describe_other_seats(setup), line]), "  ", "     "))
        lines.append(self.screen.wrap(estimate_line(setup), "  ", "     "))
        families = len({family(debater.model) for debater in setup.debaters})
        lines += [
            self.screen.wrap(warning, "  ! ", "    ") for warning in find_setup_warnings(setup, families)
        ]
        return "\n".join(lines)

    def render_speaker(self, debate: Debate, turn: Spoke) -> str:
        letter, seat = debater_letter(debate, turn.seat), turn.seat
        colour = COLOURS[(ord(letter) - ord("A")) % len(COLOURS)]
        name = f"{letter}. {sanitize_line(seat)}"
        whom = "" if turn.act == "argument" else f", {turn.act} to {sanitize_line(turn.to)}"
        line = f"{name} ({sanitize_line(format_heading(debate.debater(seat).stance))}){whom}"
        line = self.screen.wrap(line, "", "   ")
        return line.replace(name, self.screen.paint(name, fg=colour, bold=True), 1)

    def render_bar(self, debate: Debate) -> str:
        """Answers so far, how long it takes, and the end of what is being written: one line exactly."""
        done, total = count_answers(debate), max(count_expected_calls(debate), 1)
        full, empty = "█░" if "utf" in (sys.stderr.encoding or "").lower() else "#."
        filled = round(10 * min(done / total, 1))
        phase = f"{debate.phase.name}: " if debate.phase else ""
        head = f"{full * filled}{empty * (10 - filled)} {done}/{total} {int(monotonic() - self.start_time)}s {phase}"
        room = max(stderr_width() - count_columns(head) - 1, 0)
        return head + self.render_activity(debate, room)

    def render_activity(self, debate: Debate, max_columns: int) -> str:
        if not self.partial_texts:
            asked = ", ".join(map(sanitize_line, awaited_seats(debate)))
            return f"asking {asked}"[:max_columns] if asked else ""
        seat, text = next(reversed(self.partial_texts.items()))
        if seat not in debate.names or not is_visible(debate, "debaters"):
            return f"{sanitize_line(seat)} writes"[:max_columns]
        name = f"{sanitize_line(seat)}: "
        return name[:max_columns] + last_columns(
            sanitize_line(text), max(max_columns - count_columns(name), 0)
        )


def describe_event(event: HandedOff | Researched | Balloted) -> str:
    """What happened, in a line."""
    seat = sanitize_line(event.seat)
    match event:
        case HandedOff():
            how = "hands over to" if event.because == "chosen" else "is followed, by lot, by"
            return f"{seat} {how} {sanitize_line(event.to)}."
        case Researched():
            tools = (
                f"{sanitize_line(found.tool)}{' (failed)' if found.failed else ''}" for found in event.lookups
            )
            return f"{seat} looks it up: {', '.join(tools)}"
        case Balloted():
            return f"{seat} votes for {sanitize_line(event.choice) or 'no side'}: {sanitize_line(event.reasoning)}"


class SigtermAsInterrupt:
    """Within it SIGTERM does what Ctrl-C does. `code` is what the process then exits with."""

    def __init__(self) -> None:
        self.exit_code = 128 + signal.SIGINT

    def __enter__(self) -> Self:
        self.previous_handler = signal.signal(signal.SIGTERM, self.handle_sigterm)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, self.previous_handler or signal.SIG_DFL)

    def handle_sigterm(self, signal_number: int, frame: FrameType | None) -> None:
        self.exit_code = 128 + signal_number
        interrupted = signal.getsignal(signal.SIGINT)
        if not callable(interrupted):  # ignored, as it is for what a script runs in the background
            raise KeyboardInterrupt
        interrupted(signal.SIGINT, frame)


def stderr_width() -> int:
    """Stdout may be a file while the bar runs."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or shutil.get_terminal_size().columns
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


def describe_other_seats(setup: Opened) -> list[str]:
    """The seats that are no debaters', with their models."""
    found = []
    if count := len(setup.judges.models):
        models = ", ".join(dict.fromkeys(setup.judges.models))
        found.append(f"{format_count(count, 'judge')} ({sanitize_line(models)})")
    seats = {"moderator": setup.moderator, "referee": setup.referee, "synthesizer": setup.synthesizer}
    return found + [f"{name} ({sanitize_line(officer.model)})" for name, officer in seats.items() if officer]


def count_answers(debate: Debate) -> int:
    """How many answers there are."""
    talk = len(debate.transcript_events) - len(debate.notes)
    return talk + len(debate.ballots) + len(debate.judgments) + (debate.deliverable is not None)


async def watch(manager: DebateManager, snapshot: DebateSnapshot, display: LiveDisplay) -> DebateSnapshot:
    """Show a debate, wherever it stands, until it is over, paused, or waits for the caller's turn."""
    try:
        async with anyio.create_task_group() as drawing:
            drawing.start_soon(display.redraw_periodically)
            while True:
                manager.run_to_end(snapshot)  # again, where another process stopped it meanwhile
                snapshot = await manager.follow(snapshot.id, wait=60)
                if snapshot.status != "running":
                    break
            drawing.cancel_scope.cancel()
        display.on_commit(snapshot)
        display.draw()
    finally:
        display.erase_bar()
    return snapshot
