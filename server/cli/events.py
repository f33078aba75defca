"""How the events of a debate are printed while it runs."""

from typing import assert_never

from server.cli.terminal import Terminal
from server.debate.commands.open import find_setup_warnings
from server.debate.facts import events, interventions
from server.debate.facts.text import format_count
from server.debate.prompts.transcript import debater_letter, lettered_debaters
from server.debate.views import markdown
from server.engine.store import DebateSnapshot
from server.models.registry import family

SPEAKER_COLOURS = ("cyan", "yellow", "green", "magenta", "blue")


def print_event(out: Terminal, snapshot: DebateSnapshot, event: events.Event) -> None:  # noqa: C901, PLR0912  (a case for each kind)
    """Print what an event says; nothing for events whose content is in the verdict."""
    match event:
        case events.Opened():
            print_setup(out, snapshot)
        case events.PhaseEntered():
            print_note(out, f"== Round {event.round}: {event.phase} ==", "", "bold")
        case events.Spoke():
            letter = debater_letter(snapshot.debate, event.seat)
            colour = SPEAKER_COLOURS[(ord(letter) - ord("A")) % len(SPEAKER_COLOURS)]
            stance = markdown.format_heading(snapshot.debate.debater(event.seat).stance)
            target = "" if event.act == "argument" else f", {event.act} to {event.to}"
            text = event.text + ("\n(cut at the length limit)" if event.cut else "")
            print_section(out, f"{letter}. {event.seat} ({stance}){target}", text, f"bold {colour}")
        case events.RoundOpened() | events.DefaultPlanUsed() | events.RoundClosed() | events.Audited():
            out.print_markdown(markdown.officer_block(event), 2)
        case events.HandedOff():
            how = "hands over to" if event.because == "chosen" else "is followed, by lot, by"
            print_note(out, f"{event.seat} {how} {event.to}.")
        case events.Researched():
            tools = [f"{found.tool}{' (failed)' if found.failed else ''}" for found in event.lookups]
            print_note(out, f"{event.seat} looks it up: {', '.join(tools)}")
        case events.Balloted():
            print_note(out, f"{event.seat} votes for {event.choice or 'no side'}: {event.reasoning}")
        case events.Judged():
            finding = f"for {event.winner}, margin {event.margin} of 3" if event.winner else "for no side"
            note = "" if event.informative else " (not counted: the model is too small to judge)"
            print_section(out, f"{event.seat}, reading {event.slot_index}: {finding}{note}", event.verdict)
        case events.Failed() | events.HandoffFailed():
            print_note(out, f"{event.seat} failed: {event.detail}", "! ", "red")
        case interventions.TextIntervention():
            print_section(out, f"{event.title} to {event.to or 'everybody'}", event.text)
        case events.Paused() | events.Resumed() | interventions.InterventionFact():
            print_note(out, ": ".join(filter(None, (describe_action(event), event.reason))), "")
        case events.Concluded() | events.Synthesized() | events.Ended():
            pass
        case _:
            assert_never(event)


def print_note(out: Terminal, text: str, lead: str = "> ", style: str = "") -> None:
    out.print_line()
    out.print_wrapped(text, lead, style)


def print_section(out: Terminal, title: str, text: str, style: str = "bold") -> None:
    print_note(out, title, "", style)
    out.print_markdown(text, 2)


def describe_action(event: events.Paused | events.Resumed | interventions.InterventionFact) -> str:
    if isinstance(event, interventions.TalkConcluded):
        return "The talk is concluded"
    if isinstance(event, interventions.InterventionFact):
        return " ".join((event.action, *interventions.describe_change(event)))
    return event.kind.capitalize()


def print_setup(out: Terminal, snapshot: DebateSnapshot) -> None:
    """The question, the debaters, the other seats with their models, the estimate and its warnings."""
    setup = snapshot.debate.setup
    out.print_heading(markdown.format_heading(setup.question), 1)
    for letter, debater in lettered_debaters(snapshot.debate):
        out.print_wrapped(f"{debater.name}: {debater.stance} ({debater.model})", f"  {letter}. ")
    parts = []
    if count := len(setup.judges.models):
        models = ", ".join(dict.fromkeys(setup.judges.models))
        parts.append(f"{format_count(count, 'judge')} ({models})")
    officers = {"moderator": setup.moderator, "referee": setup.referee, "synthesizer": setup.synthesizer}
    parts += [f"{name} ({officer.model})" for name, officer in officers.items() if officer]
    parts += [setup.format, format_count(snapshot.debate.max_rounds, "round"), f"debate {snapshot.id}"]
    out.print_wrapped(", ".join(parts), "  ")
    out.print_wrapped(markdown.estimate_line(setup), "  ")
    families = len({family(debater.model) for debater in setup.debaters})
    for warning in find_setup_warnings(setup, families):
        out.print_wrapped(warning, "  ! ", "yellow")
