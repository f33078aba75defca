"""Budgets: limits, spending, and how many model calls remain.

Limits are hard. They are checked before each round of talk, which has to be paid for as a whole, and before each
call, calls in flight included: failures and answers longer than estimated may cut a round all the same. Calls for the
verdict are reserved. The size of a call is estimated from the texts that its prompt quotes and from the answers so far.
An unknown price is not zero.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from server.debate.answer.debates import (
    count_readings,
    list_reviewers,
)
from server.debate.ballots.waves import (
    joins_final_wave,
    list_blind_voters,
    list_later_voters,
)
from server.debate.facts.escalation import Spent
from server.debate.facts.events import PhaseEntered
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import MODERATOR, WRITTEN
from server.debate.facts.text import format_count
from server.debate.rules.schedule import (
    CLOSING_SLOT,
    is_open,
    open_slots,
    round_slots,
)
from server.debate.rules.windows import estimate_prompt
from server.debate.state.debate import Debate, find_phase, judge_seats, replace
from server.debate.state.memo import once
from server.debate.state.seats import count_framing_calls, current_model, phase_seats
from server.debate.votes.voters import ORDERS, list_first_readings, verdict_source

DEFAULT_OUTPUT_TOKENS = 400
"""Tokens of an answer, as long as there is none to measure."""

VERDICT_TIME_SHARE = Decimal("0.2")
"""The part of `max_seconds` that is reserved for the verdict."""

MIN_CALL_SECONDS = 0.125
"""No call is made unless there is more time: it could not finish, and clocks differ."""

UNBOUNDED = 1_000_000


@dataclass(frozen=True, slots=True)
class ElapsedTime:
    """Seconds, measured by the caller: the core has no clock."""

    debate_seconds: float = 0.0  # since the debate was opened
    round_seconds: float = 0.0  # since the round began or was resumed


NO_ELAPSED_TIME = ElapsedTime()


@dataclass(frozen=True, slots=True)
class Deadline:
    """Seconds left for answers, and which time limit that is."""

    seconds_left: float = math.inf
    description: str = ""


NO_DEADLINE = Deadline()


@dataclass(frozen=True, slots=True)
class Spending:
    calls: int  # requests to models, retries included
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal  # of the answers whose price is known


@dataclass(frozen=True, slots=True)
class Remaining:
    """Number of model calls that may be made or in flight, and the limit that sets it."""

    calls: int
    reason: str = ""


@once
def compute_spending(debate: Debate) -> Spending:
    """What this debate and its mirror spent. Answers without token counts are estimated at the usual size and price."""
    # An answer that was reused, from another debate, has no attempts: nobody was paid for it here.
    usages = [usage for usage in debate.usage if usage.model not in WRITTEN and usage.attempts]
    own_failures = [failure for failure in debate.failures if debate.is_own(failure)]
    unanswered_attempts = [failure.attempts for failure in own_failures if failure.usage is None]
    uncounted_usages = [usage for usage in usages if not (usage.input_tokens or usage.output_tokens)]
    tokens = estimate_next_call(debate) if uncounted_usages else (0, 0)
    mirror_spending = debate.mirror.spent if debate.mirror else Spent()
    unpriced_count = len([usage for usage in uncounted_usages if not usage.cost_usd])
    return Spending(
        calls=sum(usage.attempts for usage in usages) + sum(unanswered_attempts) + mirror_spending.calls,
        input_tokens=sum(usage.input_tokens for usage in usages)
        + len(uncounted_usages) * tokens[0]
        + mirror_spending.input_tokens,
        output_tokens=sum(usage.output_tokens for usage in usages)
        + len(uncounted_usages) * tokens[1]
        + mirror_spending.output_tokens,
        cost_usd=sum(
            (Decimal(usage.cost_usd or 0) for usage in usages), Decimal(mirror_spending.cost_usd or 0)
        )
        + unpriced_count * compute_max_call_cost(debate, tokens),
    )


def count_reserved_calls(debate: Debate, phase: Phase | None = None) -> int:
    """Number of model calls reserved for ballots, judging, synthesis and the moderator's closing.

    `phase`: what comes after it; by default after the phase under way.
    """
    setup, phase = debate.setup, phase or debate.phase
    index = setup.phases.index(phase) if phase else -1
    seats: list[str] = []
    for phase_ahead in setup.phases[index + 1 :]:
        if not phase_ahead.is_talk and (not phase_ahead.is_advice or phase_ahead.wants == "review"):
            seats += list_phase_answers(setup, phase_ahead, fewest=has_one_judge(setup))
    is_closing = debate.is_concluding or open_slots(debate) == (CLOSING_SLOT,)
    is_talk_ahead = index < 0 or any(each.is_talk for each in setup.phases[index:])
    seats += debate.names if is_talk_ahead and joins_final_wave(setup) else []
    seats += [MODERATOR] if verdict_source(setup) == "moderator" and not is_closing else []
    return count_model_seats(debate, seats)


def has_one_judge(setup: Opened) -> bool:
    """Whether nothing is kept back to compare what judges advise: of one judge that is worth no round of talk."""
    return len(judge_seats(setup)) == 1


def list_phase_answers(setup: Opened, phase: Phase, *, fewest: bool = False) -> list[str]:
    """The seats of a phase after the talk or between its rounds, once for each answer; of a baseline none.

    `fewest`: of judges the first readings only, after which none may be in doubt and nothing to compare. Otherwise all
    that they may be asked for.
    """
    if phase.is_baseline:
        return []
    if phase.wants == "review":
        debate = Debate(setup)
        return [*list_reviewers(debate)] * count_readings(debate)
    seats = [*phase_seats(setup, phase)]
    if not phase.is_judgment:
        return seats
    both_orders = setup.judges.both_orders
    if fewest:
        readings = list_first_readings(seats, both_orders=both_orders)
        return [seat for seat, numbers in readings.items() for _ in numbers]
    answers = seats * len(ORDERS) if both_orders else seats
    return [*answers, seats[0]] if len(answers) > 1 else answers


def is_model_seat(debate: Debate, seat: str) -> bool:
    """Whether an answer of the seat is a call: what the caller writes is none."""
    return current_model(debate, seat) not in WRITTEN


def count_open_calls(debate: Debate) -> int:
    """Number of model calls that this round still takes, as far as they are known, without those reserved."""
    is_reserved = verdict_source(debate.setup) == "moderator"
    slots = [slot for slot in round_slots(debate) if is_open(debate, slot)]
    # Alone it is the call that is due, and no longer one to be kept room for.
    if len(slots) > 1 and is_reserved:
        slots = [slot for slot in slots if slot != CLOSING_SLOT]
    return sum(is_model_seat(debate, slot.seat) for slot in slots)


def count_round_calls(debate: Debate, entry: PhaseEntered) -> int:
    """Number of model calls of a round of talk if none fails, without those reserved.

    Where a moderator is to choose the speakers, everybody counts once.
    """
    setup, phase = debate.setup, find_phase(debate.setup, entry.phase)
    speakers = sum(current_model(debate, name) not in WRITTEN for name in entry.order)
    turns = (
        speakers + len(entry.order) if speakers and (phase.wants == "message" or phase.messages) else speakers
    )
    if debate.max_turns:
        turns = min(turns, debate.max_turns - len(debate.turns))
    moderator = setup.moderator
    asks_moderator = moderator is not None and current_model(debate, MODERATOR) not in WRITTEN
    officers = int(asks_moderator and phase.order == "moderated")
    if asks_moderator and moderator and moderator.closes:
        officers += verdict_source(setup) != "moderator"
    in_round = replace(debate, rounds=(*debate.rounds, entry))
    waves = count_model_seats(debate, (*list_blind_voters(in_round), *list_later_voters(in_round)))
    return waves + turns + officers + count_model_seats(debate, list_readers(setup))


def list_readers(setup: Opened) -> list[str]:
    """The seats that read the turns of every round."""
    return [officer.seat for officer in setup.officers]


def count_model_seats(debate: Debate, seats: Iterable[str]) -> int:
    return sum(is_model_seat(debate, seat) for seat in seats)


def estimate_next_call(debate: Debate, turns_ahead: int = 0) -> tuple[int, int]:
    """(input, output) tokens of one more call, from the texts it quotes and the mean of the answers so far.

    `turns_ahead`: how many turns come before it that are not made yet.
    """
    answers = [usage.output_tokens for usage in debate.usage if usage.output_tokens]
    answer_tokens = sum(answers) // len(answers) if answers else DEFAULT_OUTPUT_TOKENS
    return estimate_prompt(debate) + turns_ahead * answer_tokens, answer_tokens


def compute_max_call_cost(debate: Debate, tokens: tuple[int, int]) -> Decimal:
    """USD of a call to the most expensive model."""
    costs = [
        Decimal(price.input) * tokens[0] + Decimal(price.output) * tokens[1]
        for price in debate.prices
        if price.input
    ]
    return max(costs, default=Decimal(0))


def count_tokens_left(debate: Debate, model: str) -> int:
    """How many tokens of an answer of this model the limits still pay for; negative if more was spent."""
    limits, bounds = debate.limits, [UNBOUNDED]
    if limits.max_output_tokens:
        bounds.append(limits.max_output_tokens - compute_spending(debate).output_tokens)
    prices = (Decimal(row.output or 0) for row in debate.prices if row.model == model)
    if limits.max_cost_usd and (price := next(prices, Decimal(0))):
        bounds.append(int((Decimal(limits.max_cost_usd) - compute_spending(debate).cost_usd) / price))
    return min(bounds)


def find_round_shortfall(
    debate: Debate, entry: PhaseEntered, elapsed: ElapsedTime = NO_ELAPSED_TIME, *, calls_before: int = 0
) -> str:
    """Why a round of talk that is to begin cannot be paid for as a whole; "" where it can.

    `calls_before`: the number of calls that are made before it.
    """
    phase = find_phase(debate.setup, entry.phase)
    calls = count_round_calls(debate, entry) if phase.is_talk or phase.wants == "advice" else 0
    remaining = compute_remaining(debate, elapsed, phase, calls) if calls else Remaining(UNBOUNDED)
    if remaining.calls >= calls + calls_before:
        return ""
    too_few = f", too few for the {format_count(calls, 'call')} of another round" if remaining.calls else ""
    return remaining.reason + too_few


def find_first_round(setup: Opened) -> Phase:
    """The phase of the first round that has to be paid for as a whole: of talk, or of answers."""
    return next(phase for phase in setup.phases if phase.is_talk or phase.wants == "advice")


def count_first_calls(debate: Debate, entry: PhaseEntered) -> int:
    """Number of model calls of the smallest debate: those before the first round, its turns, and its verdict."""
    phase = find_phase(debate.setup, entry.phase)
    turns = count_round_calls(debate, entry)
    return count_framing_calls(debate.setup) + turns + count_reserved_calls(debate, phase)


def compute_remaining(
    debate: Debate,
    elapsed: ElapsedTime = NO_ELAPSED_TIME,
    phase: Phase | None = None,
    turns_ahead: int = 0,
) -> Remaining:
    """Number of model calls that the limits still allow.

    `phase`, `turns_ahead`: for a phase that is to begin, as if so many turns had been made in it.
    """
    limits = debate.limits
    if not limits.has_budget:
        return Remaining(UNBOUNDED)
    reserved_calls = count_reserved_calls(debate, phase)
    *expenses, _ = list_expenses(debate, elapsed, turns_ahead)  # time has a deadline instead
    bounds = [compute_limit_remaining(*expense, reserved_calls) for expense in expenses]
    return min(*bounds, compute_time_remaining(debate, elapsed), key=lambda bound: bound.calls)


def find_share_excess(debate: Debate, share: Decimal, calls: int, elapsed: ElapsedTime) -> str:
    """Why so many more calls would take more than a share of a limit; "" where they would not."""
    for unit, limit, amount, per_call in list_expenses(debate, elapsed):
        if limit and amount + calls * per_call > Decimal(limit) * share:
            calls_ahead = format_count(calls, "call")
            return f"{amount} of {limit} {unit} spent, and {calls_ahead} to come: more than {share} of them"
    return ""


class Expense(NamedTuple):
    """What a debate spends of one thing. `limit`: 0 or "" for none."""

    unit: str
    limit: int | str
    spent: int | Decimal
    per_call: int | Decimal


def list_expenses(debate: Debate, elapsed: ElapsedTime, turns_ahead: int = 0) -> tuple[Expense, ...]:
    """Everything that is limited; time last. `turns_ahead`: that the calls to come will quote besides."""
    limits, spending = debate.limits, compute_spending(debate)
    tokens = estimate_next_call(debate, turns_ahead)
    cost = compute_max_call_cost(debate, tokens)
    return (
        Expense("calls", limits.max_calls, spending.calls, 1),
        Expense("input tokens", limits.max_input_tokens, spending.input_tokens, tokens[0]),
        Expense("output tokens", limits.max_output_tokens, spending.output_tokens, tokens[1]),
        Expense("US dollars", limits.max_cost_usd, spending.cost_usd, cost),
        Expense("seconds", limits.max_seconds, int(elapsed.debate_seconds), 0),
    )


def compute_limit_remaining(
    unit: str, limit: int | str, used: int | Decimal, per_call: int | Decimal, reserved_calls: int
) -> Remaining:
    """Number of calls of this size that one limit still allows, without the reserved ones."""
    maximum = Decimal(limit or 0)
    if not maximum:
        return Remaining(UNBOUNDED)
    reason = f"budget: {used} of {maximum} {unit} spent"
    if reserved_calls:
        reason += f", and {format_count(reserved_calls, 'call')} reserved for the verdict"
    if not per_call:
        return Remaining(UNBOUNDED if used < maximum else 0, reason)
    return Remaining(max(int((maximum - used) / per_call) - reserved_calls, 0), reason)


def compute_time_remaining(debate: Debate, elapsed: ElapsedTime) -> Remaining:
    has_time = debate_deadline(debate, elapsed).seconds_left > MIN_CALL_SECONDS
    reason = f"budget: {int(elapsed.debate_seconds)} of {debate.limits.max_seconds} seconds spent"
    return Remaining(UNBOUNDED if has_time else 0, reason)


def debate_deadline(debate: Debate, elapsed: ElapsedTime) -> Deadline:
    """The end of `max_seconds`, or, during the talk, of the part that is not reserved."""
    limit = debate.limits.max_seconds
    if not limit:
        return NO_DEADLINE
    talking = debate.phase is not None and debate.phase.is_talk and not debate.is_concluding
    share = float(limit * (1 - VERDICT_TIME_SHARE)) if talking else float(limit)
    return Deadline(share - elapsed.debate_seconds, f"{share:g} s of the {'talk' if talking else 'debate'}")


def call_deadline(debate: Debate, elapsed: ElapsedTime) -> Deadline:
    """When an answer of this round is late."""
    limit = debate.limits.round_timeout
    round_deadline = (
        Deadline(limit - elapsed.round_seconds, f"{limit} s of the round") if limit else NO_DEADLINE
    )
    return min(round_deadline, debate_deadline(debate, elapsed), key=lambda bound: bound.seconds_left)
