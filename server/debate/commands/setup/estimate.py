"""What a debate is likely to take: calls, seconds, tokens and dollars, from its rounds and seats."""

from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

from server.debate.ballots.samples import MOST_SAMPLES
from server.debate.ballots.waves import MIN_ROUNDS, is_debaters_vote, joins_final_wave
from server.debate.commands.setup.effort import PRESETS, apply_effort
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import EffortLevel
from server.debate.facts.setup.phases import Phase, count_passes
from server.debate.facts.setup.seats import FRAMER, MODERATOR, REFEREE, WRITTEN
from server.debate.rules.budget import (
    count_expected_answers,
    count_model_seats,
    estimate_next_call,
    list_phase_answers,
)
from server.debate.rules.schedule import expects_closing_round
from server.debate.rules.windows import PROMPT_OVERHEAD_TOKENS, estimate_tokens
from server.debate.state.debate import Debate
from server.debate.state.seats import find_models

ANSWER_TOKENS = (100, 400)
"""Tokens of an answer, at least and at most."""

ANSWER_SECONDS = (3, 20)
"""Seconds that a model takes for an answer, at least and at most."""

BASELINE_STEPS = 3
"""Waves in which the samples of a baseline are asked for."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a debate is likely to take, as (low, high). Costs in USD are "" where a price is unknown.

    `may_double`: as much again is taken if the judges leave it open, for a mirror.
    """

    calls: int
    caller_turns: int
    seconds: tuple[int, int]
    input_tokens: tuple[int, int]
    output_tokens: tuple[int, int]
    cost_usd: tuple[str, str]
    may_double: bool = False


def estimate(debate: Debate) -> Estimate:
    """Estimate from rounds and seats: answers of 100 to 400 tokens in 3 to 20 seconds, and prompts that quote them.

    A baseline takes as much again, and so does a mirror that is asked for whatever the judges find; it has no baseline.
    """
    calls = count_expected_answers(debate, of_models=True)
    caller_turns = count_expected_answers(debate) - calls
    asked = [(count_model_seats(debate, wave.seats), wave.quoted) for wave in plan_waves(debate)]
    steps, quoted = sum(count > 0 for count, _ in asked), sum(count * turns for count, turns in asked)
    first, _ = estimate_next_call(Debate(debate.setup))
    own = calls * first + count_section_tokens(debate.setup, first)
    low, high = ((own + quoted * answer, calls * answer) for answer in ANSWER_TOKENS)
    has_mirror = debate.setup.mirror == "on"
    has_baseline = any(phase.is_baseline for phase in debate.setup.phases)
    samples = min(sum(low) // (first + ANSWER_TOKENS[0]), MOST_SAMPLES) if has_baseline else 0
    calls, steps = (
        (1 + has_mirror) * calls + samples,
        (1 + has_mirror) * steps + BASELINE_STEPS * has_baseline,
    )
    times = 1 + has_mirror + has_baseline
    low, high = ((times * read, times * written) for read, written in (low, high))
    costs = (estimate_cost(debate, low), estimate_cost(debate, high))
    fastest, slowest = ANSWER_SECONDS
    return Estimate(
        calls,
        caller_turns,
        (steps * fastest, steps * slowest),
        (low[0], high[0]),
        (low[1], high[1]),
        costs,
        may_double=debate.setup.mirror == "if_contested",
    )


def count_section_tokens(setup: Opened, usual: int) -> int:
    """What prompts with sections of long documents have beyond as many usual ones, of this many tokens."""
    if setup.reader is None:
        return 0
    read = [each.text for number, each in enumerate(setup.documents, 1) if setup.reader.has_digest(number)]
    return estimate_tokens(read) + len(setup.reader.sections) * (PROMPT_OVERHEAD_TOKENS - usual)


def estimate_cost(debate: Debate, tokens: tuple[int, int]) -> str:
    """USD at the mean price of the models; "" where a price is unknown."""
    prices = [price for price in debate.prices if price.model not in WRITTEN]
    if not prices or any(not price.input for price in prices):
        return ""
    each = [Decimal(p.input) * tokens[0] + Decimal(p.output) * tokens[1] for p in prices]
    return f"{(sum(each, Decimal(0)) / len(each)).quantize(Decimal('0.0001')):f}"


def estimate_levels(setup: Opened) -> dict[EffortLevel, Estimate]:
    """What the debate would take with each of the other levels; {} for a fork, whose past is paid."""
    if setup.effort is None or setup.forked_from:
        return {}
    known = {price.model: price for price in (*setup.effort.models, *setup.prices)}
    found: dict[EffortLevel, Estimate] = {}
    for level in PRESETS:
        if level != setup.effort.level:
            other = apply_effort(setup, level)
            prices = tuple(known[name] for name in find_models(other) if name in known)
            found[level] = estimate(Debate(other.model_copy(update={"prices": prices})))
    return found


@dataclass(frozen=True, slots=True)
class Wave:
    """Answers that are asked for together, and how many turns each prompt quotes."""

    seats: tuple[str, ...]
    quoted: int


def plan_waves(debate: Debate) -> list[Wave]:
    """What is asked for one after the other in the whole debate, if the talk does not end early; no baseline."""
    setup, names = debate.setup, debate.names
    rounds = list_talk_rounds(debate)
    waves = [Wave((FRAMER,), 0)] if setup.framer else []
    waits = (
        setup.skip_if_agreed or not WRITTEN.isdisjoint(find_models(setup)) or rounds[0].order != "together"
    )
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
            Wave(seats, turns) for seats in list_reviewers(debate, number, is_last=number == len(rounds))
        ]
    talk = [setup.phases.index(phase) for phase in setup.phases if phase.is_talk]
    joining = names if joins_final_wave(setup) else ()
    for index, phase in enumerate(setup.phases):
        if not (phase.is_talk or phase.is_baseline):
            seats = (*list_phase_answers(setup, phase), *(joining if index > talk[-1] else ()))
            joining = () if index > talk[-1] else joining
            times = count_passes(setup.phases, phase) if phase.is_vote else 1
            waves += [Wave(seats, turns if index > talk[0] else 0)] * times
    return waves


def list_talk_rounds(debate: Debate) -> list[Phase]:
    """The phase of each round of talk, and the closing round, if the talk does not end early."""
    phases = debate.setup.phases
    talk = [phase for phase in phases if phase.is_talk and not phase.closes_talk]
    free = debate.max_rounds - sum(count_passes(phases, phase) for phase in talk)
    held: list[Phase] = []
    for phase in talk:
        held += [phase] * (count_passes(phases, phase) + (max(free, 0) if phase.repeats else 0))
    closing = [phase for phase in phases if phase.closes_talk and expects_closing_round(debate.setup)]
    return [*held[: debate.max_rounds], *closing]


def list_turn_groups(debate: Debate, phase: Phase) -> list[tuple[str, ...]]:
    """Who speaks together in a round of talk, one group after the other."""
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


def list_reviewers(debate: Debate, number: int, *, is_last: bool) -> list[tuple[str, ...]]:
    """Who is asked after the turns of a round of talk, one group after the other."""
    setup = debate.setup
    ends_by_ballots = setup.stop == "on" and number >= MIN_ROUNDS
    has_ballots = setup.ballots == "rounds" or (setup.ballots == "blind" and ends_by_ballots)
    groups = [debate.names] if has_ballots and not is_last else []
    groups += [(REFEREE,)] if setup.referee else []
    return groups + ([(MODERATOR,)] if setup.moderator and setup.moderator.closes else [])
