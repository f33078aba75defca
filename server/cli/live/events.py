"""The events of a debate as a terminal prints them: in full, one below the other."""

from typing import assert_never

from server.cli.terminal import Terminal, quote_words
from server.debate.analysis.mirrors import describe_escalation
from server.debate.ballots.report import describe_ballot, describe_ballot_event, describe_measurement
from server.debate.commands.setup.effort import describe_effort
from server.debate.facts import interventions
from server.debate.facts.advice import Advised, Checked, Exchanged, Reported, Reviewed
from server.debate.facts.answers import (
    DefaultPlanUsed,
    Digested,
    HandedOff,
    HandoffFailed,
    Measured,
    PassageRead,
    PredicateLost,
    PromptFunctionsLost,
    PromptsComputed,
    Reading,
    Remark,
    Researched,
)
from server.debate.facts.beliefs import Agreed, Alerted, Converged
from server.debate.facts.causes import PROVIDER_CAUSES
from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.escalation import EscalationFact
from server.debate.facts.events import (
    AnsweredBlind,
    Balloted,
    BlockEnded,
    Compared,
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
from server.debate.state.debate import name_judge
from server.debate.state.seats import find_officers
from server.debate.views import markdown
from server.debate.views.advice import describe_advice, is_answer_of
from server.debate.views.findings import describe_comparison
from server.debate.views.names import name_event, show_turn_with_ids
from server.debate.views.progress import estimate_line
from server.debate.views.provenance import describe_provenance
from server.debate.views.rounds import describe_reading
from server.debate.views.state import framing_line, is_reason_given, known_debaters
from server.debate.views.warnings import (
    CAUSE_TEXTS,
    describe_lost_functions,
    describe_lost_predicate,
    list_setup_warnings,
)
from server.debate.votes.consensus import describe_agreed
from server.debate.votes.teams import describe_team
from server.engine.database.snapshots import DebateSnapshot
from server.models.registry import family

SPEAKER_COLOURS = ("cyan", "yellow", "green", "magenta", "blue")


def choose_colour(debate_names: tuple[str, ...], seat: str) -> str:
    """The colour of a debater; "" for other seats."""
    return SPEAKER_COLOURS[debate_names.index(seat) % len(SPEAKER_COLOURS)] if seat in debate_names else ""


def print_turn(out: Terminal, snapshot: DebateSnapshot, event: Spoke) -> None:
    colour = choose_colour(snapshot.debate.names, event.seat)
    stance = quote_words(snapshot.debate.debater(event.seat).stance)
    target = "" if event.act == "argument" else f", {event.act} to {event.to}"
    cut_note = " (cut at the length limit)" if event.cut else ""
    text = show_turn_with_ids(snapshot.debate, event)
    print_section(out, f"{event.seat} ({stance}){target}{cut_note}", text, f"bold {colour}")


def print_event(out: Terminal, snapshot: DebateSnapshot, event: Event) -> None:  # noqa: C901, PLR0912, PLR0915  (a case for each kind)
    """Print what an event says; nothing for events whose content is in the verdict."""
    match event := name_event(snapshot.debate, event):
        case Opened():
            print_setup(out, snapshot, event)
        case AnsweredBlind():
            print_section(out, f"Answer of {event.usage.model}, before positions are named", event.text)
        case PositionsFramed():
            print_positions(out, snapshot.debate.setup)
        case PhaseEntered():
            print_note(out, f"== Round {event.round}: {event.phase} ==", "", "bold")
        case Spoke():
            print_turn(out, snapshot, event)
        case RoundOpened() | DefaultPlanUsed() | RoundClosed() | Remark():
            out.print_markdown(markdown.officer_block(event), 2)
        case Reading():
            print_section(out, *describe_reading(snapshot.debate, event))
        case BlockEnded():
            print_note(out, markdown.describe_block_end(event))
        case PredicateLost():
            print_note(out, describe_lost_predicate(event))
        case PromptFunctionsLost():
            print_note(out, describe_lost_functions(event))
        case HandedOff():
            verb = "hands over to" if event.because == "chosen" else "is followed, by lot, by"
            print_note(out, f"{event.seat} {verb} {event.to}.")
        case Researched():
            tools = [f"{lookup.tool}{' (failed)' if lookup.failed else ''}" for lookup in event.lookups]
            print_note(out, f"{event.seat} looks it up: {', '.join(tools)}")
        case Advised() | Reviewed() | Exchanged() | Reported() | Checked():
            if not is_answer_of(snapshot.debate, event):  # which is printed at the end
                print_section(out, *describe_advice(snapshot.debate, event, is_short=True))
        case PromptsComputed() | Concluded() | Synthesized() | Ended():
            pass
        case Balloted() | Measured() | Digested() | PassageRead():
            print_aside(out, event)
        case Judged():
            print_judgment(out, event)
        case Compared():
            print_note(out, describe_comparison(event))
        case Converged() | Alerted():
            print_note(out, unescape_markup(describe_ballot_event(snapshot.debate, event)))
        case Failed(cause=cause) if cause in PROVIDER_CAUSES:  # without the advice, which would repeat
            print_note(out, f"{event.seat} failed: {event.model} {CAUSE_TEXTS[cause]}", "! ", "red")
        case Failed() | HandoffFailed():
            print_note(out, f"{event.seat} failed: {event.detail}", "! ", "red")
        case interventions.TextIntervention():
            print_section(out, f"{event.title} to {event.to or 'everybody'}", event.text)
        case Paused() | Resumed() | interventions.InterventionFact():
            print_note(out, ": ".join(filter(None, (describe_action(event), format_reason(event)))), "")
        case EarlierWithdrawn():
            print_note(out, f"{event.debate_id}, which was recalled, was {event.cause}.")
        case Agreed():
            print_note(out, describe_agreed(event))
        case EscalationFact():
            print_note(out, describe_escalation(event))
        case _:
            assert_never(event)


def print_aside(out: Terminal, event: Balloted | Measured | Digested | PassageRead) -> None:
    """Print what is no part of the talk, in one line. Samples of the baseline are left out: there are too many."""
    if isinstance(event, Digested):
        print_note(out, f"The reader, section {event.slot_index + 1}: {quote_words(event.summary)}")
    elif isinstance(event, PassageRead):
        print_note(out, f"{event.seat} asked for {quote_words(event.query)}: {event.found}")
    elif isinstance(event, Measured):
        print_note(out, describe_measurement(event))
    elif event.wave != "sample":
        print_note(out, unescape_markup(describe_ballot(event)))


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
    """The reason: quoted if somebody gave it, plain if it is our own text."""
    is_given = not isinstance(event, Paused) or is_reason_given(event)
    return quote_words(event.reason) if event.reason and is_given else event.reason


def print_positions(out: Terminal, setup: Opened) -> None:
    """Print who stands for which position, and where the positions came from."""
    if (line := framing_line(setup)) and line not in list_setup_warnings(setup, 0):
        out.print_wrapped(line, "  ")
    for debater in known_debaters(setup):
        out.print_wrapped(f"{debater.name}: {quote_words(debater.stance)} ({debater.model})", "  ")


def print_setup(out: Terminal, snapshot: DebateSnapshot, setup: Opened) -> None:
    """The question, who recorded it, the debaters, the other seats with their models, the estimate and its warnings."""
    out.print_heading(format_heading(setup.question), 1)
    if provenance := describe_provenance(snapshot.provenance, len(snapshot.entries)):
        out.print_wrapped(provenance, "  ", "yellow")
    print_positions(out, setup)
    parts = []
    if count := len(setup.judges.models):
        models = ", ".join(dict.fromkeys(setup.judges.models))
        parts.append(f"{format_count(count, name_judge(setup))} ({models})")
    parts += [f"{name} ({officer.model})" for name, officer in find_officers(setup).items()]
    if setup.answering:
        models = ", ".join(debater.model for debater in setup.debaters)
        parts.append(f"{format_count(len(setup.debaters), 'advisor')} ({models})")
    rounds = "" if setup.answering else format_count(snapshot.debate.max_rounds, "round")
    parts += filter(None, (setup.format, rounds, f"debate {snapshot.id}"))
    out.print_wrapped(", ".join(parts), "  ")
    out.print_wrapped(f"{describe_team(setup)} {describe_effort(setup)}".strip(), "  ")
    if not snapshot.is_foreign:  # what others recorded costs nothing here
        out.print_wrapped(estimate_line(snapshot.debate, with_efforts=False), "  ")
    families = len({family(debater.model) for debater in setup.debaters})
    for warning in list_setup_warnings(setup, families):
        out.print_wrapped(warning, "  ! ", "yellow")
