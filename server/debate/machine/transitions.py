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

from server.debate.ballots.hollow import add_ballot_event, is_due
from server.debate.documents.digests import find_passage_problem
from server.debate.facts.answers import (
    DefaultPlanUsed,
    HandedOff,
    PassageRead,
    PredicateLost,
    PromptFunctionsLost,
    PromptsComputed,
    SlotFact,
)
from server.debate.facts.beliefs import Agreed, Alerted, Converged
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
    PositionsFramed,
    Resumed,
)
from server.debate.facts.interventions import InterventionEvent, InterventionFact
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import MODERATOR
from server.debate.interventions.registry import find_action
from server.debate.machine.answers import apply_slot_event
from server.debate.rules import caller_code, escalation, framing
from server.debate.rules.course import can_follow, find_block_problem, is_agreed
from server.debate.rules.schedule import find_plan_problem, is_exhausted, open_slots
from server.debate.rules.speaking_order import find_handoff_problem
from server.debate.state.debate import Debate, replace
from server.debate.state.seats import phase_seats
from server.debate.verdicts.rules import find_verdict_problem
from server.debate.votes.voters import verdict_source


def apply(debate: Debate | None, event: Event) -> Debate:
    """The debate after this event.

    Raises:
        IllegalEvent: the event is not possible now. The debate is unchanged.
    """
    if debate is None:
        if isinstance(event, Opened):
            return Debate(event)
        raise IllegalEvent(f"{event.kind} before the debate was opened")
    if not is_in_time(debate, event):
        raise IllegalEvent(f"{event.kind} {'after' if debate.ended else 'before'} the end")
    debate_after = apply_by_kind(debate, event)
    return replace(debate_after, changed_setup=change_setup(debate.setup, event), version=debate.version + 1)


def change_setup(setup: Opened, event: Event) -> Opened:
    """The set-up in force after an event: the only function that changes one. Most events leave it as it is.

    A fork that takes over what happened until then begins with this set-up, and without such events.
    """
    if isinstance(event, PositionsFramed):
        return framing.apply_positions(setup, event)
    if isinstance(event, EarlierWithdrawn):
        return framing.withdraw_earlier(setup, event)
    return find_action(event).change_setup(setup, event) if isinstance(event, InterventionFact) else setup


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
            answered_slots = debate.answered_slots | {(MODERATOR, 0)}
            transcript = (*debate.transcript_events, event)
            return replace(debate, answered_slots=answered_slots, transcript_events=transcript)
        case PredicateLost() | PromptsComputed() | PromptFunctionsLost():
            check_fits(caller_code.find_code_problem(debate, event))
            return caller_code.add_code_event(debate, event)
        case BlockEnded():
            check_fits(find_block_problem(debate, event))
            return replace(debate, ended_blocks=(*debate.ended_blocks, event))
        case PassageRead():
            check_fits(find_passage_problem(debate, event))
            return replace(debate, passages=(*debate.passages, event))
        case Agreed():
            check(is_agreed(debate, event), "it does not follow from the votes")
            return replace(debate, agreements=(*debate.agreements, event))
        case EarlierWithdrawn():
            return debate  # it changes the set-up alone
        case EscalationFact():
            check_fits(escalation.find_escalation_problem(debate, event))
            return escalation.apply_escalation(debate, event)
        case Converged() | Alerted():
            check(is_due(debate, event), "it does not follow from the ballots")
            return add_ballot_event(debate, event)
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
            has_verdict = debate.verdict is not None or not verdict_source(debate.setup)
            check(event.ending == "truncated" or has_verdict, "concluded without a verdict")
            return replace(debate, ended=event)
        case _:
            assert_never(event)


def apply_phase_entered(debate: Debate, event: PhaseEntered) -> Debate:
    phase = next((phase for phase in debate.setup.phases if phase.name == event.phase), None)
    check(phase is not None, f"no phase {event.phase}")
    check(event.round == debate.round + 1, "rounds follow one another")
    check(bool(debate.rounds or not debate.setup.needs_framing), "the positions are not known yet")
    check(bool(debate.rounds or not open_slots(debate)), "the documents are not read yet")
    assert phase is not None
    check(can_follow(debate, phase), f"{event.phase} cannot follow")
    seats = phase_seats(debate.setup, phase)
    if phase.order == "handoff":
        check(len(event.order) == 1 and event.order[0] in seats, "one debater speaks at a time")
        next_names = [handoff.to for handoff in debate.handoffs if handoff.round == debate.round]
        check(not next_names or event.order == (next_names[0],), "somebody else was chosen to speak")
    else:
        check(sorted(event.order) == sorted(seats), "the order is not one of those who are asked")
    starts = (*debate.round_starts, len(debate.transcript_events))
    rounds = (*debate.rounds, event)
    return replace(debate, rounds=rounds, round_starts=starts, answered_slots=frozenset(), round_failures=())


def apply_intervention(debate: Debate, event: InterventionEvent) -> Debate:
    """Add an intervention: most of the state derives from `Debate.interventions`, and its action changes the rest."""
    debate_after = replace(debate, interventions=(*debate.interventions, event))
    return find_action(event).apply(debate_after, event)


def replay(events: Iterable[Event], start: Debate | None = None) -> Debate:
    """Apply events in order, to `start` or from the beginning.

    Raises:
        IllegalEvent: one of them is not possible after the others, or there is none.
    """
    debate = reduce(apply, events, start)
    if debate is None:
        raise IllegalEvent("a debate without events")
    return debate
