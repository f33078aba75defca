"""How answers, research and failures fill the slots of a round."""

from typing import Any, assert_never

from server.debate.answer.debates import find_advice_problem
from server.debate.arguments import sources
from server.debate.ballots import convergence
from server.debate.ballots.convergence import find_measurement_problem
from server.debate.ballots.waves import is_blind_ballot, is_private_ballot
from server.debate.documents import digests
from server.debate.facts.advice import AdviceEvent, Advised, Checked, Exchanged, Reported, Reviewed
from server.debate.facts.answers import (
    Digested,
    HandoffFailed,
    Measured,
    Reading,
    Remark,
    Researched,
    SlotFact,
)
from server.debate.facts.errors import IllegalEvent, check, check_fits
from server.debate.facts.events import (
    AnsweredBlind,
    Balloted,
    Compared,
    Failed,
    Judged,
    PositionsFramed,
    RoundClosed,
    RoundOpened,
    SlotEvent,
    Spoke,
    Synthesized,
    Task,
)
from server.debate.facts.setup.phases import AdviceTask
from server.debate.rules import framing
from server.debate.rules.calls import acceptable_slots
from server.debate.rules.schedule import (
    BAD_REPLY_CAUSES,
    Slot,
    find_plan_problem,
    find_turn_problem,
    has_final_failure,
    slot_failures,
)
from server.debate.rules.speaking_order import find_handoff_problem
from server.debate.seats.observer import find_contest_problem
from server.debate.seats.registry import find_seat
from server.debate.state.debate import Debate, replace
from server.debate.state.seats import check_name, current_model
from server.debate.votes.panel import find_comparison_problem

ADVICE_OF: dict[type[AdviceEvent], AdviceTask] = {
    Advised: "advice",
    Reviewed: "review",
    Exchanged: "exchange",
    Reported: "report",
    Checked: "check",
}
"""What each of these answers."""


def apply_slot_event(debate: Debate, event: SlotEvent) -> Debate:  # noqa: C901, PLR0911, PLR0912  (a table of cases)
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
        case RoundOpened() | Spoke() | RoundClosed():
            check_transcript_answer(debate, event)
            turns = (*debate.turns, event) if isinstance(event, Spoke) else debate.turns
            transcript = (*debate.transcript_events, event)
            return fill_slot(debate, event, transcript_events=transcript, turns=turns)
        case Reading() | Measured():
            return apply_reading(debate, event)
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
            check_open_slot(debate, event, ADVICE_OF[type(event)])
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


def apply_reading(debate: Debate, event: Reading | Measured) -> Debate:
    """Add what somebody reads in a round, which steers nothing by itself."""
    match event:
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
        case _:
            assert_never(event)


def check_transcript_answer(debate: Debate, event: RoundOpened | Spoke | RoundClosed) -> None:
    match event:
        case RoundOpened():
            check_fits(find_plan_problem(debate, event))
            check_open_slot(debate, event, "opening")
        case Spoke():
            check_turn(debate, event)
        case RoundClosed():
            check_open_slot(debate, event, "closing")
            check(not event.settled or bool(event.decision), "settled without a decision")
            check_unargued(debate, event)
        case _:
            assert_never(event)


def check_turn(debate: Debate, event: Spoke) -> None:
    slot = check_open_slot(debate, event, "argument", "message", "answer")
    check_fits(find_turn_problem(debate, event, slot) or find_contest_problem(debate, event))


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
    """Return the open slot that the event is for.

    Raises:
        IllegalEvent: no slot of these tasks is open for its seat.
    """
    check(event.round == debate.round, f"an answer for round {event.round} in round {debate.round}")
    check(event.seen <= debate.version, "its prompt shows what has not happened yet")
    slot = next(
        (slot for slot in acceptable_slots(debate) if slot.key == (event.seat, event.slot_index)), None
    )
    if slot is None or (tasks and slot.task not in tasks):
        raise IllegalEvent(f"no slot {event.slot_index} of {event.seat} is open for it")
    return slot
