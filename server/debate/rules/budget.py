"""What a debate may spend, what it has spent, and how many more questions that leaves room for.

Budgets are hard: they are looked at before each question, with those that are on their way counted, and
what deciding will take is kept back from the talk. What a question will take is estimated from the record
it quotes and from the answers so far; a price that is unknown is never taken for nothing.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from server.debate.facts.config import CALLER, Limits, Price
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Opened
from server.debate.facts.state import Debate, phase_seats
from server.debate.facts.text import format_count
from server.debate.rules.schedule import judge_slots, verdict_source

CHARACTERS_PER_TOKEN = 4
PROMPT_OVERHEAD_TOKENS = 700
"""About what every prompt begins and ends with."""

DEFAULT_OUTPUT_TOKENS = 400
"""Tokens, while there are no answers to go by."""

VERDICT_TIME_SHARE = Decimal("0.2")
"""Of `max_seconds`, kept back from the talk."""

MIN_CALL_SECONDS = 0.1
"""Seconds. With less than that nothing is asked: it could not be answered, and clocks disagree."""

UNBOUNDED = 1_000_000


@dataclass(frozen=True, slots=True)
class ElapsedTime:
    """Seconds. The core has no clock: who runs a debate says how late it is."""

    debate_seconds: float = 0.0  # since it was opened
    round_seconds: float = 0.0  # since this round was begun, or taken up again


NO_ELAPSED_TIME = ElapsedTime()


@dataclass(frozen=True, slots=True)
class Deadline:
    """How many seconds answers may still take, and whose time it is that is over then."""

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
    """How many questions may be on their way or put, and which limit says so."""

    calls: int
    reason: str = ""


def compute_spending(debate: Debate) -> Spending:
    """What was spent. An answer whose tokens nobody counted is taken for one of the usual size and price."""
    used = [usage for usage in debate.usage if usage.model != CALLER]
    own = [failure for failure in debate.failures if failure.round > debate.setup.forked_at_round]
    unanswered = [failure.attempts for failure in own if failure.usage is None]
    uncounted = [usage for usage in used if not (usage.input_tokens or usage.output_tokens)]
    tokens = estimate_next_call(debate) if uncounted else (0, 0)
    unpriced = len([usage for usage in uncounted if not usage.cost_usd])
    return Spending(
        calls=sum(usage.attempts for usage in used) + sum(unanswered),
        input_tokens=sum(usage.input_tokens for usage in used) + len(uncounted) * tokens[0],
        output_tokens=sum(usage.output_tokens for usage in used) + len(uncounted) * tokens[1],
        cost_usd=sum((Decimal(usage.cost_usd or 0) for usage in used), Decimal(0))
        + unpriced * compute_max_call_cost(debate, tokens),
    )


def reserved_for_verdict(debate: Debate) -> int:
    """The questions that deciding will take, in phases that are still to come."""
    setup, phase = debate.setup, debate.phase
    here = setup.phases.index(phase) if phase else -1
    later = setup.phases[here + 1 :]
    calls = sum(len(judge_slots(setup)) for coming in later if coming.is_judgment)
    calls += sum(coming.participants == "synthesizer" for coming in later)
    calls += sum(len(phase_seats(setup, coming)) for coming in later if coming.wants == "ballot")
    return calls + (verdict_source(setup) == "moderator" and not debate.is_concluding)


def estimate_next_call(debate: Debate) -> tuple[int, int]:
    """(input, output) tokens that one more question takes, by the record it quotes and the answers so far."""
    setup = debate.setup
    texts = [setup.question, *(document.text for document in setup.documents)]
    texts += [turn.text for turn in debate.turns]
    asked = sum(map(len, texts)) // CHARACTERS_PER_TOKEN + PROMPT_OVERHEAD_TOKENS
    answers = [usage.output_tokens for usage in debate.usage if usage.output_tokens]
    return asked, max(sum(answers) // len(answers), 1) if answers else DEFAULT_OUTPUT_TOKENS


def compute_max_call_cost(debate: Debate, tokens: tuple[int, int]) -> Decimal:
    """What a question costs at most: asked of the dearest of the models."""
    costs = [
        Decimal(price.input) * tokens[0] + Decimal(price.output) * tokens[1]
        for price in debate.prices
        if price.input
    ]
    return max(costs, default=Decimal(0))


def check_prices_known(limits: Limits, models: Iterable[str], prices: Iterable[Price]) -> None:
    """A cost limit needs the price of every model: an unknown price is not zero.

    Raises:
        InvalidRequestError: a price is unknown, and the cost is limited.
    """
    known = {price.model for price in prices if price.input}
    unknown = [model for model in dict.fromkeys(models) if model not in known]
    if limits.max_cost_usd and unknown:
        raise InvalidRequestError(
            f"max_cost_usd cannot be held: the price of {', '.join(unknown)} is unknown, and unknown is not "
            "free. Give it in the setting `prices`, choose another model, or limit calls and tokens instead."
        )


def compute_remaining(debate: Debate, elapsed: ElapsedTime = NO_ELAPSED_TIME) -> Remaining:
    """How many questions there is room for."""
    limits = debate.limits
    if not limits.has_budget:
        return Remaining(UNBOUNDED)
    used = compute_spending(debate)
    kept, tokens = reserved_for_verdict(debate), estimate_next_call(debate)
    bounds = [
        compute_limit_remaining("calls", limits.max_calls, used.calls, 1, kept),
        compute_limit_remaining("input tokens", limits.max_input_tokens, used.input_tokens, tokens[0], kept),
        compute_limit_remaining(
            "output tokens", limits.max_output_tokens, used.output_tokens, tokens[1], kept
        ),
        compute_limit_remaining(
            "US dollars", limits.max_cost_usd, used.cost_usd, compute_max_call_cost(debate, tokens), kept
        ),
        compute_time_remaining(debate, elapsed),
    ]
    return min(bounds, key=lambda one: one.calls)


def compute_limit_remaining(
    unit: str, limit: int | str, used: int | Decimal, per_call: int | Decimal, reserved: int
) -> Remaining:
    """How many questions of this size one limit leaves room for, what is kept back taken off."""
    allowed = Decimal(limit or 0)
    if not allowed:
        return Remaining(UNBOUNDED)
    told = f"budget: {used} of {allowed} {unit} spent"
    if reserved:
        told += f", and {format_count(reserved, 'question')} kept back for deciding"
    if not per_call:
        return Remaining(UNBOUNDED if used < allowed else 0, told)
    return Remaining(max(int((allowed - used) / per_call) - reserved, 0), told)


def compute_time_remaining(debate: Debate, elapsed: ElapsedTime) -> Remaining:
    left = debate_deadline(debate, elapsed).seconds_left > MIN_CALL_SECONDS
    told = f"budget: {int(elapsed.debate_seconds)} of {debate.limits.max_seconds} seconds spent"
    return Remaining(UNBOUNDED if left else 0, told)


def debate_deadline(debate: Debate, elapsed: ElapsedTime) -> Deadline:
    """When the time of the debate is over; while there is talk, when that of the talk is."""
    most = debate.limits.max_seconds
    if not most:
        return NO_DEADLINE
    talking = debate.phase is not None and debate.phase.is_talk and not debate.is_concluding
    share = float(most * (1 - VERDICT_TIME_SHARE)) if talking else float(most)
    return Deadline(share - elapsed.debate_seconds, f"{share:g} s of the {'talk' if talking else 'debate'}")


def call_deadline(debate: Debate, elapsed: ElapsedTime) -> Deadline:
    """When an answer of this round is too late."""
    most = debate.limits.round_timeout
    of_round = Deadline(most - elapsed.round_seconds, f"{most} s of the round") if most else NO_DEADLINE
    return min(of_round, debate_deadline(debate, elapsed), key=lambda one: one.seconds_left)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a whole debate will take, from little to much. Costs are "" where a price is unknown."""

    calls: int
    input_tokens: tuple[int, int]
    output_tokens: tuple[int, int]
    cost_usd: tuple[str, str]


def count_expected_calls(debate: Debate) -> int:
    """How many answers the whole debate has, if none fails and the talk does not end early."""
    setup = debate.setup
    seats = len(setup.debaters)
    turns = debate.max_turns or debate.max_rounds * seats
    answers = 0 if debate.max_turns else seats * sum(phase.wants == "message" for phase in setup.phases)
    leading = setup.moderator.opens + setup.moderator.closes if setup.moderator else 0
    each_round = leading + (setup.referee is not None)
    deciding = reserved_for_verdict(Debate(setup)) - (verdict_source(setup) == "moderator")
    return turns + answers + each_round * debate.max_rounds + deciding


def estimate(setup: Opened) -> Estimate:
    """By rounds and seats: answers of 100 to 400 tokens, prompts that grow with what was said."""
    debate = Debate(setup)
    calls = count_expected_calls(debate)
    first, _ = estimate_next_call(debate)
    low, high = ((calls * first + answer * calls * calls // 2, answer * calls) for answer in (100, 400))
    return Estimate(
        calls, (low[0], high[0]), (low[1], high[1]), (estimate_cost(setup, low), estimate_cost(setup, high))
    )


def estimate_cost(setup: Opened, tokens: tuple[int, int]) -> str:
    """In dollars, shared among the models as if each were asked alike; "" where a price is unknown."""
    if not setup.prices or any(not price.input for price in setup.prices):
        return ""
    each = [Decimal(p.input) * tokens[0] + Decimal(p.output) * tokens[1] for p in setup.prices]
    return f"{(sum(each, Decimal(0)) / len(each)).quantize(Decimal('0.0001')):f}"
