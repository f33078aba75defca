"""Lets the debate go on, and asks seats that failed in this round again."""

from server.debate.facts.errors import check, require
from server.debate.facts.events import Resumed
from server.debate.interventions.action import Action, Change, InterventionRequest
from server.debate.rules import pauses
from server.debate.state.debate import Debate, replace


class Resume(Action[Resumed]):
    name = "resume"
    hint = "go on"
    facts = (Resumed,)
    for_hooks = True
    goes_on = True

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        require(debate.paused, "The debate is not paused. Run its next round to go on.")
        later = "with its next round, or at once where answers are on their way"
        moment = "at once" if debate.is_unattended and not request.is_stepped else later
        return [Resumed()], f"It goes on {moment}; seats that failed in this round are asked again."

    def apply(self, debate: Debate, fact: Resumed) -> Debate:
        del fact
        check(debate.paused is not None, "it is not paused")
        return replace(pauses.go_on(debate), round_failures=(), failed_models=frozenset())
