"""What happens next. `decide` looks only at the debate and answers one of four things.

    Record(events)   nothing to ask anyone: these facts follow
    Ask(calls)       put these questions, in any order; each answer is a fact of its own
    Wait(reason)     nothing will happen until somebody intervenes, or writes the turn awaited
    Over(ended)      nothing will ever happen again

The rounds of a debate, in the terms of its format's phases:

    (opened) -> phase 1 -> phase 2 -> ... -> what decides: ballots, judges, the moderator -> Concluded, Ended

A phase that repeats takes every round of talk that is left, less one for each phase of talk that
follows it. The talk ends early when a caller concludes it, the moderator says so, or `terminate_when`
does; what decides then goes by what is there. A round that too few voices can complete pauses the
debate, and resuming it asks the missing seats again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from server.debate.facts.config import CALLER, SYNTHESIZER, Phase
from server.debate.facts.events import (
    Ended,
    Event,
    Failed,
    HandedOff,
    Intervened,
    Opened,
    Paused,
    PhaseEntered,
    RoundOpened,
    Task,
)
from server.debate.facts.state import Debate, judge_seats
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
"""A pure, total predicate, asked after each round of talk: has enough been said?"""


@dataclass(frozen=True, slots=True)
class Call:
    """A question for one seat's model. Compared by key alone: prompts are rendered when it is put."""

    key: str
    seat: str
    round: int
    slot_index: int
    task: Task
    model: str
    attempt: int  # 2 when the first reply was bad
    seed: int  # drawn from the debate's: the same call is always made with the same one
    message_author: str = ""  # whose message is to be answered

    @property
    def slot_key(self) -> tuple[str, int]:
        """The open place that an answer to this call fills: (seat, number)."""
        return self.seat, self.slot_index

    @property
    def reading(self) -> int:
        """A judge's first or second; 0 for everybody else."""
        return self.slot_index if self.task == "judgment" else 0


@dataclass(frozen=True, slots=True)
class Record:
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    calls: tuple[Call, ...]
    max_in_flight: int = UNBOUNDED  # how many may be on their way together: what the budget leaves room for
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
    """The next step. Raises only what `terminate_when` raises."""
    if debate.ended:
        return Over(debate.ended)
    if debate.paused:
        return Wait(debate.paused.reason)
    if reason := find_quorum_shortfall(debate):
        return Record(events_after_quorum_shortfall(debate, reason, elapsed))
    calls = pending_calls(debate)
    if asked := tuple(call for call in calls if call.model != CALLER):
        return plan_calls(debate, asked, elapsed)
    if calls:
        return Wait(format_wait_reason(calls))
    return Record(build_fallback_round_plan(debate) or advance(debate, terminate_when))


def events_after_quorum_shortfall(debate: Debate, reason: str, elapsed: ElapsedTime) -> tuple[Event, ...]:
    """What follows where too few answered: a pause, or the end where no budget is left to ask again."""
    left, late = compute_remaining(debate, elapsed), compute_time_remaining(debate, elapsed)
    if not late.calls:
        return events_after_budget_exhausted(debate, late.reason)
    phase = debate.phase
    something = debate.turns if phase is None or phase.is_talk else debate.answered_slots
    if something and not left.calls and debate.limits.on_budget == "conclude":
        return events_after_budget_exhausted(debate, left.reason)
    return (Paused(reason=reason),)


def plan_calls(debate: Debate, calls: tuple[Call, ...], elapsed: ElapsedTime) -> Step:
    """To put these questions, as far as there is room and time for them."""
    left, until = compute_remaining(debate, elapsed), call_deadline(debate, elapsed)
    if not left.calls:
        return Record(events_after_budget_exhausted(debate, left.reason))
    return (
        Ask(calls, left.calls, until)
        if until.seconds_left > MIN_CALL_SECONDS
        else Record(build_late_failures(calls, until))
    )


def events_after_budget_exhausted(debate: Debate, reason: str) -> tuple[Event, ...]:
    """What follows where there is no room for another question: it is decided, or the debate pauses."""
    phase = debate.phase
    talking = phase is not None and phase.is_talk and not debate.is_concluding
    if debate.limits.on_budget == "pause":
        told = "Extend the limits, or conclude." if talking and debate.turns else "Extend the limits."
        return (Paused(reason=f"{reason}. {told}"),)
    if talking and debate.turns:
        return (Intervened(action="conclude", round=debate.round, reason=reason),)
    if debate.verdict:
        return (Ended(ending="concluded", reason=reason),)  # without the result that was to be made of it
    if phase is not None and not phase.is_talk:
        counted, needed = compute_quorum(debate, phase)
        if not needed or any(place.key in debate.answered_slots for place in counted):
            return advance(debate, None)  # on the findings, or the ballots, that there are
    if debate.turns:  # what was paid for is not thrown away: whoever comes back can extend the limits
        return (Paused(reason=f"{reason}. Extend the limits."),)
    return (Ended(ending="truncated", reason=reason),)


def is_unattended(debate: Debate) -> bool:
    """Whether it goes on to its end without being stepped: agreed so, or somebody has asked for the end."""
    return debate.setup.run or debate.is_concluding


def build_late_failures(calls: tuple[Call, ...], deadline: Deadline) -> tuple[Event, ...]:
    """That these were not asked, because the time of their round was over."""
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
    """The questions to put now: those whose answers are missing and whose turn it is."""
    phase = debate.phase
    wanted_now = open_slots(debate)
    if debate.is_concluding and phase and phase.is_talk:
        wanted_now = final_closing_slots(debate)
    return tuple(build_call(debate, place) for place in wanted_now)


def acceptable_calls(debate: Debate) -> tuple[Call, ...]:
    """The questions whose answers would be taken now, should they have been put."""
    found = dict.fromkeys((*open_slots(debate), *final_closing_slots(debate)))
    return tuple(build_call(debate, place) for place in found)


def build_call(debate: Debate, slot: Slot) -> Call:
    model = current_model(debate, slot.seat)
    attempt = 1 + sum(f.model in ("", model) for f in slot_failures(debate, slot.key))
    here = (slot.seat, slot.index, debate.round)
    # Failures that were forgiven count too: a seat that is asked again after a pause draws anew.
    tries = sum((f.seat, f.slot_index, f.round) == here for f in debate.failures if not f.handoff) + 1
    key = f"{debate.round}.{slot.seat}.{slot.index}.{tries}"
    if found := sum((r.seat, r.slot_index, r.round) == here for r in debate.research):
        key += f"+{found}"
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
    )


def is_round_over(debate: Debate) -> bool:
    """Whether this round has all the answers it will get. The last round is over with the debate."""
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
    return phase.participants == "debaters" and next_phase(debate, find_talk_end_reason(debate)) is not None


def build_fallback_round_plan(debate: Debate) -> tuple[Event, ...]:
    """What stands in for the choice of a moderator who could make none."""
    groups = build_slot_groups(debate)
    if not groups or groups[0][0].task != "opening" or debate.round_plan(debate.round):
        return ()
    if debate.is_concluding or is_open(debate, groups[0][0]):
        return ()
    because = "the moderator gave no usable answer, so everybody speaks as declared"
    return (RoundOpened(round=debate.round, next_speakers=debate.names, because=because),)


def advance(debate: Debate, terminate_when: TerminateWhen | None) -> tuple[Event, ...]:
    """What follows a finished round: the next one, or the end."""
    phase = debate.phase
    if phase is None:
        return (build_phase_entered(debate, debate.setup.phases[0], ""),)
    reason = find_talk_end_reason(debate, terminate_when)
    following = next_phase(debate, reason)
    verdict: tuple[Event, ...] = ()
    if debate.verdict is None and (following is None or following.participants == "synthesizer"):
        verdict = build_verdict_events(debate)
    if following is None:
        return *verdict, Ended(ending="concluded", reason=reason)
    handed = build_handoff_events(debate) if following.order == "handoff" else ()
    return *verdict, *handed, build_phase_entered(debate, following, reason, handed)


def find_talk_end_reason(debate: Debate, terminate_when: TerminateWhen | None = None) -> str:
    """Why nobody will argue after this round, or ""."""
    phase = debate.phase
    assert phase is not None
    reason = debate.rounds[-1].because or (find_conclude_reason(debate) if debate.is_concluding else "")
    if phase.is_talk and not reason:
        reason = find_stop_reason(debate, terminate_when)
    if reason:
        return reason
    here = debate.setup.phases.index(phase)
    more = any(later.is_talk for later in debate.setup.phases[here + 1 :])
    return "" if more or next_phase(debate, "") is phase else "every phase was held"


def build_phase_entered(
    debate: Debate, phase: Phase, reason: str, handoff_events: tuple[Event, ...] = ()
) -> PhaseEntered:
    number = debate.round + 1
    order = compute_seat_order(debate.setup, phase, number)
    if phase.order == "handoff":
        choices = [fact for fact in (*debate.handoffs, *handoff_events) if isinstance(fact, HandedOff)]
        chosen = [fact.to for fact in choices if fact.round == debate.round]
        order = (*chosen, *debate.names)[:1]
    return PhaseEntered(phase=phase.name, round=number, order=order, because=reason)


def build_handoff_events(debate: Debate) -> tuple[Event, ...]:
    """The choice of the next speaker: as the last one made it, or drawn from the debate's seed."""
    number = debate.round
    if debate.round_phase(number).order != "handoff" or any(done.round == number for done in debate.handoffs):
        return ()
    (turn,) = debate.round_turns(number)
    if turn.hands_to:
        return (HandedOff(seat=turn.seat, round=number, to=turn.hands_to, because="chosen"),)
    others = [name for name in debate.names if name != turn.seat]
    drawn = min(others, key=lambda name: compute_draw_key(debate.setup, f"handoff:{number}:{name}"))
    problem = f"{turn.no_handoff or 'it named nobody to speak next'}; {drawn} was drawn"
    missed = Failed(seat=turn.seat, round=number, cause="unreadable", detail=problem, handoff=True)
    told = any(failure.handoff and failure.round == number for failure in debate.failures)
    handed = HandedOff(seat=turn.seat, round=number, to=drawn, because="drawn")
    return (handed,) if told else (missed, handed)


def find_stop_reason(debate: Debate, terminate_when: TerminateWhen | None) -> str:
    """Why there are no more rounds of talk, or ""; looked for in this order."""
    opening, closing = debate.round_plan(debate.round), next(reversed(debate.round_summaries), None)
    reasons = {
        "settled": closing is not None and closing.settled,
        "max_turns": 0 < debate.max_turns <= len(debate.turns),
        "max_rounds": debate.talk_round_count >= debate.max_rounds,
        "moderator done": opening is not None and opening.done,
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), ""):
        return reason
    return "terminate_when" if terminate_when and terminate_when(debate) else ""


def find_conclude_reason(debate: Debate) -> str:
    """By request, or by a budget, which says so itself."""
    reasons = [made.reason for made in debate.interventions if made.action == "conclude"]
    return reasons[-1] if reasons and reasons[-1].startswith("budget: ") else "concluded on request"


def next_phase(debate: Debate, talk_end_reason: str) -> Phase | None:
    """The phase of the next round; None where there is none."""
    phases, phase = debate.setup.phases, debate.phase
    assert phase is not None
    later = phases[phases.index(phase) + 1 :]
    if talk_end_reason:
        return next((phase for phase in later if not phase.is_talk), None)
    talking = sum(phase.is_talk for phase in later)
    if phase.repeats and debate.talk_round_count + talking < debate.max_rounds:
        return phase
    return next(iter(later), None)


def compute_seat_order(setup: Opened, phase: Phase, round_number: int) -> tuple[str, ...]:
    """The order in which a round is read: as declared, or drawn from the debate's seed.

    Drawn by hash and not by a generator, so that every release and every Python draws the same.
    """
    if phase.participants == "judges":
        return judge_seats(setup)
    if phase.participants == "synthesizer":
        return (SYNTHESIZER,)
    names = tuple(debater.name for debater in setup.debaters)
    if not setup.judges.shuffle:
        return names
    return tuple(sorted(names, key=lambda name: compute_draw_key(setup, f"{round_number}:{name}")))


def compute_draw_key(setup: Opened, label: str) -> bytes:
    return sha256(f"{setup.seed}:{label}".encode()).digest()
