"""The next step of a debate, from its state alone.

    Record(events)   these events follow without a model call
    Ask(calls)       make these calls, in any order; each answer is an event
    Wait(reason)     nothing happens until somebody intervenes or submits a turn
    Over(ended)      the debate has ended

The rounds of a debate follow the phases of its setup:

    (opened) -> phase 1 -> phase 2 -> ... -> ballots, judges or the moderator -> Concluded, Ended

A repeating phase takes every remaining round of talk, less one for each later phase of talk. The talk ends
early when a caller concludes it, by the moderator's decision, or by `terminate_when`; the verdict then
follows from what was said. A round with too few answers pauses the debate; resuming calls the missing seats
again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from server.debate.facts.config import CALLER, Phase
from server.debate.facts.events import (
    DefaultPlanUsed,
    EndCause,
    Ended,
    Event,
    Failed,
    HandedOff,
    HandoffFailed,
    Opened,
    Paused,
    PhaseEntered,
    RoundOpened,
    Task,
)
from server.debate.facts.interventions import TalkConcluded
from server.debate.facts.state import Debate, phase_seats
from server.debate.rules.budget import (
    MIN_CALL_SECONDS,
    NO_DEADLINE,
    NO_ELAPSED_TIME,
    UNBOUNDED,
    Deadline,
    ElapsedTime,
    call_deadline,
    compute_remaining,
    compute_time_remaining,
)
from server.debate.rules.quorum import compute_quorum, find_quorum_shortfall
from server.debate.rules.schedule import (
    Slot,
    build_slot_groups,
    current_model,
    final_closing_slots,
    is_open,
    open_slots,
    slot_failures,
)
from server.debate.rules.verdict import build_verdict_events

TerminateWhen = Callable[[Debate], bool]
"""A pure, total predicate, called after each round of talk: whether the talk ends."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one seat's model. Its prompt is rendered when it is made."""

    key: str
    seat: str
    round: int
    slot_index: int
    task: Task
    model: str
    attempt: int  # 2 when the first reply was bad
    seed: int  # derived from the debate's seed and the key
    message_author: str = ""  # the debater whose message the call answers
    seen: int = field(default=1, compare=False)  # the version of the debate that its prompt is rendered from

    @property
    def slot_key(self) -> tuple[str, int]:
        """(seat, slot_index) of the slot that the answer fills."""
        return self.seat, self.slot_index

    @property
    def reading(self) -> int:
        """1 or 2 for a judge, 0 for other seats."""
        return self.slot_index if self.task == "judgment" else 0


@dataclass(frozen=True, slots=True)
class Record:
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    calls: tuple[Call, ...]
    max_in_flight: int = UNBOUNDED  # calls in flight that the budget allows
    deadline: Deadline = NO_DEADLINE


@dataclass(frozen=True, slots=True)
class Wait:
    reason: str


@dataclass(frozen=True, slots=True)
class Over:
    ended: Ended


Step = Record | Ask | Wait | Over


def decide(
    debate: Debate, terminate_when: TerminateWhen | None = None, elapsed: ElapsedTime = NO_ELAPSED_TIME
) -> Step:
    """Return the next step.

    Raises:
        Exception: whatever `terminate_when` raises.
    """
    if debate.ended:
        return Over(debate.ended)
    if debate.paused:
        return Wait(debate.paused.reason)
    if reason := find_quorum_shortfall(debate):
        return Record(events_after_quorum_shortfall(debate, reason, elapsed))
    calls = pending_calls(debate)
    if model_calls := tuple(call for call in calls if call.model != CALLER):
        return plan_calls(debate, model_calls, elapsed)
    if calls:
        return Wait(format_wait_reason(calls))
    return Record(build_fallback_round_plan(debate) or advance(debate, terminate_when))


def events_after_quorum_shortfall(debate: Debate, reason: str, elapsed: ElapsedTime) -> tuple[Event, ...]:
    """What follows where too few seats answered: a pause, or the end where no budget is left to call them."""
    remaining, time = compute_remaining(debate, elapsed), compute_time_remaining(debate, elapsed)
    if not time.calls:
        return events_after_budget_exhausted(debate, time.reason)
    phase = debate.phase
    has_answers = debate.turns if phase is None or phase.is_talk else debate.answered_slots
    if has_answers and not remaining.calls and debate.limits.on_budget == "conclude":
        return events_after_budget_exhausted(debate, remaining.reason)
    return (Paused(cause="quorum", reason=reason),)


def plan_calls(debate: Debate, calls: tuple[Call, ...], elapsed: ElapsedTime) -> Step:
    """Make the calls, as far as budget and time allow."""
    remaining, deadline = compute_remaining(debate, elapsed), call_deadline(debate, elapsed)
    if not remaining.calls:
        return Record(events_after_budget_exhausted(debate, remaining.reason))
    if deadline.seconds_left <= MIN_CALL_SECONDS:
        return Record(build_late_failures(calls, deadline))
    return Ask(calls, remaining.calls, deadline)


def events_after_budget_exhausted(debate: Debate, reason: str) -> tuple[Event, ...]:
    """What follows when no call is left in the budget: the verdict, a pause, or the end."""
    phase = debate.phase
    talking = phase is not None and phase.is_talk and not debate.is_concluding
    extend = Paused(cause="budget", reason=f"{reason}. Extend the limits.")
    if debate.limits.on_budget == "pause":
        or_conclude = Paused(cause="budget", reason=f"{reason}. Extend the limits, or conclude.")
        return (or_conclude if talking and debate.turns else extend,)
    if talking and debate.turns:
        return (TalkConcluded(cause="budget", round=debate.round, reason=reason),)
    if debate.verdict:  # without the deliverable
        return (Ended(ending="concluded", cause="budget", detail=reason),)
    if phase is not None and not phase.is_talk:
        counted, needed = compute_quorum(debate, phase)
        if not needed or any(slot.key in debate.answered_slots for slot in counted):
            return advance(debate, None)  # with the judgments or ballots so far
    truncated = Ended(ending="truncated", cause="budget", detail=reason)
    return (extend if debate.turns else truncated,)  # turns that were paid for can be used with other limits


def is_unattended(debate: Debate) -> bool:
    """Whether the debate runs to its end without being stepped."""
    return debate.setup.run or debate.is_concluding


def build_late_failures(calls: tuple[Call, ...], deadline: Deadline) -> tuple[Event, ...]:
    """Failures of calls that were not made, because the time was over."""
    detail = f"not asked: the {deadline.description} were over"
    return tuple(
        Failed(
            seat=call.seat,
            round=call.round,
            slot_index=call.slot_index,
            cause="late",
            detail=detail,
            attempts=0,
            model=call.model,
            seen=call.seen,
        )
        for call in calls
    )


def status(debate: Debate) -> str:
    """One of running, waiting (for the caller's turn), paused, concluded, truncated."""
    if debate.ended:
        return debate.ended.ending
    if debate.paused:
        return "paused"
    calls = () if find_quorum_shortfall(debate) else pending_calls(debate)
    return "waiting" if calls and all(call.model == CALLER for call in calls) else "running"


def format_wait_reason(calls: tuple[Call, ...]) -> str:
    names = ", ".join(dict.fromkeys(call.seat for call in calls))
    return f"The caller is to write for {names}: call submit_turn."


def pending_calls(debate: Debate) -> tuple[Call, ...]:
    """The calls that are due now."""
    phase = debate.phase
    concluded = debate.is_concluding and phase and phase.is_talk
    slots = final_closing_slots(debate) if concluded else open_slots(debate)
    return tuple(build_call(debate, slot) for slot in slots)


def acceptable_calls(debate: Debate) -> tuple[Call, ...]:
    """The calls whose answers would be accepted now, due or not."""
    slots = dict.fromkeys((*open_slots(debate), *final_closing_slots(debate)))
    return tuple(build_call(debate, slot) for slot in slots)


def build_call(debate: Debate, slot: Slot) -> Call:
    model = current_model(debate, slot.seat)
    attempt = 1 + sum(f.model in ("", model) for f in slot_failures(debate, slot.key))
    place = (slot.seat, slot.index, debate.round)
    # Failures before a resumption and superseded votes count too: a repeated call gets another seed.
    earlier = (*debate.failures, *debate.superseded)
    tries = sum((e.seat, e.slot_index, e.round) == place for e in earlier) + 1
    key = f"{debate.round}.{slot.seat}.{slot.index}.{tries}"
    if lookups := sum((r.seat, r.slot_index, r.round) == place for r in debate.research):
        key += f"+{lookups}"
    seed = int.from_bytes(sha256(f"{debate.setup.seed}:{key}".encode()).digest()[:4]) >> 1
    return Call(
        key,
        slot.seat,
        debate.round,
        slot.index,
        slot.task,
        model,
        attempt,
        seed,
        slot.message_author,
        debate.version,
    )


def is_round_over(debate: Debate) -> bool:
    """Whether this round has all its answers. The last round is over when the debate has ended."""
    phase = debate.phase
    if debate.ended or phase is None:
        return debate.ended is not None
    if (
        debate.paused
        or find_quorum_shortfall(debate)
        or pending_calls(debate)
        or build_fallback_round_plan(debate)
    ):
        return False
    decides = phase.is_judgment or phase.participants == "synthesizer"
    return not decides and next_phase(debate, find_talk_end(debate)) is not None


def build_fallback_round_plan(debate: Debate) -> tuple[Event, ...]:
    """The plan of a round whose moderator failed: everybody speaks as declared."""
    groups = build_slot_groups(debate)
    if not groups or groups[0][0].task != "opening" or debate.round_plan(debate.round):
        return ()
    if debate.is_concluding or is_open(debate, groups[0][0]):
        return ()
    reason = "the moderator gave no usable answer, so everybody speaks as declared"
    return (DefaultPlanUsed(round=debate.round, next_speakers=debate.names, reason=reason),)


class TalkEnd(NamedTuple):
    """Why the talk is over."""

    cause: EndCause
    detail: str = ""


def advance(debate: Debate, terminate_when: TerminateWhen | None) -> tuple[Event, ...]:
    """The events after a finished round: the next round, or the verdict and the end."""
    phase = debate.phase
    if phase is None:
        return (build_phase_entered(debate, debate.setup.phases[0], None),)
    end = find_talk_end(debate, terminate_when)
    following = next_phase(debate, end)
    verdict: tuple[Event, ...] = ()
    if debate.verdict is None and (following is None or following.participants == "synthesizer"):
        verdict = build_verdict_events(debate)
    if following is None:
        cause, detail = end or TalkEnd("phases_held")
        return *verdict, Ended(ending="concluded", cause=cause, detail=detail)
    handed = build_handoff_events(debate) if following.order == "handoff" else ()
    return *verdict, *handed, build_phase_entered(debate, following, end, handed)


def find_talk_end(debate: Debate, terminate_when: TerminateWhen | None = None) -> TalkEnd | None:
    """Why the talk is over after this round; None while it goes on."""
    phase, entered = debate.phase, debate.rounds[-1]
    assert phase is not None
    if entered.because:
        return TalkEnd(entered.because, entered.detail)
    if concluded := debate.find_interventions(TalkConcluded):
        last = concluded[-1]
        return TalkEnd(last.cause, last.reason if last.cause == "budget" else "")
    if phase.is_talk and (cause := find_stop_cause(debate, terminate_when)):
        return TalkEnd(cause)
    here = debate.setup.phases.index(phase)
    more = any(later.is_talk for later in debate.setup.phases[here + 1 :])
    return None if more or next_phase(debate, None) is phase else TalkEnd("phases_held")


def build_phase_entered(
    debate: Debate, phase: Phase, end: TalkEnd | None, handoff_events: tuple[Event, ...] = ()
) -> PhaseEntered:
    number = debate.round + 1
    order = compute_seat_order(debate.setup, phase, number)
    if phase.order == "handoff":
        choices = [fact for fact in (*debate.handoffs, *handoff_events) if isinstance(fact, HandedOff)]
        chosen = [fact.to for fact in choices if fact.round == debate.round]
        order = (*chosen, *debate.names)[:1]
    because, detail = end or ("", "")
    return PhaseEntered(phase=phase.name, round=number, order=order, because=because, detail=detail)


def build_handoff_events(debate: Debate) -> tuple[Event, ...]:
    """The next speaker: chosen by the last one, or drawn from the debate's seed."""
    number = debate.round
    if debate.round_phase(number).order != "handoff" or any(done.round == number for done in debate.handoffs):
        return ()
    (turn,) = debate.round_turns(number)
    if turn.hands_to:
        return (HandedOff(seat=turn.seat, round=number, to=turn.hands_to, because="chosen"),)
    others = [name for name in debate.names if name != turn.seat]
    drawn = min(others, key=lambda name: compute_draw_key(debate.setup, f"handoff:{number}:{name}"))
    problem = f"{turn.no_handoff or 'it named nobody to speak next'}; {drawn} was drawn"
    failed = HandoffFailed(seat=turn.seat, round=number, seen=turn.seen, detail=problem)
    recorded = any(failure.round == number for failure in debate.handoff_failures)
    handed = HandedOff(seat=turn.seat, round=number, to=drawn, because="drawn")
    return (handed,) if recorded else (failed, handed)


def find_stop_cause(debate: Debate, terminate_when: TerminateWhen | None) -> EndCause | None:
    """Why no round of talk follows, in this order of precedence; None where one does."""
    opening, closing = debate.round_plan(debate.round), next(reversed(debate.round_summaries), None)
    causes: dict[EndCause, bool] = {
        "settled": closing is not None and closing.settled,
        "max_turns": 0 < debate.max_turns <= len(debate.turns),
        "max_rounds": debate.talk_round_count >= debate.max_rounds,
        "moderator_done": isinstance(opening, RoundOpened) and opening.done,
    }
    if cause := next((cause for cause, holds in causes.items() if holds), None):
        return cause
    return "terminate_when" if terminate_when and terminate_when(debate) else None


def next_phase(debate: Debate, end: TalkEnd | None) -> Phase | None:
    """The phase of the next round; None after the last."""
    phases, phase = debate.setup.phases, debate.phase
    assert phase is not None
    later = phases[phases.index(phase) + 1 :]
    if end:
        return next((phase for phase in later if not phase.is_talk), None)
    talking = sum(phase.is_talk for phase in later)
    if phase.repeats and debate.talk_round_count + talking < debate.max_rounds:
        return phase
    return next(iter(later), None)


def compute_seat_order(setup: Opened, phase: Phase, round_number: int) -> tuple[str, ...]:
    """The order in which a round is read: as declared, or, where it is written together, drawn from the seed.

    The draw is a hash and not a random generator: every release and every Python draws the same.
    """
    seats = phase_seats(setup, phase)
    if phase.participants != "debaters" or phase.order != "together" or not setup.judges.shuffle:
        return seats
    return tuple(sorted(seats, key=lambda name: compute_draw_key(setup, f"{round_number}:{name}")))


def compute_draw_key(setup: Opened, label: str) -> bytes:
    return sha256(f"{setup.seed}:{label}".encode()).digest()
