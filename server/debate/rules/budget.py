"""What a debate may spend, what it has spent, and how many more questions that leaves room for.

Budgets are hard: they are looked at before each question, with those that are on their way counted, and
what deciding will take is kept back from the talk. What a question will take is estimated from the record
it quotes and from the answers so far; a price that is unknown is never taken for nothing.
"""

import math
from dataclasses import dataclass
from decimal import Decimal

from server.debate.facts.config import CALLER
from server.debate.facts.events import Opened
from server.debate.facts.state import Debate
from server.debate.facts.text import counted
from server.debate.rules.schedule import decided_by, readings

CHARACTERS_A_TOKEN = 4
RULES_TOKENS = 700
"""About what every prompt begins and ends with."""

USUAL_ANSWER = 400
"""Tokens, while there are no answers to go by."""

DECIDING_SHARE = Decimal("0.2")
"""Of `max_seconds`, kept back from the talk."""

NO_TIME_LEFT = 0.1
"""Seconds. With less than that nothing is asked: it could not be answered, and clocks disagree."""

UNBOUNDED = 1_000_000


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Seconds. The core has no clock: who runs a debate says how late it is."""

    debate: float = 0.0  # since it was opened
    round: float = 0.0  # since this round was begun, or taken up again


AT_ONCE = Elapsed()


@dataclass(frozen=True, slots=True)
class Deadline:
    """How many seconds answers may still take, and whose time it is that is over then."""

    seconds: float = math.inf
    of: str = ""


NO_DEADLINE = Deadline()


@dataclass(frozen=True, slots=True)
class Spent:
    calls: int  # requests to models, retries included
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal  # of the answers whose price is known


@dataclass(frozen=True, slots=True)
class Room:
    """How many questions may be on their way or put, and which limit says so."""

    calls: int
    reason: str = ""


def spent(debate: Debate) -> Spent:
    """What was spent. An answer whose tokens nobody counted is taken for one of the usual size and price."""
    used = [usage for usage in debate.usage if usage.model != CALLER]
    own = [failure for failure in debate.failures if failure.round > debate.setup.forked_at_round]
    # Of a hand-off that could not be used the turn itself is counted, and the caller's are no requests.
    unanswered = [failure.attempts for failure in own if failure.usage is None and not failure.handoff]
    uncounted = [usage for usage in used if not (usage.input_tokens or usage.output_tokens)]
    tokens = a_question(debate) if uncounted else (0, 0)
    unpriced = len([usage for usage in uncounted if not usage.cost_usd])
    return Spent(
        calls=sum(usage.attempts for usage in used) + sum(unanswered),
        input_tokens=sum(usage.input_tokens for usage in used) + len(uncounted) * tokens[0],
        output_tokens=sum(usage.output_tokens for usage in used) + len(uncounted) * tokens[1],
        cost_usd=sum((Decimal(usage.cost_usd or 0) for usage in used), Decimal(0))
        + unpriced * price_of(debate, tokens),
    )


def kept_back(debate: Debate) -> int:
    """The questions that deciding will take, in phases that are still to come."""
    setup, phase = debate.setup, debate.phase
    here = setup.phases.index(phase) if phase else -1
    later = setup.phases[here + 1 :]
    calls = sum(len(readings(setup)) for coming in later if coming.asks == "judges")
    calls += sum(coming.asks == "synthesizer" for coming in later)
    calls += sum(len(setup.debaters) for coming in later if coming.wants == "ballot")
    return calls + (decided_by(setup) == "moderator" and not debate.concluding)


def a_question(debate: Debate) -> tuple[int, int]:
    """(input, output) tokens that one more question takes, by the record it quotes and the answers so far."""
    setup = debate.setup
    texts = [setup.question, *(document.text for document in setup.documents)]
    texts += [turn.text for turn in debate.turns]
    asked = sum(map(len, texts)) // CHARACTERS_A_TOKEN + RULES_TOKENS
    answers = [usage.output_tokens for usage in debate.usage if usage.output_tokens]
    return asked, max(sum(answers) // len(answers), 1) if answers else USUAL_ANSWER


def price_of(debate: Debate, tokens: tuple[int, int]) -> Decimal:
    """What a question costs at most: asked of the dearest of the models."""
    costs = [
        Decimal(price.input) * tokens[0] + Decimal(price.output) * tokens[1]
        for price in debate.prices
        if price.input
    ]
    return max(costs, default=Decimal(0))


def room(debate: Debate, elapsed: Elapsed = AT_ONCE) -> Room:
    """How many questions there is room for."""
    limits = debate.limits
    if not limits.bounding:
        return Room(UNBOUNDED)
    used = spent(debate)
    kept, tokens = kept_back(debate), a_question(debate)
    bounds = [
        bound("calls", limits.max_calls, used.calls, 1, kept),
        bound("input tokens", limits.max_input_tokens, used.input_tokens, tokens[0], kept),
        bound("output tokens", limits.max_output_tokens, used.output_tokens, tokens[1], kept),
        bound("US dollars", limits.max_cost_usd, used.cost_usd, price_of(debate, tokens), kept),
        time_left(debate, elapsed),
    ]
    return min(bounds, key=lambda one: one.calls)


def bound(what: str, most: int | str, used: int | Decimal, each: int | Decimal, kept: int) -> Room:
    """How many questions of this size one limit leaves room for, what is kept back taken off."""
    allowed = Decimal(most or 0)
    if not allowed:
        return Room(UNBOUNDED)
    told = f"budget: {used} of {allowed} {what} spent"
    if kept:
        told += f", and {counted(kept, 'question')} kept back for deciding"
    if not each:
        return Room(UNBOUNDED if used < allowed else 0, told)
    return Room(max(int((allowed - used) / each) - kept, 0), told)


def time_left(debate: Debate, elapsed: Elapsed) -> Room:
    left = budgeted(debate, elapsed).seconds > NO_TIME_LEFT
    told = f"budget: {int(elapsed.debate)} of {debate.limits.max_seconds} seconds spent"
    return Room(UNBOUNDED if left else 0, told)


def budgeted(debate: Debate, elapsed: Elapsed) -> Deadline:
    """When the time of the debate is over; while there is talk, when that of the talk is."""
    most = debate.limits.max_seconds
    if not most:
        return NO_DEADLINE
    talking = debate.phase is not None and debate.phase.is_talk and not debate.concluding
    share = float(most * (1 - DECIDING_SHARE)) if talking else float(most)
    return Deadline(share - elapsed.debate, f"{share:g} s of the {'talk' if talking else 'debate'}")


def deadline(debate: Debate, elapsed: Elapsed) -> Deadline:
    """When an answer of this round is too late."""
    most = debate.limits.round_timeout
    of_round = Deadline(most - elapsed.round, f"{most} s of the round") if most else NO_DEADLINE
    return min(of_round, budgeted(debate, elapsed), key=lambda one: one.seconds)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a whole debate will take, from little to much. Costs are "" where a price is unknown."""

    calls: int
    input_tokens: tuple[int, int]
    output_tokens: tuple[int, int]
    cost_usd: tuple[str, str]


def calls_expected(debate: Debate) -> int:
    """How many answers the whole debate has, if none fails and the talk does not end early."""
    setup = debate.setup
    seats = len(setup.debaters)
    turns = debate.max_turns or debate.max_rounds * seats
    answers = 0 if debate.max_turns else seats * sum(phase.wants == "message" for phase in setup.phases)
    leading = setup.moderator.opens + setup.moderator.closes if setup.moderator else 0
    each_round = leading + (setup.referee is not None)
    deciding = kept_back(Debate(setup)) - (decided_by(setup) == "moderator")
    return turns + answers + each_round * debate.max_rounds + deciding


def estimate(setup: Opened) -> Estimate:
    """By rounds and seats: answers of 100 to 400 tokens, prompts that grow with what was said."""
    debate = Debate(setup)
    calls = calls_expected(debate)
    first, _ = a_question(debate)
    low, high = ((calls * first + answer * calls * calls // 2, answer * calls) for answer in (100, 400))
    return Estimate(calls, (low[0], high[0]), (low[1], high[1]), (cost(setup, low), cost(setup, high)))


def cost(setup: Opened, tokens: tuple[int, int]) -> str:
    """In dollars, shared among the models as if each were asked alike; "" where a price is unknown."""
    if not setup.prices or any(not price.input for price in setup.prices):
        return ""
    each = [Decimal(p.input) * tokens[0] + Decimal(p.output) * tokens[1] for p in setup.prices]
    return f"{(sum(each, Decimal(0)) / len(each)).quantize(Decimal('0.0001')):f}"
