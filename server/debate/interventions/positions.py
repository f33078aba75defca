"""What whoever confirms the positions that a model proposed can do before the first round: two actions."""

from collections.abc import Iterable
from typing import Literal

from server.debate.facts.errors import check, check_fits, require, require_length
from server.debate.facts.interventions import InterventionFact, PositionsRevised, StanceRevised
from server.debate.facts.setup.opened import Opened
from server.debate.facts.text import clean
from server.debate.interventions.action import Action, Change, InterventionRequest
from server.debate.rules.framing import can_revise_positions, find_revision_problem, revise_positions
from server.debate.state.debate import Debate
from server.debate.state.labels import label_debaters

MAX_STANCE_LENGTH = 500


class RevisePositions(Action[PositionsRevised]):
    """Positions in other words."""

    name = "revise_positions"
    facts = (PositionsRevised,)
    texts = {StanceRevised: {"stance": MAX_STANCE_LENGTH}}
    is_offered = False  # the person at the client is asked in a form

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        can_revise = can_revise_positions(debate)
        require(can_revise, "The positions stand: the first round has begun, or nobody proposed them.")
        stances = {name: clean(stance) for name, stance in request.stances.items()}
        stances_before = {debater.name: debater.stance for debater in debate.setup.debaters}
        new_stances = {
            name: stances[name]
            for name in stances_before
            if stances.get(name) and stances[name] != stances_before[name]
        }
        for name, stance in new_stances.items():
            require_length(f"The position of {name} has", len(stance), MAX_STANCE_LENGTH)
        if not new_stances:
            return [], ""
        revisions = tuple(StanceRevised(debater=name, stance=stance) for name, stance in new_stances.items())
        event = PositionsRevised(stances=revisions, labels=debate.setup.labels)
        setup = revise_positions(debate.setup, event)
        labels = label_debaters(setup, setup.debaters)
        return [event.model_copy(update={"labels": labels})], "The debate is about these positions."

    def rebuild(self, fact: PositionsRevised) -> InterventionRequest:
        stances = {revision.debater: revision.stance for revision in fact.stances}
        return InterventionRequest(stances=stances)

    def apply(self, debate: Debate, fact: PositionsRevised) -> Debate:
        check_fits(find_revision_problem(debate, fact))
        return debate

    def change_setup(self, setup: Opened, fact: PositionsRevised) -> Opened:
        return revise_positions(setup, fact)

    def describe(self, fact: PositionsRevised) -> tuple[str, str]:
        return "", "; ".join(f"{revision.debater}: {revision.stance}" for revision in fact.stances)

    def list_words(self, debate: Debate, fact: PositionsRevised) -> Iterable[str]:
        return (revision.stance for revision in fact.stances)


class PositionsDeclined(InterventionFact):
    """Who was asked to confirm positions wants none of them debated: the debate goes on only where it is stepped."""

    kind: Literal["positions_declined"] = "positions_declined"
    steers = False


class DeclinePositions(Action[PositionsDeclined]):
    """A debate that has cost one call only goes on where it is stepped."""

    name = "decline_positions"
    facts = (PositionsDeclined,)
    is_offered = False  # the person at the client is asked in a form

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        require(
            can_decline(debate), "Nobody runs this debate, or its first round has begun: pause it instead."
        )
        return [PositionsDeclined()], "The debate goes on only with step_round."

    def apply(self, debate: Debate, fact: PositionsDeclined) -> Debate:
        check(can_decline(debate), "nobody runs it, or no positions wait to be confirmed")
        return debate

    def change_setup(self, setup: Opened, fact: PositionsDeclined) -> Opened:
        return setup.model_copy(update={"run": False})


def can_decline(debate: Debate) -> bool:
    return can_revise_positions(debate) and debate.setup.run
