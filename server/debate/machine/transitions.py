"""How events change a debate.

1. `apply` is the only way to change a debate. What is not possible raises `IllegalEvent` and changes nothing.
2. No state says "in progress". What is under way is what is due and unanswered (`calls.pending_calls`), so
   that a crash at any instant leaves nothing to clean up.
3. An answer is accepted as long as its slot is open (`apply_slot_event`), in a paused debate and a concluded talk
   too: it was paid for.
4. Answers of a group arrive in any order. Whatever depends on order uses `PhaseEntered.order` or the seats.
5. The speakers are recorded before anybody is called: `PhaseEntered.order`, `RoundOpened`, `HandedOff`.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Any, assert_never

from server.debate.answer.debates import find_advice_problem
from server.debate.arguments import sources
from server.debate.ballots import convergence
from server.debate.ballots.convergence import find_measurement_problem
from server.debate.ballots.hollow import add_ballot_event, is_due
from server.debate.ballots.waves import is_blind_ballot, is_private_ballot
from server.debate.documents import digests
from server.debate.documents.digests import find_passage_problem
from server.debate.facts.advice import Advised, Checked, Exchanged, Reported, Reviewed, find_advice_task
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
    SlotFact,
)
from server.debate.facts.beliefs import Agreed, Alerted, Converged
from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.errors import IllegalEvent, check, check_fits
from server.debate.facts.escalation import EscalationFact, MirrorOpened
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
    SlotEvent,
    Spoke,
    Synthesized,
    Task,
)
from server.debate.facts.interventions import InterventionFact
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import MODERATOR
from server.debate.interventions.registry import find_action
from server.debate.rules import escalation, framing
from server.debate.rules.calls import acceptable_slots
from server.debate.rules.course import can_follow, find_block_problem, is_agreed
from server.debate.rules.schedule import (
    BAD_REPLY_CAUSES,
    Slot,
    find_plan_problem,
    find_turn_problem,
    has_final_failure,
    is_exhausted,
    open_slots,
    slot_failures,
)
from server.debate.rules.speaking_order import find_handoff_problem
from server.debate.rules.verdict import find_verdict_problem
from server.debate.seats.observer import find_contest_problem
from server.debate.seats.registry import find_seat
from server.debate.state.debate import Debate, replace
from server.debate.state.seats import check_name, current_model, phase_seats, seat_models
from server.debate.votes.panel import find_comparison_problem
from server.debate.votes.voters import verdict_source


def apply(debate: Debate | None, event: Event) -> Debate:
    """The debate after this event. Raises IllegalEvent: the event is not possible now. The debate is unchanged."""
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
        case PredicateLost():
            check_code(is_there=debate.setup.has_predicate, loss=debate.predicate_lost)
            return replace(debate, predicate_lost=event)
        case PromptFunctionsLost():
            check_code(is_there=bool(debate.setup.prompt_functions), loss=debate.prompt_functions_lost)
            return replace(debate, prompt_functions_lost=event)
        case PromptsComputed():
            check_code(is_there=bool(debate.setup.prompt_functions), loss=None)
            unknown = {prompt.seat for prompt in event.prompts} - seat_models(debate.setup).keys()
            check(not unknown, f"nobody here is called {', '.join(sorted(unknown))}")
            return replace(debate, computed_prompts=(*debate.computed_prompts, event))
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
            if isinstance(event, MirrorOpened):
                return replace(debate, mirror_opened=event)
            return replace(debate, mirror=event)
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
            # Most of the state derives from `Debate.interventions`; the action changes the rest.
            debate_after = replace(debate, interventions=(*debate.interventions, event))
            return find_action(event).apply(debate_after, event)
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


def check_code(*, is_there: bool, loss: PredicateLost | PromptFunctionsLost | None) -> None:
    """Raise IllegalEvent where the caller's code can have done nothing, or was lost before."""
    check(is_there, "the caller gave no such code")
    check(loss is None, f"it was lost in round {loss.round if loss else 0} already")


def apply_slot_event(debate: Debate, event: SlotEvent) -> Debate:  # noqa: C901, PLR0911, PLR0912, PLR0915  (a table of cases)
    match event:
        case Digested():
            check_fits(digests.find_digest_problem(debate.setup, event))
            check_open_slot(debate, event, "digest")
            return fill_slot(debate, event, digests=(*debate.digests, event))
        case AnsweredBlind():
            check_open_slot(debate, event, "blind_answer")
            return fill_slot(debate, event, blind_answers=(*debate.blind_answers, event))
        case PositionsFramed():
            check_open_slot(debate, event, "framing")
            check_fits(framing.find_framing_problem(debate.setup, event))
            return fill_slot(debate, event, framed=event)
        case RoundOpened():
            check_fits(find_plan_problem(debate, event))
            check_open_slot(debate, event, "opening")
            return fill_slot(debate, event, transcript_events=(*debate.transcript_events, event))
        case Spoke():
            slot = check_open_slot(debate, event, "argument", "message", "answer")
            check_fits(find_turn_problem(debate, event, slot) or find_contest_problem(debate, event))
            transcript = (*debate.transcript_events, event)
            return fill_slot(debate, event, transcript_events=transcript, turns=(*debate.turns, event))
        case RoundClosed():
            check_open_slot(debate, event, "closing")
            check(not event.settled or bool(event.decision), "settled without a decision")
            check_unargued(debate, event)
            return fill_slot(debate, event, transcript_events=(*debate.transcript_events, event))
        case Reading():
            seat = find_seat(event)
            check_open_slot(debate, event, "reading")
            check(event.seat == seat.name, "it is what another seat reads")
            check_fits(seat.find_problem(debate, event))
            remarks = (event,) if isinstance(event, Remark) else ()
            transcript = (*debate.transcript_events, *remarks)
            return fill_slot(debate, event, readings=(*debate.readings, event), transcript_events=transcript)
        case Measured():
            check_open_slot(debate, event, "measurement")
            check_fits(find_measurement_problem(debate, event))
            return fill_slot(debate, event, measurements=(*debate.measurements, event))
        case Balloted():
            check_open_slot(debate, event, "ballot")
            check_fits(convergence.find_ballot_problem(debate, event))
            check_unargued(debate, event)
            return apply_vote(debate, event)
        case Judged():
            check_open_slot(debate, event, "judgment")
            check_names(debate, event)
            return apply_vote(debate, event)
        case Compared():
            check_open_slot(debate, event, "comparison")
            check_fits(find_comparison_problem(debate, event))
            if event.seen < max(reading.seen for reading in debate.judgments):
                return replace(debate, superseded=(*debate.superseded, event))
            return fill_slot(debate, event, comparison=event)
        case Synthesized():
            check_open_slot(debate, event, "deliverable")
            return fill_slot(debate, event, deliverable=event)
        case Advised() | Reviewed() | Exchanged() | Reported() | Checked():
            check_open_slot(debate, event, find_advice_task(event))
            check_fits(find_advice_problem(debate, event))
            return fill_slot(debate, event, advice=(*debate.advice, event))
        case Researched():
            check_open_slot(debate, event)
            return sources.add_research(debate, event)
        case Failed():
            return apply_failed(debate, event)
        case HandoffFailed():
            check_fits(find_handoff_problem(debate, event))
            return replace(debate, handoff_failures=(*debate.handoff_failures, event))
        case _:
            assert_never(event)


def check_names(debate: Debate, judgment: Judged) -> None:
    """Check that a reading names debaters only."""
    better = (criterion.better for criterion in judgment.criteria)
    beliefs = (belief.name for belief in judgment.beliefs)
    for name in (judgment.winner, *beliefs, *better):
        check_name(debate, name)
    check_unargued(debate, judgment)


def check_unargued(debate: Debate, event: Judged | RoundClosed | Balloted) -> None:
    """Check that it names debaters: nobody is no name here."""
    for name in event.unargued:
        check(name in debate.names, f"nobody here is called {name!r}")


def apply_vote(debate: Debate, event: Judged | Balloted) -> Debate:
    """Add a vote. One whose prompt still showed a turn that was retracted meanwhile is paid for, and asked again."""
    showed_turns = isinstance(event, Judged) or not is_blind_ballot(event.slot_index)
    if event.seen < debate.retracted_at and showed_turns:
        return replace(debate, superseded=(*debate.superseded, event))
    if isinstance(event, Judged):
        debate = convergence.supersede_comparison(debate)
        return fill_slot(debate, event, judgments=(*debate.judgments, event))
    if event.wave == "sample":
        return fill_slot(debate, event, samples=(*debate.samples, event))
    return fill_slot(debate, event, ballots=(*debate.ballots, event))


def apply_failed(debate: Debate, event: Failed) -> Debate:
    check_open_slot(debate, event)
    debate_after = replace(
        debate, failures=(*debate.failures, event), round_failures=(*debate.round_failures, event)
    )
    model = event.model or current_model(debate, event.seat)
    # A model that was too late for this round may be in time for the next.
    is_bad_ballot = is_private_ballot(event.slot_index) and event.cause in BAD_REPLY_CAUSES
    if event.cause == "late" or is_bad_ballot:
        return debate_after
    if has_final_failure(slot_failures(debate_after, (event.seat, event.slot_index))):
        return replace(debate_after, failed_models=debate.failed_models | {(event.seat, model)})
    return debate_after


def fill_slot(debate: Debate, event: SlotFact, **changes: Any) -> Debate:
    return replace(debate, answered_slots=debate.answered_slots | {(event.seat, event.slot_index)}, **changes)


def check_open_slot(debate: Debate, event: SlotFact, *tasks: Task) -> Slot:
    """Return the open slot that the event is for. Raises IllegalEvent: no slot of these tasks is open for its seat."""
    check(event.round == debate.round, f"an answer for round {event.round} in round {debate.round}")
    check(event.seen <= debate.version, "its prompt shows what has not happened yet")
    slot = next(
        (slot for slot in acceptable_slots(debate) if slot.key == (event.seat, event.slot_index)), None
    )
    if slot is None or (tasks and slot.task not in tasks):
        raise IllegalEvent(f"no slot {event.slot_index} of {event.seat} is open for it")
    return slot


def replay(events: Iterable[Event], start: Debate | None = None) -> Debate:
    """Apply events in order, to `start` or from the beginning.

    Raises:
        IllegalEvent: one of them is not possible after the others, or there is none.
    """
    debate = reduce(apply, events, start)
    if debate is None:
        raise IllegalEvent("a debate without events")
    return debate
