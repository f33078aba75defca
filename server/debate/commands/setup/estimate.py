"""The likely cost of a debate: calls, seconds, tokens and dollars, from its rounds and seats."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import assert_never

from server.debate.answer.debates import count_readings, list_reviewers, needs_writer
from server.debate.ballots.samples import MOST_SAMPLES
from server.debate.ballots.waves import MIN_ROUNDS, is_debaters_vote, joins_final_wave
from server.debate.commands.setup.effort import PRESETS, apply_effort
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import EffortLevel
from server.debate.facts.setup.phases import AdviceTask, Phase, count_passes
from server.debate.facts.setup.seats import (
    CHECKER,
    FRAMER,
    MODERATOR,
    READER,
    SYNTHESIZER,
    WRITER,
    WRITTEN,
)
from server.debate.rules.budget import (
    count_expected_answers,
    count_model_seats,
    estimate_next_call,
    list_phase_answers,
    list_readers,
)
from server.debate.rules.sharing import LONG_TOKENS
from server.debate.rules.windows import PROMPT_OVERHEAD_TOKENS, estimate_prompt, estimate_tokens
from server.debate.state.debate import Debate, find_phase
from server.debate.state.seats import current_model, find_models, list_blind_models

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
    baseline. A fork pays for the rounds that it does not inherit.
    """
    if debate.setup.answering:
        return estimate_advice(debate)
    prompt_tokens, _ = estimate_next_call(Debate(debate.setup))
    section_tokens = count_section_tokens(debate.setup, prompt_tokens)
    has_mirror = debate.setup.mirror == "on"
    has_baseline = any(phase.is_baseline for phase in debate.setup.phases)
    times = 1 + has_mirror + has_baseline
    calls, caller_turns, steps, tokens, savings = [], [], [], [], []
    for fewest, answer in zip((True, False), ANSWER_TOKENS, strict=True):
        plan = plan_waves(debate, fewest=fewest)
        waves, held = ([wave for wave in plan if wave.is_held == is_held] for is_held in (False, True))
        number = count_expected_answers(debate, of_models=True, fewest=fewest)
        number -= sum(count_model_seats(debate, wave.seats) for wave in held)
        counts = [(count_model_seats(debate, wave.seats), wave.quoted) for wave in waves]
        quoted = sum(count * turns for count, turns in counts)
        calls.append((1 + has_mirror) * number)
        answers = count_expected_answers(debate, fewest=fewest) - sum(len(wave.seats) for wave in held)
        caller_turns.append(answers - number)
        steps.append((1 + has_mirror) * sum(count > 0 for count, _ in counts) + BASELINE_STEPS * has_baseline)
        read_tokens = number * prompt_tokens + section_tokens + quoted * answer
        tokens.append((times * read_tokens, times * number * answer))
        savings.append(estimate_savings(debate, [*waves] * (1 + has_mirror)))
    low, high = tokens
    vote_tokens = prompt_tokens - PROMPT_OVERHEAD_TOKENS + VOTE_OVERHEAD_TOKENS + ANSWER_TOKENS[0]
    samples = sum(low) // times // vote_tokens if has_baseline else 0
    samples = min(samples, MOST_SAMPLES)
    fastest, slowest = ANSWER_SECONDS
    return Estimate(
        calls[0] + samples,
        caller_turns[0],
        (steps[0] * fastest, steps[1] * slowest),
        (low[0], high[0]),
        (low[1], high[1]),
        (estimate_cost(debate, low, savings[0]), estimate_cost(debate, high, savings[1])),
        may_double=debate.setup.mirror == "if_decided",
        most_calls=calls[1] + samples if calls[1] > calls[0] else 0,
    )


def estimate_advice(debate: Debate) -> Estimate:
    """For the answer format: if all goes well, and if they argue as often as allowed and all is written again.

    A fork pays for the rounds that it does not inherit.
    """
    setup = debate.setup
    waves = (plan_advice_waves(debate), plan_advice_waves(debate, is_longest=True))
    calls = [sum(count_model_seats(debate, wave.seats) for wave in plan) for plan in waves]
    caller_turns = sum(len(wave.seats) for wave in waves[0]) - calls[0]
    steps = [sum(count_model_seats(debate, wave.seats) > 0 for wave in plan) for plan in waves]
    prompt_tokens = estimate_next_call(Debate(setup))[0] - PROMPT_OVERHEAD_TOKENS + ADVICE_OVERHEAD_TOKENS
    shared_tokens = count_shared_tokens(setup)
    tokens = []
    for plan, number, answer in zip(waves, calls, ADVICE_TOKENS, strict=True):
        quoted_answers = sum(count_model_seats(debate, wave.seats) * wave.quoted for wave in plan)
        material_tokens = number * prompt_tokens + count_section_tokens(setup, prompt_tokens)
        writers = sum(count_model_seats(debate, wave.seats) for wave in plan if not wave.reads_documents)
        material_tokens -= writers * shared_tokens
        # Reviewers write an answer as well.
        written = number + count_model_seats(debate, list_reviewers(debate))
        tokens.append((material_tokens + quoted_answers * answer, written * answer))
    (low_read, low_written), (high_read, high_written) = tokens
    fastest, slowest = ANSWER_SECONDS
    return Estimate(
        calls[0],
        caller_turns,
        (steps[0] * fastest, steps[1] * slowest),
        (low_read, high_read),
        (low_written, high_written),
        (
            estimate_cost(debate, tokens[0], estimate_savings(debate, waves[0])),
            estimate_cost(debate, tokens[1], estimate_savings(debate, waves[1])),
        ),
        most_calls=calls[1],
    )


def count_section_tokens(setup: Opened, usual: int) -> int:
    """How much longer prompts with sections of long documents are than as many usual ones, of this many tokens."""
    if setup.reader is None:
        return 0
    texts = [
        document.text for number, document in enumerate(setup.documents, 1) if setup.reader.has_digest(number)
    ]
    return estimate_tokens(texts) + len(setup.reader.sections) * (PROMPT_OVERHEAD_TOKENS - usual)


def count_shared_tokens(setup: Opened) -> int:
    """The tokens of the documents as prompts show them, with the question."""
    return estimate_prompt(Debate(setup)) - PROMPT_OVERHEAD_TOKENS


def estimate_savings(debate: Debate, waves: Sequence["Wave"]) -> Decimal:
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
                Decimal(one) for one in (price.input, price.kept or price.input, price.cached)
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


@dataclass(frozen=True, slots=True)
class Wave:
    """Answers that are asked for together; `quoted`: how many turns each prompt quotes. `is_held`: a fork has them."""

    seats: tuple[str, ...]
    quoted: int
    reads_documents: bool = True
    is_held: bool = False


def plan_advice_waves(debate: Debate, *, is_longest: bool = False) -> list[Wave]:
    """The waves of the answer format, in order. `is_longest`: with all exchanges, and reports written again."""
    setup, exchanges = debate.setup, debate.max_rounds if is_longest else 0
    answers, reviewers = len(setup.debaters), list_reviewers(debate)
    reviews = reviewers * count_readings(debate)
    report = Wave((WRITER,), answers + len(reviews), reads_documents=False)
    reports = [report] if needs_writer(debate) else []  # of a fork, which has its reviews
    rewrites = [report] if is_longest else []
    waves: dict[AdviceTask, list[Wave]] = {
        "advice": [Wave(debate.names, 0)],
        "review": [Wave(reviews, answers)],
        "exchange": [Wave(reviewers, len(reviewers), reads_documents=False)] * exchanges,
        "report": [report, *rewrites] if is_longest else reports,
        "check": [Wave((CHECKER,), 1), *rewrites],
    }
    wanted = [phase.wants for phase in setup.phases if phase.wants in waves]
    held = [
        debate.round_phase(one.round).wants for one in debate.rounds if one.round <= setup.forked_at_round
    ]
    for task in wanted[: max((wanted.index(task) + 1 for task in wanted if task in held), default=0)]:
        waves[task] = waves[task][held.count(task) :] if task == held[-1] == "exchange" else []
    sections = setup.reader.sections if setup.reader and not held else ()
    digests = [Wave((READER,) * len(sections), 0)] if sections else []
    synthesis = [Wave((SYNTHESIZER,), 1)] if setup.synthesizer else []
    return [*digests, *(wave for task in wanted for wave in waves[task]), *synthesis]


def plan_waves(debate: Debate, *, fewest: bool = False) -> list[Wave]:
    """The waves of the whole debate, in order, if the talk does not end early; without a baseline.

    `fewest`: without second readings of several judges.
    """
    setup, names = debate.setup, debate.names
    if setup.answering:
        return plan_advice_waves(debate, is_longest=True)
    rounds = list_talk_rounds(debate)
    held = [find_phase(setup, one.phase) for one in debate.rounds if one.round <= setup.forked_at_round]
    held_talk = sum(phase.is_talk for phase in held)
    blind = (FRAMER,) * len(list_blind_models(setup))
    waves = [Wave(blind, 0), Wave((FRAMER,), 0)] if setup.framer else []
    waits = not WRITTEN.isdisjoint(find_models(setup)) or rounds[0].order != "together"
    blind = () if setup.ballots == "none" or is_debaters_vote(setup.phases[0]) else names
    if blind and waits:
        waves.append(Wave(blind, 0))
    together = () if waits else blind
    turns = 0
    for number, phase in enumerate(rounds, start=1):
        for group in list_turn_groups(debate, phase):
            waves.append(Wave((*group, *together), turns))
            together = ()
            turns += sum(seat in names for seat in group)
        waves += [
            Wave(seats, turns) for seats in list_round_readers(debate, number, is_last=number == len(rounds))
        ]
        if number == held_talk:
            waves = [replace(wave, is_held=True) for wave in waves]
    talk = [setup.phases.index(phase) for phase in setup.phases if phase.is_talk]
    joining = names if joins_final_wave(setup) else ()
    for index, phase in enumerate(setup.phases):
        if not (phase.is_talk or phase.is_baseline):
            at_once = list_phase_answers(setup, phase, fewest=True)
            seats = (*at_once, *(joining if index > talk[-1] else ()))
            joining = () if index > talk[-1] else joining
            times = count_passes(setup.phases, phase) if phase.is_vote else 1
            quoted = turns if index > talk[0] else 0
            waves += [Wave(seats, quoted, is_held=number < held.count(phase)) for number in range(times)]
            again = [] if fewest else list_phase_answers(setup, phase)[len(at_once) :]
            later = (again[:-1], again[-1:])  # second readings, and what compares advice
            waves += [Wave(tuple(seats), turns, is_held=phase in held) for seats in later if seats]
    return waves


def list_talk_rounds(debate: Debate) -> list[Phase]:
    """The phase of each round of talk, if it does not end early."""
    phases = debate.setup.phases
    talk = [phase for phase in phases if phase.is_talk]
    free = debate.max_rounds - sum(count_passes(phases, phase) for phase in talk)
    rounds: list[Phase] = []
    for phase in talk:
        rounds += [phase] * (count_passes(phases, phase) + (max(free, 0) if phase.repeats else 0))
    return rounds[: debate.max_rounds]


def list_turn_groups(debate: Debate, phase: Phase) -> list[tuple[str, ...]]:
    """Who speaks at once in a round of talk: groups, one after the other."""
    one_by_one: list[tuple[str, ...]] = [(name,) for name in debate.names]
    if phase.wants == "message":
        return [debate.names, debate.names]
    match phase.order:
        case "together":
            return [debate.names]
        case "handoff":
            return one_by_one[:1]
        case "moderated":
            return [(MODERATOR,), *one_by_one]
        case "declared":
            return one_by_one
        case _:
            assert_never(phase.order)


def list_round_readers(debate: Debate, number: int, *, is_last: bool) -> list[tuple[str, ...]]:
    """Who is asked after the turns of a round of talk: groups, one after the other."""
    setup = debate.setup
    ends_by_ballots = setup.stop == "on" and number >= MIN_ROUNDS
    has_ballots = setup.ballots == "rounds" or (setup.ballots == "blind" and ends_by_ballots)
    groups = [debate.names] if has_ballots and not is_last else []
    groups += [tuple(list_readers(setup))] if setup.officers else []
    return groups + ([(MODERATOR,)] if setup.moderator and setup.moderator.closes else [])
