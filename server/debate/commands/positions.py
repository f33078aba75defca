"""What debaters stand for: positions that a model proposes, positions in other words, and equal ones."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from server.debate.commands.intervene import Intervention
from server.debate.commands.requests import DebateRequest
from server.debate.facts.config import EMBEDDED, WRITTEN, Framer, Framing, JudgePanel
from server.debate.facts.errors import require, require_length
from server.debate.facts.events import Opened
from server.debate.facts.interventions import PositionsRevised, StanceRevised
from server.debate.facts.labels import label_debaters
from server.debate.facts.state import Debate
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.replies.extract import normalize_name
from server.debate.rules.framing import SIDES, can_revise_positions, revise_positions

MAX_STANCE_LENGTH = 500
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


def build_revision(debate: Debate, stances: Mapping[str, str]) -> Intervention:
    """Put positions that were proposed into other words, before the first round. `stances`: by debater.

    Raises:
        InvalidRequestError: the first round has begun, or these are no positions to debate.
    """
    require(
        can_revise_positions(debate),
        "The positions stand: the first round has begun, or nobody proposed them.",
    )
    given = {name: clean(stance) for name, stance in stances.items()}
    before = {debater.name: debater.stance for debater in debate.setup.debaters}
    changed = {name: given[name] for name in before if given.get(name) and given[name] != before[name]}
    for name, stance in changed.items():
        require_length(f"The position of {name} has", len(stance), MAX_STANCE_LENGTH)
    require(not (problem := find_same_stance((before | changed).items())), problem)
    if not changed:
        return Intervention((), "")
    revised = tuple(StanceRevised(debater=name, stance=stance) for name, stance in changed.items())
    event = PositionsRevised(stances=revised, labels=debate.setup.labels)
    setup = revise_positions(debate.setup, event)
    labels = label_debaters(setup, setup.debaters)
    return Intervention(
        (event.model_copy(update={"labels": labels}),), "The debate is about these positions."
    )
