"""Effort: presets over the options that a caller leaves alone.

    quick      no private ballots, one judge
    standard   private ballots as the format has them, a judge for each of up to three models
    assured    debaters of different families, ballots after every round, up to five judges, a baseline, and a mirror
               before a verdict between different models counts as decided

An option wins over the preset. What a preset chose is part of the set-up, so a fork, or a reader of the record, need
not know the presets of this release.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from server.debate.answer.debates import WHERE_THEY_DIFFER, count_readings, list_reviewers
from server.debate.commands.requests import DebateRequest, OptionsInput
from server.debate.commands.setup.advisors import EXCHANGES, add_answering, choose_advisors
from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.phases import add_last_phases
from server.debate.commands.setup.seats import rank_judges
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import BallotMode, Effort, EffortLevel, PresetOption
from server.debate.facts.setup.seats import AWAITED, EMBEDDED, WRITTEN
from server.debate.facts.text import format_count
from server.debate.state.debate import Debate, name_judge
from server.debate.votes.families import family
from server.debate.votes.voters import verdict_source


@dataclass(frozen=True, slots=True)
class Preset:
    ballots: BallotMode | None  # None: as the format has them
    most_judges: int
    is_thorough: bool = False  # debaters of different families, a mirror before it is decided, a baseline


PRESETS: dict[EffortLevel, Preset] = {
    "quick": Preset(ballots="none", most_judges=1),
    "standard": Preset(ballots=None, most_judges=3),
    "assured": Preset(ballots="rounds", most_judges=5, is_thorough=True),
}
"""From the least to the most."""


def list_levels(highest: EffortLevel) -> list[EffortLevel]:
    """The levels up to this one, beginning with it."""
    levels = [*PRESETS]
    return levels[levels.index(highest) :: -1]


def list_open_options(request: DebateRequest) -> tuple[PresetOption, ...]:
    """The options that a request leaves to the preset."""
    options, judges = request.options, request.options.judges
    has_stances = not request.debaters or any(debater.stance for debater in request.debaters)
    is_open: dict[PresetOption, bool] = {
        "debaters": not all(debater.model for debater in request.debaters) or not request.debaters,
        "ballots": has_stances and not asks_for_ballots(options),  # no role is a right answer
        "stop": options.stop is None,
        "judges": judges is None or not (judges.count or judges.models),
        "mirror": "mirror" not in options.model_fields_set,
        "baseline": "baseline" not in options.model_fields_set,
    }
    return tuple(name for name, holds in is_open.items() if holds)


def asks_for_ballots(options: OptionsInput) -> bool:
    """Whether a request asks for ballots, or for something that needs them."""
    is_needed = options.stop == "on" or options.challenges == "challenge"
    is_needed = is_needed or any(phase.until == "convergence" for phase in options.phases)
    return bool(options.ballots) or is_needed


def build_effort(request: DebateRequest, level: EffortLevel, models: Iterable[str]) -> Effort:
    """The effort of a request. `models`: the candidates for its seats, without their prices."""
    candidates = tuple(Price(model=model) for model in dict.fromkeys(models))
    return Effort(level=level, open=list_open_options(request), models=candidates)


def mix_families(models: Sequence[str]) -> list[str]:
    """The models, reordered so that as many families as possible come first."""
    by_family: dict[str, list[str]] = {}
    for model in models:
        by_family.setdefault(family(model), []).append(model)
    return [model for row in zip_longest(*by_family.values()) for model in row if model is not None]


def apply_effort(setup: Opened, level: EffortLevel) -> Opened:
    """The set-up with the preset's choice for the options left to it."""
    effort, preset = setup.effort, PRESETS[level]
    row = FORMATS.get(setup.format)
    if effort is None or row is None:
        return setup
    if setup.answering:
        usual = setup.max_rounds == EXCHANGES[effort.level]
        setup_at_level = setup.model_copy(update={"max_rounds": EXCHANGES[level]}) if usual else setup
        candidates = [price.model for price in effort.models]
        if setup.debaters == choose_advisors(candidates, effort.level):  # not named
            setup_at_level = setup_at_level.model_copy(
                update={"debaters": choose_advisors(candidates, level)}
            )
        return add_answering(setup_at_level, row, setup.answering.mine, level)
    changes: dict[str, Any] = {"effort": effort.model_copy(update={"level": level})}
    ballots, debating = setup.ballots, [debater.model for debater in setup.debaters]
    if "ballots" in effort.open:
        ballots = preset.ballots or row.ballots
        ballots = "none" if {*debating} == {EMBEDDED} else ballots  # its ballots mean nothing
        changes["ballots"] = ballots
    if "stop" in effort.open:
        changes["stop"] = "off" if ballots == "none" else row.stop
    if "judges" in effort.open and setup.judges.models:
        of_team = setup.team and setup.team.judges
        judges_by_rank = of_team or rank_judges((price.model for price in effort.models), debating)
        audience = [judges_by_rank[index % len(judges_by_rank)] for index in range(row.default_judges)]
        models = tuple(audience or judges_by_rank[: preset.most_judges])
        changes["judges"] = setup.judges.model_copy(update={"models": models})
    has_baseline = any(phase.is_baseline for phase in setup.phases)
    if "baseline" in effort.open:
        has_baseline = preset.is_thorough and can_have_baseline(setup)
    if "mirror" in effort.open:
        panel = changes.get("judges", setup.judges)
        by_models = AWAITED.isdisjoint((*debating, *panel.models)) and {*panel.models} != {EMBEDDED}
        can_mirror = verdict_source(setup) == "judges" and by_models
        changes["mirror"] = "if_decided" if preset.is_thorough and can_mirror else "off"
    other_phases = [phase for phase in setup.phases if not (phase.is_private or phase.is_baseline)]
    changes["phases"] = add_last_phases(
        other_phases, has_ballots=ballots != "none", has_baseline=has_baseline
    )
    return setup.model_copy(update=changes)


def can_have_baseline(setup: Opened) -> bool:
    """Whether the verdict could be compared with a vote of the debaters' models."""
    is_voted = any(phase.is_judgment or phase.is_vote for phase in setup.phases)
    return is_voted and any(debater.model not in (*WRITTEN, EMBEDDED) for debater in setup.debaters)


def describe_effort(setup: Opened) -> str:
    """The level and what it chose, in a sentence or two; "" for a debate recorded without levels."""
    effort = setup.effort
    if effort is None:
        return ""
    choices = []
    if setup.answering:
        choices = describe_advice_effort(setup)
    elif "ballots" in effort.open:
        kinds = {
            "none": "no private ballots",
            "blind": "blind ballots before and after",
            "rounds": "ballots each round",
        }
        choices.append(kinds[setup.ballots])
    if "judges" in effort.open and not setup.answering and (models := setup.judges.models):
        choices.append(f"{format_count(len(models), name_judge(setup))} ({', '.join(dict.fromkeys(models))})")
    if "mirror" in effort.open and setup.mirror != "off":
        choices.append("a mirror before it counts as decided")
    if "baseline" in effort.open and any(phase.is_baseline for phase in setup.phases):
        choices.append("a blind vote for as many tokens")
    instead = f" The limits do not pay for {effort.instead_of}." if effort.instead_of else ""
    return f"Effort {effort.level}{': ' if choices else ''}{', '.join(choices)}.{instead}"


def describe_advice_effort(setup: Opened) -> list[str]:
    """The choices of the effort in the answer format."""
    debate = Debate(setup)
    reviews = len(list_reviewers(debate)) * count_readings(debate)
    choices = [
        "1 answer" if len(setup.debaters) == 1 else f"{len(setup.debaters)} answers",
        *(["1 review" if reviews == 1 else f"{reviews} reviews"] if reviews else []),
    ]
    tasks = {phase.wants for phase in setup.phases} - ({"exchange"} if not setup.max_rounds else set())
    names = {"exchange": "an exchange", "report": "a report"}
    if unsure := [names[task] for task in WHERE_THEY_DIFFER if task in tasks]:
        choices.append(f"{' and '.join(unsure)} where they differ")
    return [*choices, *(["a check"] if "check" in tasks else [])]
