"""The next step of a debate, from its state alone.

    Record(events)   these events follow without a model call
    Ask(calls)       make these calls, in any order; each answer is an event
    Mirror(id)       open this debate's mirror, or hold it to its end; what it found is an event
    Wait(reason)     nothing happens until somebody intervenes or submits a turn
    Over(ended)      the debate has ended

The rounds of a debate follow the phases of its setup:

    (opened) -> framing -> phase 1 -> phase 2 -> ... -> ballots, judges or the moderator -> Concluded, Ended

How it goes through them, and why its talk ends, is in `rules.course`. Here is what is due at a moment, in the order of
`find_step`: an end or a pause is kept; too few answers pause the debate; missing answers are asked for; and after a
round that is over comes what `escalation` or `course.advance` return.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from server.debate.ballots.hollow import build_challenge
from server.debate.ballots.waves import is_private_ballot
from server.debate.facts.answers import PredicateLost, PromptFunctionsLost, PromptsComputed
from server.debate.facts.errors import require_length
from server.debate.facts.events import Ended, Event, Paused, PhaseEntered
from server.debate.facts.setup.seats import (
    AWAITED,
    CALLER,
    CLIENT,
    FRAMER,
    HUMAN,
    MAX_PROMPT_LENGTH,
    SeatPrompt,
)
from server.debate.facts.text import clean
from server.debate.machine.transitions import replay
from server.debate.replies.extract import build_failure
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
    count_open_calls,
    find_round_shortfall,
)
from server.debate.rules.caller_code import NO_CODE, CallerCode, PromptFunction, TerminateWhen
from server.debate.rules.calls import Call, due_slots, pending_calls
from server.debate.rules.course import advance, build_budget_end, find_talk_end, next_phase
from server.debate.rules.escalation import Mirror, find_escalation
from server.debate.rules.pauses import (
    NextStep,
    build_fallback_round_plan,
    build_unheard_pause,
    find_breakpoint_pause,
    find_quorum_shortfall,
    find_unheard,
)
from server.debate.state.debate import Debate
from server.debate.state.memo import once
from server.debate.state.seats import current_model, find_seat_prompt, seat_models

WAIT_REASONS = {
    CALLER: "The caller is to write for {}: call submit_turn.",
    HUMAN: "A person is to write for {}: ask for the words, or write them if you are told to, and call submit_turn.",
    CLIENT: "The client's own model is to answer for {}: it is asked while a call of get_verdict or step_round waits.",
}
"""By the model of the seats that are awaited."""


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


Step = Record | Ask | Mirror | Wait | Over


def decide(
    debate: Debate,
    code: CallerCode = NO_CODE,
    elapsed: ElapsedTime = NO_ELAPSED_TIME,
    *,
    asks_client: bool = False,
) -> Step:
    """Return the next step: a pause in place of one that a breakpoint holds back.

    `asks_client`: whether a client is there now whose own model can be asked.

    Raises:
        Exception: whatever the caller's code raises.
        InvalidRequestError: it wrote too long a prompt.
    """
    step = find_step(debate, code, elapsed, asks_client=asks_client)
    match step:
        case Record(events):
            next_step = NextStep(events, 0, elapsed)
        case Ask(calls):
            next_step = NextStep((), len(calls), elapsed)
        case Mirror() | Wait() | Over():
            return step
        case _:
            assert_never(step)
    pause = find_breakpoint_pause(debate, next_step)
    return Record((pause,)) if pause else step


def find_step(  # noqa: PLR0911  (a table of cases)
    debate: Debate, code: CallerCode, elapsed: ElapsedTime, *, asks_client: bool
) -> Step:
    """The next step where no breakpoint holds it back. Raises as `decide`."""
    if debate.ended:
        return Over(debate.ended)
    if debate.paused:
        return Wait(debate.paused.reason)
    if reason := find_quorum_shortfall(debate):
        return Record(events_after_quorum_shortfall(debate, reason, elapsed))
    at_once = build_challenge(debate)
    # A challenge comes before anybody is asked: each answer of the round is to have read it.
    calls = () if at_once else pending_calls(debate)
    if model_calls := tuple(
        call for call in calls if call.model not in AWAITED or (asks_client and call.model == CLIENT)
    ):
        return plan_calls(debate, model_calls, elapsed)
    if calls:
        return Wait(format_wait_reason(calls))
    # Each of these is asked only where those before it have nothing: one step records one consequence.
    events = at_once or build_fallback_round_plan(debate)
    predicate = code.terminate_when
    events = events or build_predicate_lost(debate, predicate)
    escalation = None if events else find_escalation(debate, elapsed)
    if isinstance(escalation, Mirror):
        return escalation
    events = events or ((escalation,) if escalation else advance(debate, predicate))
    events = events_before_round(debate, events[-1], elapsed) or events
    return Record((*events, *build_prompt_events(debate, events, code.prompts)))


def build_prompt_events(
    debate: Debate, events: tuple[Event, ...], functions: Mapping[str, PromptFunction]
) -> tuple[Event, ...]:
    """What the caller's functions write for the round that begins, where it changed, or that they are gone."""
    if not (debate.setup.prompt_functions and isinstance(events[-1], PhaseEntered)):
        return ()
    at = replay(events, debate)
    if not functions:
        return () if debate.prompt_functions_lost else (PromptFunctionsLost(round=at.round),)
    prompts = []
    for seat in seat_models(debate.setup):
        has_own = bool(find_seat_prompt(debate.setup, seat)[0])
        function = functions.get(seat) or (None if has_own or seat == FRAMER else functions.get(""))
        text = clean(function(at, seat)) if function else ""
        advice = "Shorten what its function returns."
        require_length(f"The prompt of {seat} has", len(text), MAX_PROMPT_LENGTH, advice)
        if text != debate.seat_prompts.get(seat, ""):
            prompts.append(SeatPrompt(seat=seat, text=text))
    return (PromptsComputed(round=at.round, prompts=tuple(prompts)),) if prompts else ()


def build_predicate_lost(debate: Debate, terminate_when: TerminateWhen | None) -> tuple[Event, ...]:
    """That nobody can ask the caller's predicate after this round, once for a debate."""
    phase = debate.phase
    is_asked = phase is not None and phase.is_talk and not find_talk_end(debate)
    is_lost = debate.setup.has_predicate and terminate_when is None and debate.predicate_lost is None
    return (PredicateLost(round=debate.round),) if is_lost and is_asked else ()


def events_before_round(debate: Debate, last_event: Event, elapsed: ElapsedTime) -> tuple[Event, ...]:
    """What happens instead of the next round: a debater was never heard, or not all of the round can be paid for."""
    if not isinstance(last_event, PhaseEntered):
        return ()
    if (unheard := find_unheard(debate)) and compute_remaining(debate, elapsed).calls:
        return (build_unheard_pause(debate, unheard),)
    reason = find_round_shortfall(debate, last_event, elapsed)
    return build_budget_end(debate, reason, begins_round=True) if reason else ()


def events_after_quorum_shortfall(debate: Debate, reason: str, elapsed: ElapsedTime) -> tuple[Event, ...]:
    """What follows where too few seats answered: a pause, or the end where no budget is left to call them."""
    remaining, time = compute_remaining(debate, elapsed), compute_time_remaining(debate, elapsed)
    if not time.calls:
        return build_budget_end(debate, time.reason)
    phase = debate.phase
    has_answers = debate.turns if phase is None or phase.is_talk else debate.answered_slots
    if has_answers and not remaining.calls and debate.limits.on_budget == "conclude":
        return build_budget_end(debate, remaining.reason)
    return (Paused(cause="quorum", reason=reason),)


@once
def plan_calls(debate: Debate, calls: tuple[Call, ...], elapsed: ElapsedTime) -> Step:
    """Make the calls, as far as budget and time allow."""
    remaining, deadline = compute_remaining(debate, elapsed), call_deadline(debate, elapsed)
    later = count_open_calls(debate) - len(calls)
    if not remaining.calls or (is_round_planned(debate) and remaining.calls < len(calls) + later):
        return Record(build_budget_end(debate, remaining.reason))
    if deadline.seconds_left <= MIN_CALL_SECONDS:
        return Record(build_late_failures(calls, deadline))
    # Retries of these calls leave the rest of the round its own.
    return Ask(calls, max(remaining.calls - later, min(len(calls), remaining.calls)), deadline)


def is_round_planned(debate: Debate) -> bool:
    """Whether a moderator has chosen the speakers of this round, and none of them was asked yet."""
    if debate.phase is None or debate.round_plan(debate.round) is None:
        return False
    has_failed = any(failure.seat in debate.names for failure in debate.round_failures)
    return not has_failed and not debate.round_turns(debate.round)


def build_late_failures(calls: tuple[Call, ...], deadline: Deadline) -> tuple[Event, ...]:
    """Failures of calls that were not made, because the time was over."""
    detail = f"not asked: the {deadline.description} were over"
    return tuple(build_failure(call, "late", detail, attempts=0) for call in calls)


Status = Literal["ready", "running", "waiting", "paused", "concluded", "truncated"]
"""`ready`: it could go on, and nobody runs it, which the debate itself does not know. `waiting`: for a turn of somebody
at a client."""


@once
def status(debate: Debate) -> Status:
    """How a debate stands; a `running` one may be `ready`."""
    if debate.ended:
        return debate.ended.ending
    if debate.paused:
        return "paused"
    slots = () if find_quorum_shortfall(debate) else due_slots(debate)
    is_waiting = slots and all((slot.model or current_model(debate, slot.seat)) in AWAITED for slot in slots)
    return "waiting" if is_waiting else "running"


def format_wait_reason(calls: tuple[Call, ...]) -> str:
    calls_by_reason = (
        (reason, tuple(call for call in calls if call.model == model))
        for model, reason in WAIT_REASONS.items()
    )
    return " ".join(
        reason.format(format_awaited(calls_of_model))
        for reason, calls_of_model in calls_by_reason
        if calls_of_model
    )


def format_awaited(calls: tuple[Call, ...]) -> str:
    seats = {call.seat: " (a private ballot)" * is_private_ballot(call.slot_index) for call in calls}
    return ", ".join(f"{seat}{suffix}" for seat, suffix in seats.items())


def awaits_client(debate: Debate) -> bool:
    """Whether answers of a client's own model are due."""
    is_due = status(debate) in ("running", "waiting")
    return is_due and any(call.model == CLIENT for call in pending_calls(debate))


def is_round_over(debate: Debate) -> bool:
    """Whether this round has all its answers. The last round is over when the debate has ended."""
    phase = debate.phase
    if debate.ended or phase is None:
        return debate.ended is not None
    is_held = debate.paused or find_quorum_shortfall(debate)
    if is_held or due_slots(debate) or build_fallback_round_plan(debate):
        return False
    decides = phase.is_judgment or phase.participants == "synthesizer"
    return not decides and not find_unheard(debate) and next_phase(debate, find_talk_end(debate)) is not None


def next_round(debate: Debate) -> int:
    """The round under way, or the one after it if it is over."""
    return debate.round if debate.round and not is_round_over(debate) else debate.round + 1
