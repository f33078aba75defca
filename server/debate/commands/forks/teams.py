"""The team of a fork: what it keeps of its parent's team, and what is chosen again."""

from collections.abc import Sequence
from fractions import Fraction

from server.debate.commands.forks.changes import apply_changes, were_judges_heard
from server.debate.commands.requests import ChangesInput, JudgesInput, TeamInput
from server.debate.commands.setup.team import MOST_JUDGES, check_drawable
from server.debate.facts.errors import require
from server.debate.facts.setup.seats import WRITTEN
from server.debate.facts.setup.team import Team
from server.debate.state.debate import Debate
from server.debate.votes.teams import TeamRequest


def keep_choice(team: Team | None, changes: ChangesInput) -> Team | None:
    """What a fork keeps of a choice: nothing if debaters get other models, no judges if others are named."""
    if team is None or changes.models:
        return None
    is_named = changes.judges and changes.judges.models
    return team.model_copy(update={"judges": (), "judge_gains": ()}) if is_named else team


def plan_fork_team(
    debate: Debate, at_round: int, changes: ChangesInput, models: Sequence[str]
) -> TeamRequest:
    """The choice for a fork with `changes.team` from these candidates: debaters, and judges that have not judged yet.

    `debate`: as it was after the inherited rounds.

    Models named in changes.models and changes.judges.models stay; so do seats of callers, and a panel with one.

    Raises:
        InvalidRequestError: the team does not fit the debaters, or nobody is left to be chosen.
    """
    team, setup = changes.team or TeamInput(), apply_changes(debate, changes, at_round)
    check_drawable(models, "in changes.models")
    free = list_free_debaters(debate, changes)
    count = len(setup.framer.models) if setup.framer else len(free)
    problem = (
        f"changes.team.size={team.size}, and there are {len(setup.debaters)} debaters: leave the size out."
    )
    require(team.size in (0, count if setup.framer else len(setup.debaters)), problem)
    judges = setup.judges.models
    is_named = bool(changes.judges and changes.judges.models) or not WRITTEN.isdisjoint(judges)
    has_own_panel = not judges or is_named or were_judges_heard(debate, at_round)
    require(count or not has_own_panel, "changes.team: every seat has a model. Leave changes.team out.")
    return TeamRequest(
        candidates=tuple(dict.fromkeys(models)),
        count=count,
        seated=()
        if setup.framer
        else tuple(debater.model for debater in setup.debaters if debater.name not in free),
        judges=0 if has_own_panel else MOST_JUDGES,
        topic=team.topic,
        diversity=Fraction(str(team.diversity)),
    )


def list_free_debaters(debate: Debate, changes: ChangesInput) -> list[str]:
    """The debaters whose models the team provides."""
    names = {*map(str.strip, changes.models)}
    seats = debate.setup.debaters
    return [debater.name for debater in seats if debater.name not in names and debater.model not in WRITTEN]


def add_choice(changes: ChangesInput, team: Team, debate: Debate) -> ChangesInput:
    """The changes with the chosen models."""
    models = dict(zip(list_free_debaters(debate, changes), team.chosen, strict=False)) | changes.models
    judges = changes.judges
    if team.judges:
        requested = judges or JudgesInput()
        count = requested.count or len(debate.setup.judges.models)
        judges = requested.model_copy(update={"models": [*team.judges], "count": count})
    return changes.model_copy(update={"models": models, "judges": judges})
