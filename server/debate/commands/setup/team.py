"""Teams: whose models a request leaves to be chosen from candidates, and how many it needs."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice

from server.debate.commands.requests import DebateRequest, TeamInput
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.errors import require
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import WRITTEN
from server.debate.facts.setup.team import Team
from server.debate.rules.framing import MAX_POSITIONS
from server.debate.state.seats import find_models
from server.debate.votes.teams import TeamRequest

MOST_JUDGES = 9
"""Judges that are chosen, in order: as many as a panel can have."""

MOST_OTHERS = 26


def plan_team(request: DebateRequest, models: Sequence[str], planned: Opened) -> TeamRequest | None:
    """What is to be chosen of these candidates; None where their order says who sits where.

    `planned`: the setup with the candidates in the order given. Without options.team somebody is chosen only where
    the request names more models than that setup has seats for.

    Raises:
        InvalidRequestError: the team does not fit the debaters, a candidate cannot be chosen, or nobody is left to be.
    """
    team, rows = request.options.team or TeamInput(), request.debaters
    if request.options.team is None and not (request.models and has_more_models(planned, models)):
        return None
    if request.options.team:
        check_drawable(models, "as the `model` of a debater")
    elif not WRITTEN.isdisjoint(models):
        return None
    problem = f"options.team.size={team.size}, and there are {len(rows)} debaters: leave the size out."
    require(not (rows and team.size) or team.size == len(rows), problem)
    names, usual = [row.model for row in rows], len(FORMATS[request.format].default_debaters)
    problem = f"options.team.size={team.size}, and without framing there are {usual} debaters: leave it out."
    require(rows or request.options.framing or team.size in (0, usual), problem)
    free = names.count("") if rows else team.size or usual
    panel = request.options.judges
    has_own_panel = not planned.judges.models or bool(panel and panel.models)
    problem = "options.team: every seat has a model. Leave options.team out."
    require(request.options.team is None or free or not has_own_panel, problem)
    return TeamRequest(
        candidates=tuple(dict.fromkeys(models)),
        count=free,
        seated=tuple(filter(None, names)),
        judges=0 if has_own_panel else MOST_JUDGES,
        topic=team.topic,
        diversity=Fraction(str(team.diversity)),
    )


def check_drawable(models: Iterable[str], place: str) -> None:
    """Raises InvalidRequestError where a caller is among the candidates. `place`: where it can be named."""
    written = ", ".join(sorted(WRITTEN.intersection(models)))
    require(not written, f"{written} cannot be drawn: name it {place}.")


def list_models(request: DebateRequest) -> list[str]:
    """The models that a request names for seats without one; [] for none.

    Raises:
        InvalidRequestError: it names some of them as candidates.
    """
    candidates = request.options.team.candidates if request.options.team else []
    problem = "There are `models` and options.team.candidates: pass the candidates in one of them."
    require(not (candidates and request.models), problem)
    return request.models or candidates


def list_candidates(team: Team | None) -> tuple[str, ...]:
    return tuple(one.model for one in team.candidates) if team else ()


def has_more_models(planned: Opened, models: Iterable[str]) -> bool:
    """Whether a setup has no seat for some of the models, however many positions are named."""
    framed = planned.framer.models[:MAX_POSITIONS] if planned.framer else ()
    seated = planned.model_copy(
        update={"framer": planned.framer and planned.framer.model_copy(update={"models": framed})}
    )
    return not {*find_models(seated)}.issuperset(models)


def order_models(team: Team, request: DebateRequest) -> tuple[str, ...]:
    """The models of a debate in the order in which seats get them: debaters, then judges and officers.

    Those of positions that may still be named come last, so that nobody else sits there before them.
    """
    left = [model for model in list_candidates(team) if model not in team.chosen]
    free, usual = iter(team.chosen), len(FORMATS[request.format].default_debaters)
    debating = [row.model or next(free) for row in request.debaters] or [*islice(free, usual)]
    return (*debating, *(team.judges or left[:MOST_OTHERS]), *free)


def add_team(setup: Opened, team: Team | None) -> Opened:
    """The setup with the choice of its models; positions that are to be named go to those chosen."""
    framer = setup.framer
    if team and framer:
        framer = framer.model_copy(update={"models": team.chosen})
    return setup.model_copy(update={"team": team, "framer": framer})
