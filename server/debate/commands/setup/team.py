"""Teams: which models a request leaves to a choice from candidates, and how many it needs."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice

from server.debate.commands.requests import DebateRequest, TeamInput
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.errors import require
from server.debate.facts.setup.ledger import Team
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import WRITTEN
from server.debate.rules.framing import MAX_POSITIONS
from server.debate.state.seats import find_models
from server.debate.votes.teams import TeamRequest

MOST_JUDGES = 9
"""Judges that are chosen, in order: as many as a panel can have."""

MOST_OTHERS = 26


def plan_team(request: DebateRequest, models: Sequence[str], setup: Opened) -> TeamRequest | None:
    """What to choose from these candidates; None if their order assigns the seats.

    `setup`: the set-up with the candidates in the order given. Without options.team a choice is made only if the
    request names more models than that set-up has seats.

    Raises:
        InvalidRequestError: the team does not fit the debaters, a candidate cannot be chosen, or nobody is left to be.
    """
    team, rows = request.options.team or TeamInput(), request.debaters
    if setup.answering:
        return None
    if request.options.team is None and not (request.models and has_more_models(setup, models)):
        return None
    if request.options.team:
        check_drawable(models)
    elif not WRITTEN.isdisjoint(models):
        return None
    problem = f"options.team.size={team.size}, and there are {len(rows)} debaters: leave the size out."
    require(not (rows and team.size) or team.size == len(rows), problem)
    names, usual = [row.model for row in rows], len(FORMATS[setup.format].default_debaters)
    problem = f"options.team.size={team.size}, and without framing there are {usual} debaters: leave it out."
    require(rows or request.options.framing or team.size in (0, usual), problem)
    free = names.count("") if rows else team.size or usual
    panel = request.options.judges
    has_own_panel = not setup.judges.models or bool(panel and panel.models)
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


def check_drawable(models: Iterable[str]) -> None:
    """Raises InvalidRequestError if a caller is among the candidates."""
    written = ", ".join(sorted(WRITTEN.intersection(models)))
    require(not written, f"{written} cannot be drawn: name it as the `model` of a debater.")


def list_models(request: DebateRequest) -> list[str]:
    """The models that a request names for seats without one; [] for none.

    Raises:
        InvalidRequestError: it names some of them as candidates.
    """
    candidates = request.options.team.candidates if request.options.team else []
    problem = "There are `models` and options.team.candidates: pass the candidates in one of them."
    require(not (candidates and request.models), problem)
    return request.models or candidates


def list_candidates(team: Team) -> tuple[str, ...]:
    return tuple(candidate.model for candidate in team.candidates)


def has_more_models(setup: Opened, models: Iterable[str]) -> bool:
    """Whether a set-up has no seat for some of the models, however many positions are named."""
    models_of_positions = setup.framer.models[:MAX_POSITIONS] if setup.framer else ()
    limited_setup = setup.model_copy(
        update={"framer": setup.framer and setup.framer.model_copy(update={"models": models_of_positions})}
    )
    return not {*find_models(limited_setup)}.issuperset(models)


def order_models(team: Team, request: DebateRequest) -> tuple[str, ...]:
    """The models of a debate in the order in which seats get them: debaters, then judges and officers.

    Models of positions that may still be named come last, so that no other seat takes them first.
    """
    other_models = [model for model in list_candidates(team) if model not in team.chosen]
    free, usual = iter(team.chosen), len(FORMATS[request.format].default_debaters)
    debating = [row.model or next(free) for row in request.debaters] or [*islice(free, usual)]
    return (*debating, *(team.judges or other_models[:MOST_OTHERS]), *free)


def add_team(setup: Opened, team: Team | None) -> Opened:
    """The set-up with the chosen models; positions to be named later get the chosen debaters' models."""
    framer = setup.framer
    if team and framer:
        framer = framer.model_copy(update={"models": team.chosen})
    return setup.model_copy(update={"team": team, "framer": framer})
