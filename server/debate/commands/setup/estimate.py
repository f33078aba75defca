"""The likely cost of a debate: calls, seconds, tokens and dollars, from its rounds and seats."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from server.debate.answer.debates import list_reviewers
from server.debate.ballots.samples import MOST_SAMPLES
from server.debate.commands.setup.effort import PRESETS, apply_effort
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import EffortLevel
from server.debate.facts.setup.seats import READER, WRITTEN
from server.debate.rules.budget import count_model_seats, estimate_next_call
from server.debate.rules.plan import Wave, plan_waves
from server.debate.rules.sharing import LONG_TOKENS
from server.debate.rules.windows import PROMPT_OVERHEAD_TOKENS, estimate_prompt, estimate_tokens
from server.debate.state.debate import Debate
from server.debate.state.seats import current_model, find_models

ANSWER_TOKENS = (100, 400)
"""Tokens of an answer, at least and at most."""

ADVICE_TOKENS = (200, 600)
"""Tokens of an answer, a review or a report, at least and at most."""

ADVICE_OVERHEAD_TOKENS = 450
"""Approximate size of the fixed parts of a prompt in the answer format."""

VOTE_OVERHEAD_TOKENS = 230
"""Likewise, of a blind vote."""

ANSWER_SECONDS = (3, 20)
"""Seconds that a model takes for an answer, at least and at most."""

BASELINE_STEPS = 3
"""Waves in which the samples of a baseline are asked for."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The likely cost of a debate, as (low, high). Costs in USD are "" if a price is unknown.

    `may_double`: a mirror costs as much again if the judges leave it open.
    """

    calls: int  # the fewest, if the number depends on findings
    caller_turns: int
    seconds: tuple[int, int]
    input_tokens: tuple[int, int]
    output_tokens: tuple[int, int]
    cost_usd: tuple[str, str]
    may_double: bool = False
    most_calls: int = 0  # 0: as many as `calls`


def estimate(debate: Debate) -> Estimate:
    """Estimate from rounds and seats: answers of 100 to 400 tokens in 3 to 20 seconds, and prompts that quote them.

    At least where the first readings of judges leave no doubt, at most where all read again and what they advise of
    their own is compared. A baseline costs as much again. So does a mirror that is held in any case; it has no
    baseline. In the answer format, whose answers are longer: at least if all goes well, at most if they argue as often
    as allowed and all is written again. A fork pays for the rounds that it does not inherit.
    """
    setup = debate.setup
    prompt_tokens, _ = estimate_next_call(Debate(setup))
    answers = ANSWER_TOKENS
    if setup.answering:
        prompt_tokens, answers = (
            prompt_tokens - PROMPT_OVERHEAD_TOKENS + ADVICE_OVERHEAD_TOKENS,
            ADVICE_TOKENS,
        )
    debates = 1 + (setup.mirror == "on")
    has_baseline = any(phase.is_baseline for phase in setup.phases)
    times = debates + has_baseline
    writers = count_model_seats(debate, list_reviewers(debate))  # who reviews writes an answer as well
    calls, caller_turns, steps, tokens, costs = [], [], [], [], []
    for fewest, answer in zip((True, False), answers, strict=True):
        plan = [wave for wave in plan_waves(debate, fewest=fewest) if not wave.is_held]
        waves = [(wave, count) for wave in plan if (count := count_model_seats(debate, wave.seats))]
        number = sum(count for _, count in waves)
        read = sum(count_tokens_read(setup, wave, count, prompt_tokens, answer) for wave, count in waves)
        calls.append(debates * number)
        caller_turns.append(sum(len(wave.seats) for wave in plan) - number)
        steps.append(debates * len(waves) + BASELINE_STEPS * has_baseline)
        tokens.append((times * read, times * (number + writers) * answer))
        costs.append(estimate_cost(debate, tokens[-1], estimate_savings(debate, plan * debates)))
    low, high = tokens
    vote_tokens = prompt_tokens - PROMPT_OVERHEAD_TOKENS + VOTE_OVERHEAD_TOKENS + ANSWER_TOKENS[0]
    samples = min(sum(low) // times // vote_tokens, MOST_SAMPLES) if has_baseline else 0
    fastest, slowest = ANSWER_SECONDS
    return Estimate(
        calls=calls[0] + samples,
        caller_turns=caller_turns[0],
        seconds=(steps[0] * fastest, steps[1] * slowest),
        input_tokens=(low[0], high[0]),
        output_tokens=(low[1], high[1]),
        cost_usd=(costs[0], costs[1]),
        may_double=setup.mirror == "if_decided",
        most_calls=calls[1] + samples if calls[1] > calls[0] else 0,
    )


def count_tokens_read(setup: Opened, wave: Wave, count: int, prompt_tokens: int, answer_tokens: int) -> int:
    """The tokens of so many prompts of a wave. `prompt_tokens`: of one that quotes the documents and no turn."""
    if READER in wave.seats:
        reader, documents = setup.reader, enumerate(setup.documents, start=1)
        texts = [document.text for number, document in documents if reader and reader.has_digest(number)]
        return estimate_tokens(texts) + count * PROMPT_OVERHEAD_TOKENS
    unread = 0 if wave.reads_documents else count_shared_tokens(setup)
    return count * (prompt_tokens + wave.quoted * answer_tokens - unread)


def count_shared_tokens(setup: Opened) -> int:
    """The tokens of the documents as prompts show them, with the question."""
    return estimate_prompt(Debate(setup)) - PROMPT_OVERHEAD_TOKENS


def estimate_savings(debate: Debate, waves: Sequence[Wave]) -> Decimal:
    """USD less than the usual price of the documents, where providers keep them for the next call on a model."""
    shared_tokens = count_shared_tokens(debate.setup)
    if shared_tokens < LONG_TOKENS:
        return Decimal(0)
    readers = Counter(
        current_model(debate, seat)
        for wave in waves
        for seat in wave.seats
        if wave.reads_documents and seat != READER
    )
    saved = Decimal(0)
    for price in debate.prices:
        count = readers[price.model]
        if count > 1 and price.input and price.cached:
            usual, kept, cached = (
                Decimal(amount) for amount in (price.input, price.kept or price.input, price.cached)
            )
            saved += shared_tokens * (count * usual - kept - (count - 1) * cached)
    return saved


def estimate_cost(debate: Debate, tokens: tuple[int, int], savings: Decimal) -> str:
    """USD at the mean price of the models; "" where a price is unknown."""
    prices = [price for price in debate.prices if price.model not in WRITTEN]
    if not prices or any(not price.input for price in prices):
        return ""
    costs = [Decimal(p.input) * tokens[0] + Decimal(p.output) * tokens[1] for p in prices]
    return f"{(sum(costs, Decimal(0)) / len(costs) - savings).quantize(Decimal('0.0001')):f}"


def estimate_levels(setup: Opened) -> dict[EffortLevel, Estimate]:
    """The likely cost at each of the other levels; {} for a fork, whose past is paid."""
    if setup.effort is None or setup.forked_from:
        return {}
    prices_by_model = {price.model: price for price in (*setup.effort.models, *setup.prices)}
    estimates: dict[EffortLevel, Estimate] = {}
    for level in PRESETS:
        if level != setup.effort.level:
            setup_at_level = apply_effort(setup, level)
            prices = tuple(
                prices_by_model[name] for name in find_models(setup_at_level) if name in prices_by_model
            )
            estimates[level] = estimate(Debate(setup_at_level.model_copy(update={"prices": prices})))
    return estimates
