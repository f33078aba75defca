"""How the events of a debate are printed while it runs."""

from typing import assert_never

from server.cli.sanitize import sanitize_line
from server.cli.terminal import Terminal
from server.debate.commands.open import find_setup_warnings
from server.debate.facts import events
from server.debate.facts.interventions import (
    InterventionFact,
    TalkConcluded,
    TextIntervention,
    describe_change,
)
from server.debate.facts.state import Debate
from server.debate.facts.text import format_count
from server.debate.prompts.transcript import debater_letter, lettered_debaters
from server.debate.views.markdown import (
    audit_block,
    estimate_line,
    format_heading,
    round_plan_block,
    round_summary_block,
)
from server.engine.store import DebateSnapshot
from server.models.registry import family

SPEAKER_COLOURS = ("cyan", "yellow", "green", "magenta", "blue")


def print_event(out: Terminal, snapshot: DebateSnapshot, event: events.Event) -> None:  # noqa: C901, PLR0912  (a case for each kind)
    """Print what an event says; nothing for events whose content is in the verdict."""
    match event:
        case events.Opened():
            print_setup(out, snapshot)
        case events.PhaseEntered():
            out.print_line()
            out.print_wrapped(f"== Round {event.round}: {sanitize_line(event.phase)} ==", style="bold")
        case events.Spoke():
            print_turn(out, snapshot.debate, event)
        case events.RoundOpened() | events.DefaultPlanUsed():
            out.print_markdown("\n" + round_plan_block(event).strip(), 2)
        case events.RoundClosed():
            out.print_markdown("\n" + round_summary_block(event).strip(), 2)
        case events.Audited():
            out.print_markdown("\n" + audit_block(event).strip(), 2)
        case events.HandedOff():
            how = "hands over to" if event.because == "chosen" else "is followed, by lot, by"
            print_note(out, f"{event.seat} {how} {event.to}.")
        case events.Researched():
            tools = [f"{found.tool}{' (failed)' if found.failed else ''}" for found in event.lookups]
            print_note(out, f"{event.seat} looks it up: {', '.join(tools)}")
        case events.Balloted():
            print_note(out, f"{event.seat} votes for {event.choice or 'no side'}: {event.reasoning}")
        case events.Judged():
            print_finding(out, event)
        case events.Failed() | events.HandoffFailed():
            print_note(out, f"{event.seat} failed: {event.detail}", "! ", "red")
        case events.Paused() | events.Resumed() | InterventionFact():
            print_intervention(out, event)
        case events.Concluded() | events.Synthesized() | events.Ended():
            pass
        case _:
            assert_never(event)


def print_note(out: Terminal, text: str, lead: str = "> ", style: str = "") -> None:
    out.print_line()
    out.print_wrapped(sanitize_line(text), lead, style)


def print_section(out: Terminal, title: str, text: str, style: str = "bold") -> None:
    out.print_line()
    out.print_wrapped(sanitize_line(title), style=style)
    out.print_markdown(text, 2)


def print_turn(out: Terminal, debate: Debate, turn: events.Spoke) -> None:
    letter = debater_letter(debate, turn.seat)
    colour = SPEAKER_COLOURS[(ord(letter) - ord("A")) % len(SPEAKER_COLOURS)]
    target = "" if turn.act == "argument" else f", {turn.act} to {turn.to}"
    title = f"{letter}. {turn.seat} ({format_heading(debate.debater(turn.seat).stance)}){target}"
    cut = "\n(cut at the length limit)" if turn.cut else ""
    print_section(out, title, turn.text + cut, f"bold {colour}")


def print_finding(out: Terminal, judged: events.Judged) -> None:
    finding = f"for {judged.winner}, margin {judged.margin} of 3" if judged.winner else "for no side"
    note = "" if judged.informative else " (not counted: the model is too small to judge)"
    print_section(out, f"{judged.seat}, reading {judged.slot_index}: {finding}{note}", judged.verdict)


def print_intervention(out: Terminal, event: events.Paused | events.Resumed | InterventionFact) -> None:
    if isinstance(event, TextIntervention):
        print_section(out, f"{event.title} to {event.to or 'everybody'}", event.text)
        return
    if isinstance(event, TalkConcluded):
        action = "The talk is concluded"
    elif isinstance(event, InterventionFact):
        action = " ".join((event.action, *describe_change(event)))
    else:
        action = "Paused" if isinstance(event, events.Paused) else "Resumed"
    print_note(out, f"{action}: {event.reason}" if event.reason else action, "")


def print_setup(out: Terminal, snapshot: DebateSnapshot) -> None:
    """The question, the debaters, the other seats with their models, the estimate and its warnings."""
    setup = snapshot.debate.setup
    out.print_heading(sanitize_line(format_heading(setup.question)), 1)
    for letter, debater in lettered_debaters(snapshot.debate):
        line = sanitize_line(f"{debater.name}: {debater.stance} ({debater.model})")
        out.print_wrapped(line, f"  {letter}. ")
    rounds = format_count(snapshot.debate.max_rounds, "round")
    seats = [*describe_other_seats(setup), f"{setup.format}, {rounds}, debate {snapshot.id}"]
    out.print_wrapped(sanitize_line(", ".join(seats)), "  ")
    out.print_wrapped(sanitize_line(estimate_line(setup)), "  ")
    families = len({family(debater.model) for debater in setup.debaters})
    for warning in find_setup_warnings(setup, families):
        out.print_wrapped(sanitize_line(warning), "  ! ", "yellow")


def describe_other_seats(setup: events.Opened) -> list[str]:
    """The judges, moderator, referee and synthesizer with their models."""
    seats = {"moderator": setup.moderator, "referee": setup.referee, "synthesizer": setup.synthesizer}
    found = [f"{name} ({officer.model})" for name, officer in seats.items() if officer]
    if count := len(setup.judges.models):
        models = ", ".join(dict.fromkeys(setup.judges.models))
        found.insert(0, f"{format_count(count, 'judge')} ({models})")
    return found
