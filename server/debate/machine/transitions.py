"""How events change a debate.

1. `apply` is the only way to change a debate. What is not possible raises `IllegalEvent` and changes nothing.
2. No state says "in progress". What is under way is what is due and unanswered (`calls.pending_calls`), so
   that a crash at any instant leaves nothing to clean up.
3. An answer is accepted as long as its slot is open (`answers`), in a paused debate and a concluded talk too: it was
   paid for.
4. Answers of a group arrive in any order. Whatever depends on order uses `PhaseEntered.order` or the seats.
5. The speakers are recorded before anybody is called: `PhaseEntered.order`, `RoundOpened`, `HandedOff`.
"""

from collections.abc import Iterable
from functools import reduce
from typing import assert_never

from server.debate.ballots import challenges
from server.debate.facts.answers import (
    DefaultPlanUsed,
    HandedOff,
    PassageRead,
    PredicateLost,
    PromptFunctionsLost,
    PromptsComputed,
    SlotFact,
)
from server.debate.facts.beliefs import Agreed, Alerted, Converged, TalkSkipped
from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.errors import IllegalEvent, check, check_fits
from server.debate.facts.escalation import EscalationFact
from server.debate.facts.events import (
    BlockEnded,
    Concluded,
    Ended,
    Event,
    Paused,
    PhaseEntered,
    Resumed,
)
from server.debate.facts.interventions import InterventionEvent, InterventionFact
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import MODERATOR
from server.debate.interventions.registry import find_action
from server.debate.rules import escalation, framing
from server.debate.rules.advance import CourseFact, apply_course_event, can_follow, find_course_problem
from server.debate.rules.answers import apply_slot_event
from server.debate.rules.schedule import find_plan_problem, is_exhausted, open_slots
from server.debate.rules.speaking_order import find_handoff_problem
from server.debate.state.debate import Debate, replace
from server.debate.state.seats import phase_seats
from server.debate.votes.verdict import find_verdict_problem
from server.debate.votes.voters import verdict_source


def apply(debate: Debate | None, event: Event) -> Debate:
    """The debate after this event.

    Raises:
        IllegalEvent: the event is not possible now. The debate is unchanged.
    """
    if debate is None:
        if isinstance(event, Opened):
            return Debate(setup=event)
        raise IllegalEvent(f"{event.kind} before the debate was opened")
    if not is_in_time(debate, event):
        raise IllegalEvent(f"{event.kind} {'after' if debate.ended else 'before'} the end")
    return replace(apply_by_kind(debate, event), version=debate.version + 1)


def is_in_time(debate: Debate, event: Event) -> bool:
    """Whether such an event may come before the end, or after it, whichever it is now."""
    if isinstance(event, InterventionFact):
        when = find_action(event).when
    else:
        when = "always" if isinstance(event, EarlierWithdrawn) else "before_end"
    return when == "always" or (when == "after_end") == bool(debate.ended)


def apply_by_kind(debate: Debate, event: Event) -> Debate:  # noqa: C901, PLR0911, PLR0912  (a table of cases)
    match event:
        case Opened():
            raise IllegalEvent("it was opened already")
        case PhaseEntered():
            return apply_phase_entered(debate, event)
        case SlotFact():
            return apply_slot_event(debate, event)
        case DefaultPlanUsed():
            check_fits(find_plan_problem(debate, event))
            check(is_exhausted(debate, (MODERATOR, 0)), "the moderator may still answer")
            answered = debate.answered_slots | {(MODERATOR, 0)}
            added = (*debate.transcript_events, event)
            return replace(debate, answered_slots=answered, transcript_events=added)
        case PredicateLost() | PromptsComputed() | PromptFunctionsLost() | BlockEnded():
            return follow_course(debate, event)
        case PassageRead() | Agreed():
            return follow_course(debate, event)
        case EarlierWithdrawn():
            return replace(debate, setup=framing.withdraw_earlier(debate.setup, event))
        case EscalationFact():
            check_fits(escalation.find_escalation_problem(debate, event))
            return escalation.apply_escalation(debate, event)
        case TalkSkipped() | Converged() | Alerted():
            check(challenges.is_due(debate, event), "it does not follow from the ballots")
            return challenges.add_ballot_event(debate, event)
        case HandedOff():
            check_fits(find_handoff_problem(debate, event))
            return replace(debate, handoffs=(*debate.handoffs, event))
        case Concluded():
            check_fits(find_verdict_problem(debate, event))
            return replace(debate, verdict=event)
        case InterventionFact():
            return apply_intervention(debate, event)
        case Paused() | Resumed():
            return find_action(event).apply(debate, event)
        case Ended():
            decided = debate.verdict is not None or not verdict_source(debate.setup)
            check(event.ending == "truncated" or decided, "concluded without a verdict")
            return replace(debate, ended=event)
        case _:
            assert_never(event)


def follow_course(debate: Debate, event: CourseFact) -> Debate:
    check_fits(find_course_problem(debate, event))
    return apply_course_event(debate, event)


def apply_phase_entered(debate: Debate, event: PhaseEntered) -> Debate:
    phase = next((phase for phase in debate.setup.phases if phase.name == event.phase), None)
    check(phase is not None, f"no phase {event.phase}")
    check(event.round == debate.round + 1, "rounds follow one another")
    is_prepared = debate.rounds or not (debate.setup.needs_framing or open_slots(debate))
    check(bool(is_prepared), "the positions are not known yet, or the documents not read yet")
    assert phase is not None
    check(can_follow(debate, phase), f"{event.phase} cannot follow")
    asked = phase_seats(debate.setup, phase)
    if phase.order == "handoff":
        check(len(event.order) == 1 and event.order[0] in asked, "one debater speaks at a time")
        chosen = [handed.to for handed in debate.handoffs if handed.round == debate.round]
        check(not chosen or event.order == (chosen[0],), "somebody else was chosen to speak")
    else:
        check(sorted(event.order) == sorted(asked), "the order is not one of those who are asked")
    starts = (*debate.round_starts, len(debate.transcript_events))
    rounds = (*debate.rounds, event)
    return replace(debate, rounds=rounds, round_starts=starts, answered_slots=frozenset(), round_failures=())


def apply_intervention(debate: Debate, event: InterventionEvent) -> Debate:
    """Add an intervention: most of the state derives from `Debate.interventions`, and its action changes the rest."""
    after = replace(debate, interventions=(*debate.interventions, event))
    return find_action(event).apply(after, event)


def replay(events: Iterable[Event], start: Debate | None = None) -> Debate:
    """Apply events in order, to `start` or from the beginning.

    Raises:
        IllegalEvent: one of them is not possible after the others, or there is none.
    """
    debate = reduce(apply, events, start)
    if debate is None:
        raise IllegalEvent("a debate without events")
    return debate
