"""Asks nothing more until somebody resumes the debate."""

from server.debate.facts.causes import PAUSED_ON_REQUEST
from server.debate.facts.errors import InvalidRequestError, check_fits
from server.debate.facts.events import Paused
from server.debate.interventions.action import Action, Change, InterventionRequest
from server.debate.rules import pauses
from server.debate.state.debate import Debate


class Pause(Action[Paused]):
    name = "pause"
    hint = "ask nothing more for now"
    facts = (Paused,)
    for_hooks = True

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        del request
        if debate.paused:
            raise InvalidRequestError(f"The debate is paused already: {debate.paused.reason}")
        effect = "Answers under way are kept; nothing more is asked until it is resumed."
        return [Paused(reason=PAUSED_ON_REQUEST)], effect

    def apply(self, debate: Debate, fact: Paused) -> Debate:
        check_fits(pauses.find_pause_problem(debate, fact))
        return pauses.pause(debate, fact)
