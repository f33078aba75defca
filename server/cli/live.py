"""The live view of a running debate: recorded events, a progress bar below them, and turns read from stdin."""

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext, suppress
from time import monotonic
from typing import Self, assert_never

import anyio
from rich.cells import cell_len
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from server.cli.session import ACTOR, DebateStarter
from server.cli.terminal import Terminal, crop_start
from server.debate.analysis.mirrors import describe_escalation
from server.debate.ballots.report import describe_ballot, describe_ballot_event
from server.debate.commands.effort import describe_effort
from server.debate.documents.marks import disarm_marks
from server.debate.facts import events, interventions
from server.debate.facts.answers import DefaultPositionsUsed, PredicateLost, PromptFunctionsLost
from server.debate.facts.beliefs import Agreed, Alerted, Converged, TalkSkipped
from server.debate.facts.errors import DebateError
from server.debate.facts.escalation import EscalationFact
from server.debate.facts.labels import name_sides
from server.debate.facts.quoting import quote, quote_heading
from server.debate.facts.state import Debate
from server.debate.facts.text import clean_line, format_count, format_heading
from server.debate.rules.budget import count_expected_answers
from server.debate.views import markdown
from server.debate.views.blind import find_blind_answers, is_blind
from server.debate.views.events import is_hidden
from server.debate.views.names import name_event, show_turn
from server.debate.views.progress import estimate_line
from server.debate.views.rounds import describe_reading
from server.debate.views.state import (
    TURN_HEADING,
    awaited_seats,
    awaited_turns,
    describe_task,
    framing_line,
    is_reason_given,
    is_visible,
    known_debaters,
)
from server.debate.views.warnings import (
    describe_lost_functions,
    describe_lost_predicate,
    find_setup_warnings,
    has_uninformative_decision,
)
from server.debate.votes.wording import describe_agreed
from server.engine.database.store import DebateSnapshot
from server.engine.debates import DebateManager
from server.models.registry import family

REDRAW_INTERVAL = 0.1  # seconds between two redraws
MAX_PARTIAL_LENGTH = 400  # characters kept of a reply that is being written: more than the bar can show
BAR_WIDTH = 10
SPEAKER_COLOURS = ("cyan", "yellow", "green", "magenta", "blue")
TOO_SMALL_TO_JUDGE = (
    "The embedded model is far too small to judge: what follows shows what a verdict looks like, "
    "and says nothing about the question."
)


class LiveDisplay:
    """Prints recorded events; the bar shows progress and the end of the reply that is being written.

    The manager only calls `on_commit` and `on_text`; drawing happens in its own task, so that a slow or
    broken terminal cannot delay a debate.
    """

    def __init__(self, out: Terminal, *, bar: Terminal | None = None, show_turns: bool = True) -> None:
        """bar: the terminal for the progress bar; none without one, or where it cannot redraw lines."""
        self.out = out
        self.show_turns = show_turns
        self.bar = bar if bar and bar.is_terminal else None
        self.live = Live(
            console=bar, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self.snapshot: DebateSnapshot | None = None
        self.shown_count = 0  # entries
        self.blind_entries: list[events.Recorded] = []  # of those shown, what waits for the caller's own turn
        self.partial_texts: dict[str, str] = {}  # by seat; the seat that wrote last is last
        self.start_time = monotonic()
        self.find_loading: Callable[[Debate], str] = lambda _debate: ""

    @classmethod
    def for_streams(cls, *, show_turns: bool, show_bar: bool) -> Self:
        """The display of a command. The bar is below the turns, or on stderr if stdout has none of them."""
        out, errors = Terminal(sys.stdout), Terminal(sys.stderr)
        bar = out if show_turns and out.is_terminal else errors
        return cls(out, bar=bar if show_bar else None, show_turns=show_turns)

    def on_commit(self, snapshot: DebateSnapshot) -> None:
        known = self.snapshot.debate.version if self.snapshot else 0
        for entry in snapshot.entries[known:]:
            self.partial_texts.pop(getattr(entry.event, "seat", ""), None)
        self.snapshot = snapshot

    def on_text(self, _debate_id: str, seat: str, piece: str) -> None:
        self.partial_texts[seat] = (self.partial_texts.pop(seat, "") + piece)[-MAX_PARTIAL_LENGTH:]

    def continue_from(self, snapshot: DebateSnapshot) -> None:
        """Start with a debate whose earlier events are not printed again."""
        self.snapshot, self.shown_count = snapshot, snapshot.debate.version
        blind = find_blind_answers(snapshot.debate)
        self.blind_entries = [entry for entry in snapshot.entries if is_blind(entry.event, blind)]
        if self.show_turns:
            print_setup(self.out, snapshot, snapshot.debate.setup)
            turns = format_count(len(snapshot.debate.turns), "turn")
            self.out.print_line(f"{turns} so far: counterpoint show {snapshot.id}")

    def draw(self) -> None:
        """Print the events recorded since the last call, and update the bar."""
        if self.snapshot is None:
            return
        snapshot, start = self.snapshot, self.shown_count
        self.shown_count = snapshot.debate.version
        blind = find_blind_answers(snapshot.debate)
        entries = [*self.blind_entries, *snapshot.entries[start:]]
        self.blind_entries = [entry for entry in entries if is_blind(entry.event, blind)]
        for entry in entries if self.show_turns else ():
            if not is_blind(entry.event, blind) and not is_hidden(snapshot.debate, entry.event):
                print_event(self.out, snapshot, entry.event)
        if self.bar:
            self.bar.fit_width()
            is_running = snapshot.status == "running"
            self.live.update(self.build_bar(self.bar, snapshot.debate) if is_running else "", refresh=True)

    def build_bar(self, bar: Terminal, debate: Debate) -> Table:
        """One line: replies received and expected, seconds, phase, and who is asked or what is being written."""
        done = len(debate.transcript_events) - len(debate.notes) + len(debate.ballots) + len(debate.samples)
        done += len(debate.judgments) + (debate.deliverable is not None) + (debate.framed is not None)
        total = max(count_expected_answers(debate), 1)
        phase = f" {debate.phase.name}:" if debate.phase else ""
        head = f"{done}/{total} {int(monotonic() - self.start_time)}s{phase}"
        columns = max(bar.width - BAR_WIDTH - cell_len(head) - 3, 0)
        seat, text = next(reversed(self.partial_texts.items()), ("", ""))
        if not seat:
            awaited = ", ".join(map(clean_line, awaited_seats(debate)))
            loading = self.find_loading(debate)
            activity = f"loading {loading}" if loading else f"asking {awaited}" if awaited else ""
        elif seat in debate.names and is_visible(debate, "debaters") and not find_blind_answers(debate):
            name = f"{clean_line(seat)}: "
            named = disarm_marks(name_sides(debate, text))
            activity = name + crop_start(clean_line(named), max(columns - cell_len(name), 0))
        else:
            activity = f"{clean_line(seat)} writes"
        line = Table.grid(padding=(0, 1, 0, 0))
        line.add_row(ProgressBar(total, min(done, total), BAR_WIDTH), head, activity[:columns])
        return line


async def read_stdin() -> AsyncIterator[str]:
    """The lines of stdin. Without a thread: one that waits for a key would delay the exit."""
    try:
        stdin = sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):  # replaced by a program that runs commands in process
        for line in sys.stdin or ():
            yield line
        return
    piece, rest = b"x", b""
    while piece:
        with suppress(OSError, NotImplementedError):  # raised for a file, which is always readable
            await anyio.wait_readable(stdin)
        piece = os.read(stdin, 4096)
        *lines, rest = (rest + piece).split(b"\n")
        for whole in lines if piece else [rest]:
            yield whole.decode("utf-8", "replace")


async def read_paragraph(lines: AsyncIterator[str]) -> str:
    """The lines up to an empty one or the last; "" if there are none."""
    paragraph: list[str] = []
    async for line in lines:
        if line.strip():
            paragraph.append(line.rstrip("\r\n"))
        elif paragraph:
            break
    return "\n".join(paragraph)


async def watch(manager: DebateManager, snapshot: DebateSnapshot, display: LiveDisplay) -> DebateSnapshot:
    """Show a debate until it ends, is paused, or waits for the caller's turn."""

    async def redraw() -> None:
        while True:
            display.draw()
            await anyio.sleep(REDRAW_INTERVAL)

    with display.live if display.bar else nullcontext():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(redraw)
            while True:
                # Again after each wait: another process may have stopped it meanwhile.
                manager.run_to_end(snapshot)
                snapshot = await manager.follow(snapshot.id, wait=60)
                if snapshot.status != "running":
                    break
            tasks.cancel_scope.cancel()
        display.on_commit(snapshot)
        display.draw()
    return snapshot


async def submit_caller_turn(
    manager: DebateManager, snapshot: DebateSnapshot, out: Terminal, stdin: AsyncIterator[str]
) -> DebateSnapshot | None:
    """The debate with the awaited turn in it, as the person writes it; None if stdin ends before."""
    turn = awaited_turns(snapshot.debate)[0]
    out.print_line()
    task = describe_task(turn)
    out.print_wrapped(f"Your turn: {turn.speaker}, round {snapshot.debate.round} ({task})", style="bold")
    for line in turn.prompt.rpartition(f"{TURN_HEADING}\n")[2].splitlines():
        if line:
            out.print_wrapped(line, "  ")
    out.print_line("End it with an empty line.")
    while text := await read_paragraph(stdin):
        try:
            snapshot, told = await manager.submit(snapshot.id, turn.speaker, text, actor=ACTOR)
        except DebateError as error:
            told = str(error)
        if not told:
            return snapshot
        out.print_wrapped(told, "! ")
    return None


async def run_and_display(
    starter: DebateStarter, display: LiveDisplay, manager: DebateManager
) -> DebateSnapshot:
    """Start a debate and show it until it ends, is paused, or waits for a turn and stdin has ended."""
    manager.subscribe(display.on_commit)
    display.find_loading = manager.find_loading
    if display.bar and display.show_turns:  # streaming takes time for every piece
        manager.subscribe_to_text(display.on_text)
    snapshot = await starter(manager)
    if snapshot.debate.version > 1:
        display.continue_from(snapshot)
    stdin = read_stdin()
    while not snapshot.debate.ended:
        snapshot = await watch(manager, snapshot, display)
        if snapshot.status != "waiting":
            break
        submitted = await submit_caller_turn(manager, snapshot, display.out, stdin)
        if submitted is None:
            break
        snapshot = submitted
    return snapshot


def print_turn(out: Terminal, snapshot: DebateSnapshot, event: events.Spoke) -> None:
    colour = SPEAKER_COLOURS[snapshot.debate.names.index(event.seat) % len(SPEAKER_COLOURS)]
    stance = quote_heading(snapshot.debate.debater(event.seat).stance)
    target = "" if event.act == "argument" else f", {event.act} to {event.to}"
    cut = " (cut at the length limit)" if event.cut else ""
    text = show_turn(snapshot.debate, event)
    print_section(out, f"{event.seat} ({stance}){target}{cut}", text, f"bold {colour}")


def print_event(out: Terminal, snapshot: DebateSnapshot, event: events.Event) -> None:  # noqa: C901, PLR0912  (a case for each kind)
    """Print what an event says; nothing for events whose content is in the verdict."""
    match event := name_event(snapshot.debate, event):
        case events.Opened():
            print_setup(out, snapshot, event)
        case events.PositionsFramed():
            print_positions(out, snapshot.debate.setup)
        case DefaultPositionsUsed():
            print_note(out, f"The positions are those of the format: {event.reason}.", "! ", "yellow")
        case events.PhaseEntered():
            print_note(out, f"== Round {event.round}: {event.phase} ==", "", "bold")
        case events.Spoke():
            print_turn(out, snapshot, event)
        case events.Observed() | events.Extracted():
            print_section(out, *describe_reading(snapshot.debate, event))
        case events.RoundOpened() | events.DefaultPlanUsed() | events.RoundClosed() | events.Audited():
            out.print_markdown(markdown.officer_block(event), 2)
        case events.BlockEnded():
            print_note(out, markdown.describe_block_end(event))
        case PredicateLost():
            print_note(out, describe_lost_predicate(event))
        case PromptFunctionsLost():
            print_note(out, describe_lost_functions(event))
        case events.HandedOff():
            how = "hands over to" if event.because == "chosen" else "is followed, by lot, by"
            print_note(out, f"{event.seat} {how} {event.to}.")
        case events.Researched():
            tools = [f"{found.tool}{' (failed)' if found.failed else ''}" for found in event.lookups]
            print_note(out, f"{event.seat} looks it up: {', '.join(tools)}")
        case events.PromptsComputed() | events.Concluded() | events.Synthesized() | events.Ended():
            pass
        case events.Balloted() | events.Digested() | events.PassageRead():
            print_aside(out, event)
        case events.Judged():
            print_judgment(out, event)
        case TalkSkipped() | Converged() | Alerted():
            print_note(out, describe_ballot_event(snapshot.debate, event))
        case events.Failed() | events.HandoffFailed():
            print_note(out, f"{event.seat} failed: {event.detail}", "! ", "red")
        case interventions.TextIntervention():
            print_section(out, f"{event.title} to {event.to or 'everybody'}", event.text)
        case events.Paused() | events.Resumed() | interventions.InterventionFact():
            print_note(out, ": ".join(filter(None, (describe_action(event), format_reason(event)))), "")
        case Agreed():
            print_note(out, describe_agreed(event))
        case EscalationFact():
            print_note(out, describe_escalation(event))
        case _:
            assert_never(event)


def print_aside(out: Terminal, event: events.Balloted | events.Digested | events.PassageRead) -> None:
    """What is no part of the talk, in a line. Samples of the baseline are too many: they stand in the verdict."""
    if isinstance(event, events.Digested):
        print_note(out, f"The reader, section {event.slot_index + 1}: {quote_heading(event.summary)}")
    elif isinstance(event, events.PassageRead):
        print_note(out, f"{event.seat} asked for {quote_heading(event.query)}: {event.found}")
    elif event.wave != "sample":
        print_note(out, describe_ballot(event))


def print_judgment(out: Terminal, event: events.Judged) -> None:
    finding = f"for {event.winner}, margin {event.margin} of 3" if event.winner else "for no side"
    note = "" if event.informative else " (not counted: the model is too small to judge)"
    print_section(out, f"{event.seat}, reading {event.slot_index}: {finding}{note}", event.verdict)


def print_note(out: Terminal, text: str, lead: str = "> ", style: str = "") -> None:
    out.print_line()
    out.print_wrapped(text, lead, style)


def print_section(out: Terminal, title: str, text: str, style: str = "bold") -> None:
    print_note(out, title, "", style)
    out.print_markdown(quote(text), 2)


def describe_action(event: events.Paused | events.Resumed | interventions.InterventionFact) -> str:
    if isinstance(event, interventions.TalkConcluded):
        return "The talk is concluded"
    if isinstance(event, interventions.InterventionFact):
        return " ".join((event.action, *interventions.describe_change(event)))
    return event.kind.capitalize()


def format_reason(event: events.Paused | events.Resumed | interventions.InterventionFact) -> str:
    """The reason that somebody gave, quoted, or ours as it is."""
    is_given = not isinstance(event, events.Paused) or is_reason_given(event)
    return quote_heading(event.reason) if event.reason and is_given else event.reason


def print_positions(out: Terminal, setup: events.Opened) -> None:
    """Who stands for what, and how that came about."""
    if (line := framing_line(setup)) and line not in find_setup_warnings(setup, 0):
        out.print_wrapped(line, "  ")
    for debater in known_debaters(setup):
        out.print_wrapped(f"{debater.name}: {quote_heading(debater.stance)} ({debater.model})", "  ")


def print_setup(out: Terminal, snapshot: DebateSnapshot, setup: events.Opened) -> None:
    """The question, the debaters, the other seats with their models, the estimate and its warnings."""
    out.print_heading(format_heading(setup.question), 1)
    print_positions(out, setup)
    parts = []
    if count := len(setup.judges.models):
        models = ", ".join(dict.fromkeys(setup.judges.models))
        parts.append(f"{format_count(count, 'judge')} ({models})")
    names = ("moderator", "referee", "observer", "analyst", "synthesizer")
    officers = {name: getattr(setup, name) for name in names}
    parts += [f"{name} ({officer.model})" for name, officer in officers.items() if officer]
    parts += [setup.format, format_count(snapshot.debate.max_rounds, "round"), f"debate {snapshot.id}"]
    out.print_wrapped(", ".join(parts), "  ")
    out.print_wrapped(describe_effort(setup), "  ")
    out.print_wrapped(estimate_line(snapshot.debate), "  ")
    families = len({family(debater.model) for debater in setup.debaters})
    for warning in find_setup_warnings(setup, families):
        out.print_wrapped(warning, "  ! ", "yellow")


def print_summary(snapshot: DebateSnapshot, out: Terminal) -> None:
    """The verdict, if there is one, and how to read the debate again."""
    if markdown.has_result(snapshot.debate):
        out.print_line()
        if has_uninformative_decision(snapshot.debate):
            out.print_wrapped(TOO_SMALL_TO_JUDGE, "! ", "yellow")
            out.print_line()
        out.print_markdown(markdown.render_verdict(snapshot.debate))
    out.print_line(f"\ndebate {snapshot.id}\nRead it again: counterpoint show {snapshot.id}")
