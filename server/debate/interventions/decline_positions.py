"""Stops a debate whose proposed positions the person at the client rejects, when it has cost only one call."""

from server.debate.facts.errors import check, require
from server.debate.facts.interventions import PositionsDeclined
from server.debate.facts.setup.opened import Opened
from server.debate.interventions.action import Action, Change, InterventionRequest
from server.debate.rules.framing import can_revise_positions
from server.debate.state.debate import Debate


class DeclinePositions(Action[PositionsDeclined]):
    name = "decline_positions"
    facts = (PositionsDeclined,)
    is_offered = False  # the person at the client is asked in a form

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        del request
        require(
            can_decline(debate), "Nobody runs this debate, or its first round has begun: pause it instead."
        )
        return [PositionsDeclined()], "The debate goes on only with step_round."

    def apply(self, debate: Debate, fact: PositionsDeclined) -> Debate:
        del fact
        check(can_decline(debate), "nobody runs it, or no positions wait to be confirmed")
        return debate

    def change_setup(self, setup: Opened, fact: PositionsDeclined) -> Opened:
        del fact
        return setup.model_copy(update={"run": False})


def can_decline(debate: Debate) -> bool:
    return can_revise_positions(debate) and debate.setup.run
