"""Effort: presets over the options that a caller leaves alone, and what a debate with each of them takes.

    quick      no private ballots, one judge
    standard   private ballots as the format has them, a judge for each of up to three models
    assured    debaters of different families, ballots after every round, up to five judges, a baseline, and a mirror
               where the judges leave it open

Whatever an option says wins over the preset. What a preset chose is a part of the setup, so that a fork, or somebody
who reads the record, need not know the presets of this release.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import Any, assert_never

from server.debate.ballots.samples import MOST_SAMPLES
from server.debate.ballots.waves import MIN_ROUNDS, is_debaters_vote, joins_final_wave
from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.phases import add_last_phases, asks_for_ballots
from server.debate.facts.config import (
    AWAITED,
    EMBEDDED,
    FRAMER,
    MODERATOR,
    REFEREE,
    WRITTEN,
    BallotMode,
    Effort,
    EffortLevel,
    Phase,
    PresetOption,
    Price,
    count_passes,
)
from server.debate.facts.events import Opened
from server.debate.facts.state import Debate, judge_seats
from server.debate.rules.budget import (
    count_expected_answers,
    count_model_seats,
    estimate_next_call,
    list_phase_answers,
)
from server.debate.rules.schedule import expects_closing_round, verdict_source
from server.debate.rules.seats import current_model, find_models, seat_models
from server.debate.rules.windows import PROMPT_OVERHEAD_TOKENS, estimate_tokens
from server.debate.votes.families import family

ANSWER_TOKENS = (100, 400)
"""Tokens of an answer, at least and at most."""

ANSWER_SECONDS = (3, 20)
"""Seconds that a model takes for an answer, at least and at most."""

RIGHT_ALONE = "75 %"
"""How often a finding of one judge was right, of the 61 % of recorded pairs for which it gave one."""

RIGHT_DECIDED = {2: "83 %", 3: "89 %"}
"""How often judges of so many models were right who decided, of the 31 % and 19 % for which they did."""

BASELINE_STEPS = 3
"""Waves in which the samples of a baseline are asked for."""


@dataclass(frozen=True, slots=True)
class Preset:
    ballots: BallotMode | None  # None: as the format has them
    most_judges: int
    is_thorough: bool = (
        False  # with debaters of different families, a mirror if it is contested, and a baseline
    )


PRESETS: dict[EffortLevel, Preset] = {
    "quick": Preset(ballots="none", most_judges=1),
    "standard": Preset(ballots=None, most_judges=3),
    "assured": Preset(ballots="rounds", most_judges=5, is_thorough=True),
}
"""From the least to the most."""


def list_levels(most: EffortLevel) -> list[EffortLevel]:
    """The levels up to this one, beginning with it."""
    levels = [*PRESETS]
    return levels[levels.index(most) :: -1]


def list_open_options(request: DebateRequest) -> tuple[PresetOption, ...]:
    """The options that a request leaves to the preset."""
    options, judges = request.options, request.options.judges
    is_open: dict[PresetOption, bool] = {
        "debaters": not all(debater.model for debater in request.debaters) or not request.debaters,
        "ballots": not asks_for_ballots(options),
        "stop": options.stop is None,
        "judges": judges is None or not (judges.count or judges.models),
        "mirror": "mirror" not in options.model_fields_set,
        "baseline": "baseline" not in options.model_fields_set,
    }
    return tuple(name for name, holds in is_open.items() if holds)


def build_effort(request: DebateRequest, level: EffortLevel, models: Iterable[str]) -> Effort:
    """The effort of a request. `models`: those that its seats are drawn from, without their prices."""
    drawn = tuple(Price(model=model) for model in dict.fromkeys(models))
    return Effort(level=level, open=list_open_options(request), models=drawn)


def mix_families(models: Sequence[str]) -> list[str]:
    """The models in such an order that as many families as possible come first, otherwise as they were."""
    by_family: dict[str, list[str]] = {}
    for model in models:
        by_family.setdefault(family(model), []).append(model)
    return [model for row in zip_longest(*by_family.values()) for model in row if model is not None]


def rank_judges(models: Iterable[str], debating: Iterable[str]) -> list[str]:
    """Models that may judge, each once: those of other families than the debaters' first, the debaters' own last.

    The embedded model, which is too small, and the caller judge where nobody else can, and then alone.
    """
    models, debating = [*models], [*debating]
    free = [model for model in models if model not in debating]
    named = dict.fromkeys((*free, *reversed(models), *debating))
    families = {*map(family, debating)}
    able = [model for model in named if model not in (*WRITTEN, EMBEDDED)]
    able.sort(key=lambda model: (model in debating, family(model) in families))
    return able or [*named][:1]


def apply_effort(setup: Opened, level: EffortLevel) -> Opened:
    """The setup with what the preset chooses of the options that were left to it."""
    effort, preset = setup.effort, PRESETS[level]
    row = FORMATS.get(setup.format)
    if effort is None or row is None:
        return setup
    changes: dict[str, Any] = {"effort": effort.model_copy(update={"level": level})}
    ballots, debating = setup.ballots, [debater.model for debater in setup.debaters]
    if "ballots" in effort.open:
        ballots = preset.ballots or row.ballots
        ballots = "none" if {*debating} == {EMBEDDED} else ballots  # which mean nothing
        changes["ballots"] = ballots
    if "stop" in effort.open:
        changes["stop"] = "off" if ballots == "none" else row.stop
    if "judges" in effort.open and setup.judges.models:
        ranked = rank_judges((price.model for price in effort.models), debating)
        audience = [ranked[index % len(ranked)] for index in range(row.default_judges)]
        models = tuple(audience or ranked[: preset.most_judges])
        changes["judges"] = setup.judges.model_copy(update={"models": models})
    has_baseline = any(phase.is_baseline for phase in setup.phases)
    if "baseline" in effort.open:
        has_baseline = preset.is_thorough and can_have_baseline(setup)
    if "mirror" in effort.open:
        panel = changes.get("judges", setup.judges)
        by_models = AWAITED.isdisjoint((*debating, *panel.models)) and {*panel.models} != {EMBEDDED}
        can_mirror = verdict_source(setup) == "judges" and by_models
        changes["mirror"] = "if_contested" if preset.is_thorough and can_mirror else "off"
    own = [phase for phase in setup.phases if not (phase.is_private or phase.is_baseline)]
    changes["phases"] = add_last_phases(own, has_ballots=ballots != "none", has_baseline=has_baseline)
    return setup.model_copy(update=changes)


def can_have_baseline(setup: Opened) -> bool:
    """Whether a vote of the debaters' models could be compared with the verdict."""
    is_voted = any(phase.is_judgment or phase.is_vote for phase in setup.phases)
    return is_voted and any(debater.model not in (*WRITTEN, EMBEDDED) for debater in setup.debaters)


def describe_effort(setup: Opened) -> str:
    """The level, and what it chose, in a sentence or two; "" for a debate of a release without levels."""
    effort = setup.effort
    if effort is None:
        return ""
    chosen = []
    if "ballots" in effort.open:
        kinds = {
            "none": "no private ballots",
            "blind": "blind ballots before and after",
            "rounds": "ballots each round",
        }
        chosen.append(kinds[setup.ballots])
    if "judges" in effort.open and (models := setup.judges.models):
        count = "1 judge" if len(models) == 1 else f"{len(models)} judges"
        chosen.append(f"{count} ({', '.join(dict.fromkeys(models))})")
    if "mirror" in effort.open and setup.mirror != "off":
        chosen.append("a mirror if judges leave it open")
    if "baseline" in effort.open and any(phase.is_baseline for phase in setup.phases):
        chosen.append("a blind vote for as many tokens")
    instead = f" The limits do not pay for {effort.instead_of}." if effort.instead_of else ""
    return f"Effort {effort.level}{': ' if chosen else ''}{', '.join(chosen)}.{instead}"


def describe_more(debate: Debate) -> str:
    """What more effort or another model would bring to a verdict of little effort, or of one model; "" for others.

    The shares are those of two readings without a record of the judges: where these have one, they do not apply.
    """
    setup, effort = debate.setup, debate.setup.effort
    models = {current_model(debate, seat) for seat in seat_models(setup)} - WRITTEN
    judging = {current_model(debate, judge) for judge in judge_seats(setup)}
    if effort is None or debate.verdict is None or debate.skipped or not judging - WRITTEN - {EMBEDDED}:
        return ""
    applies = setup.judges.both_orders and not (setup.ledger and setup.ledger.standings)
    able = rank_judges(
        (price.model for price in effort.models), (debater.model for debater in setup.debaters)
    )
    most = min(len(able), PRESETS["standard"].most_judges)
    if len(models) == 1:
        told = "More would come of a second model: the errors of one are alike, however often it judges"
        told += (
            f" (right in {RIGHT_ALONE}; two different judges who decide: {RIGHT_DECIDED[2]})"
            if applies
            else ""
        )
    elif effort.level == "quick" and len(judging) == 1 and most > 1:
        told = f"More would come of effort=standard: {most} different judges"
        told += f" (who decide right in {RIGHT_DECIDED[most]}; one in {RIGHT_ALONE})" if applies else ""
    elif effort.level == "quick" and setup.ballots == "none":
        return (
            "More would come of effort=standard: what the models hold in private, before and after the talk."
        )
    else:
        return ""
    recorded = ", on recorded judgments of other models" if applies else ""
    ballots = "; effort=standard also asks what they hold in private" if setup.ballots == "none" else ""
    return f"{told}{recorded}{ballots}."


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
