"""Effort: presets over the options that a caller leaves alone.

    quick      no private ballots, one judge
    standard   private ballots as the format has them, a judge for each of up to three models
    assured    debaters of different families, ballots after every round, up to five judges, a baseline, and a mirror
               where the judges leave it open

Whatever an option says wins over the preset. What a preset chose is a part of the setup, so that a fork, or somebody
who reads the record, need not know the presets of this release.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.ballots import asks_for_ballots
from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.judges import rank_judges
from server.debate.commands.setup.phases import add_last_phases
from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import BallotMode, Effort, EffortLevel, PresetOption
from server.debate.facts.setup.seats import AWAITED, EMBEDDED, WRITTEN
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.seats import current_model, seat_models
from server.debate.votes.families import family
from server.debate.votes.voters import verdict_source

RIGHT_ALONE = "75 %"
"""How often a finding of one judge was right, of the 61 % of recorded pairs for which it gave one."""

RIGHT_DECIDED = {2: "83 %", 3: "89 %"}
"""How often judges of so many models were right who decided, of the 31 % and 19 % for which they did."""


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
        of_team = setup.team and setup.team.judges
        ranked = of_team or rank_judges((price.model for price in effort.models), debating)
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
