"""What debaters stand for: who proposes positions, and which of them are equal."""

from collections.abc import Iterable, Sequence
from typing import Any

from server.debate.commands.requests import DebateRequest
from server.debate.facts.config import EMBEDDED, WRITTEN, Framer, Framing, JudgePanel
from server.debate.facts.events import Opened
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.replies.extract import normalize_name
from server.debate.rules.framing import SIDES

NO_FRAMER = "no model here names them: the embedded model is too small, and a caller names debaters itself"


def build_framing(request: DebateRequest, models: Sequence[str], panel: JudgePanel) -> dict[str, Any]:
    """Who proposes the positions where nobody named debaters, or why nobody does."""
    if request.debaters or not request.options.framing:
        return {}
    for model in (*models, *panel.models):
        if model not in (*WRITTEN, EMBEDDED):
            return {"framer": Framer(model=model, models=tuple(models))}
    return {"framing": Framing(problem=NO_FRAMER)}


def find_same_stance(stances: Iterable[tuple[str, str]]) -> str:
    """Which debaters stand for the same, in a sentence; "" if none do. `stances`: (name, stance) of each."""
    names: dict[str, str] = {}
    for name, stance in stances:
        first = names.setdefault(normalize_name(stance), name)
        if first != name and clean(stance):
            return f'{first} and {name} stand for the same: "{collapse_whitespace(stance)[:100]}".'
    return ""


def describe_framing_problem(setup: Opened) -> str:
    """Why the positions are those of the format although none were named; "" if that is not so."""
    if not (setup.framing and setup.framing.problem):
        return ""
    positions = " and ".join(f'"{debater.stance}"' for debater in setup.debaters[:SIDES])
    return f"The positions are {positions}: {setup.framing.problem}."
