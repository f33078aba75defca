"""The events of a debate as a terminal prints them: one below the other, each in whole."""

from typing import assert_never

from server.cli.terminal import Terminal, quote_words
from server.debate.analysis.mirrors import describe_escalation
from server.debate.ballots.report import describe_ballot, describe_ballot_event, describe_measured
from server.debate.commands.setup.effort import describe_effort
from server.debate.facts import interventions
from server.debate.facts.answers import (
    DefaultPlanUsed,
    Digested,
    Extracted,
    HandedOff,
    HandoffFailed,
    Measured,
    Observed,
    PassageRead,
    PredicateLost,
    PromptFunctionsLost,
    PromptsComputed,
    Researched,
)
from server.debate.facts.beliefs import Agreed, Alerted, Converged, TalkSkipped
from server.debate.facts.causes import PROVIDER_CAUSES
from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.escalation import EscalationFact
from server.debate.facts.events import (
    Audited,
    Balloted,
    BlockEnded,
    Concluded,
    Ended,
    Event,
    Failed,
    Judged,
    Paused,
    PhaseEntered,
    PositionsFramed,
    Resumed,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
)
from server.debate.facts.quoting import quote, unescape_markup
from server.debate.facts.setup.opened import Opened
from server.debate.facts.text import format_count, format_heading
from server.debate.interventions.registry import find_action
from server.debate.views import markdown
from server.debate.views.names import name_event, show_turn
from server.debate.views.progress import estimate_line
from server.debate.views.rounds import describe_reading
from server.debate.views.state import framing_line, is_reason_given, known_debaters
from server.debate.views.warnings import (
    CAUSE_TEXTS,
    describe_lost_functions,
    describe_lost_predicate,
    find_setup_warnings,
)
from server.debate.votes.teams import describe_team
from server.debate.votes.wording import describe_agreed
from server.engine.database.snapshots import DebateSnapshot
from server.models.registry import family

SPEAKER_COLOURS = ("cyan", "yellow", "green", "magenta", "blue")


def find_colour(debate_names: tuple[str, ...], seat: str) -> str:
    """The colour of a debater; "" for other seats."""
    return SPEAKER_COLOURS[debate_names.index(seat) % len(SPEAKER_COLOURS)] if seat in debate_names else ""


def print_turn(out: Terminal, snapshot: DebateSnapshot, event: Spoke) -> None:
    colour = find_colour(snapshot.debate.names, event.seat)
    stance = quote_words(snapshot.debate.debater(event.seat).stance)
    target = "" if event.act == "argument" else f", {event.act} to {event.to}"
    cut = " (cut at the length limit)" if event.cut else ""
    text = show_turn(snapshot.debate, event)
    print_section(out, f"{event.seat} ({stance}){target}{cut}", text, f"bold {colour}")


def print_event(out: Terminal, snapshot: DebateSnapshot, event: Event) -> None:  # noqa: C901, PLR0912  (a case for each kind)
    """Print what an event says; nothing for events whose content is in the verdict."""
    match event := name_event(snapshot.debate, event):
        case Opened():
            print_setup(out, snapshot, event)
        case PositionsFramed():
            print_positions(out, snapshot.debate.setup)
        case PhaseEntered():
            print_note(out, f"== Round {event.round}: {event.phase} ==", "", "bold")
        case Spoke():
            print_turn(out, snapshot, event)
        case Observed() | Extracted():
            print_section(out, *describe_reading(snapshot.debate, event))
        case RoundOpened() | DefaultPlanUsed() | RoundClosed() | Audited():
            out.print_markdown(markdown.officer_block(event), 2)
        case BlockEnded():
            print_note(out, markdown.describe_block_end(event))
        case PredicateLost():
            print_note(out, describe_lost_predicate(event))
        case PromptFunctionsLost():
            print_note(out, describe_lost_functions(event))
        case HandedOff():
            how = "hands over to" if event.because == "chosen" else "is followed, by lot, by"
            print_note(out, f"{event.seat} {how} {event.to}.")
        case Researched():
            tools = [f"{found.tool}{' (failed)' if found.failed else ''}" for found in event.lookups]
            print_note(out, f"{event.seat} looks it up: {', '.join(tools)}")
        case PromptsComputed() | Concluded() | Synthesized() | Ended():
            pass
        case Balloted() | Measured() | Digested() | PassageRead():
            print_aside(out, event)
        case Judged():
            print_judgment(out, event)
        case TalkSkipped() | Converged() | Alerted():
            print_note(out, unescape_markup(describe_ballot_event(snapshot.debate, event)))
        case Failed(cause=cause) if cause in PROVIDER_CAUSES:  # what to do is said once, where it matters
            print_note(out, f"{event.seat} failed: {event.model} {CAUSE_TEXTS[cause]}", "! ", "red")
        case Failed() | HandoffFailed():
            print_note(out, f"{event.seat} failed: {event.detail}", "! ", "red")
        case interventions.TextIntervention():
            print_section(out, f"{event.title} to {event.to or 'everybody'}", event.text)
        case Paused() | Resumed() | interventions.InterventionFact():
            print_note(out, ": ".join(filter(None, (describe_action(event), format_reason(event)))), "")
        case EarlierWithdrawn() | Agreed():
            print_note(out, describe_withdrawn(event) if event.kind != "agreed" else describe_agreed(event))
        case EscalationFact():
            print_note(out, describe_escalation(event))
        case _:
            assert_never(event)


def print_aside(out: Terminal, event: Balloted | Measured | Digested | PassageRead) -> None:
    """What is no part of the talk, in a line. Samples of the baseline are too many: they stand in the verdict."""
    if isinstance(event, Digested):
        print_note(out, f"The reader, section {event.slot_index + 1}: {quote_words(event.summary)}")
    elif isinstance(event, PassageRead):
        print_note(out, f"{event.seat} asked for {quote_words(event.query)}: {event.found}")
    elif isinstance(event, Measured):
        print_note(out, describe_measured(event))
    elif event.wave != "sample":
        print_note(out, unescape_markup(describe_ballot(event)))


def describe_withdrawn(event: EarlierWithdrawn) -> str:
    return f"{event.debate_id}, which was recalled, was {event.cause}."


def print_judgment(out: Terminal, event: Judged) -> None:
    finding = f"for {event.winner}, margin {event.margin} of 3" if event.winner else "for no side"
    note = "" if event.informative else " (not counted: the model is too small to judge)"
    print_section(out, f"{event.seat}, reading {event.slot_index}: {finding}{note}", event.verdict)


def print_note(out: Terminal, text: str, lead: str = "> ", style: str = "") -> None:
    out.print_line()
    out.print_wrapped(text, lead, style)


def print_section(out: Terminal, title: str, text: str, style: str = "bold") -> None:
    print_note(out, title, "", style)
    out.print_markdown(quote(text), 2)


def describe_action(event: Paused | Resumed | interventions.InterventionFact) -> str:
    if isinstance(event, interventions.TalkConcluded):
        return "The talk is concluded"
    if isinstance(event, interventions.InterventionFact):
        action = find_action(event)
        return " ".join((action.name, *action.describe(event)))
    return event.kind.capitalize()


def format_reason(event: Paused | Resumed | interventions.InterventionFact) -> str:
    """The reason that somebody gave, quoted, or ours as it is."""
    is_given = not isinstance(event, Paused) or is_reason_given(event)
    return quote_words(event.reason) if event.reason and is_given else event.reason


def print_positions(out: Terminal, setup: Opened) -> None:
    """Who stands for what, and how that came about."""
    if (line := framing_line(setup)) and line not in find_setup_warnings(setup, 0):
        out.print_wrapped(line, "  ")
    for debater in known_debaters(setup):
        out.print_wrapped(f"{debater.name}: {quote_words(debater.stance)} ({debater.model})", "  ")


def print_setup(out: Terminal, snapshot: DebateSnapshot, setup: Opened) -> None:
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
    out.print_wrapped(f"{describe_team(setup)} {describe_effort(setup)}".strip(), "  ")
    out.print_wrapped(estimate_line(snapshot.debate), "  ")
    families = len({family(debater.model) for debater in setup.debaters})
    for warning in find_setup_warnings(setup, families):
        out.print_wrapped(warning, "  ! ", "yellow")
