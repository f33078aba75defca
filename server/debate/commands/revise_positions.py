"""Positions that a model proposed, in other words of who was asked to confirm them."""

from collections.abc import Mapping

from server.debate.commands.interventions.actions import Intervention
from server.debate.commands.setup.debaters import find_same_stance
from server.debate.facts.errors import require, require_length
from server.debate.facts.interventions import PositionsRevised, StanceRevised
from server.debate.facts.text import clean
from server.debate.rules.framing import can_revise_positions, revise_positions
from server.debate.state.debate import Debate
from server.debate.state.labels import label_debaters

MAX_STANCE_LENGTH = 500


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
