"""Ends the talk; the verdict follows from what was said so far."""

from server.debate.ballots.waves import is_talk_over
from server.debate.facts.errors import require
from server.debate.facts.interventions import TalkConcluded
from server.debate.interventions.action import Action, Change, Inheritance, InterventionRequest
from server.debate.rules import pauses
from server.debate.state.debate import Debate


class Conclude(Action[TalkConcluded]):
    name = "conclude"
    hint = "end the talk and decide now"
    facts = (TalkConcluded,)
    for_hooks = True
    goes_on = True

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        del request
        if debate.mirror_opened and not debate.mirror:
            return [TalkConcluded()], "The verdict follows without the mirror, which makes no more calls."
        require(not is_talk_over(debate), "The talk is over already. The verdict has the finding.")
        advice = "Resume it first." if debate.paused else "Run its next round first."
        require(debate.turns or debate.advice, f"Nobody has spoken yet: there is nothing to judge. {advice}")
        effect = "Answers under way are kept; then the debate ends on what was said."
        return [TalkConcluded()], effect

    def apply(self, debate: Debate, fact: TalkConcluded) -> Debate:
        del fact
        return pauses.go_on(debate)

    def inherit(self, fact: TalkConcluded, fork: Inheritance) -> None:
        """A fork finds its own end."""
        del fact, fork
