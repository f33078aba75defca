"""Pauses a debate, lets it go on, and ends its talk: three actions."""

from server.debate.ballots.waves import is_talk_over
from server.debate.facts.causes import PAUSED_ON_REQUEST
from server.debate.facts.errors import InvalidRequestError, check, check_fits, require
from server.debate.facts.events import Paused, Resumed
from server.debate.facts.interventions import TalkConcluded
from server.debate.interventions.action import Action, Change, Inheritance, InterventionRequest
from server.debate.rules import pauses
from server.debate.state.debate import Debate, replace


class Pause(Action[Paused]):
    """Nothing more is asked until somebody resumes the debate."""

    name = "pause"
    hint = "ask nothing more for now"
    facts = (Paused,)
    for_hooks = True

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        if debate.paused:
            raise InvalidRequestError(f"The debate is paused already: {debate.paused.reason}")
        effect = "Answers under way are kept; nothing more is asked until it is resumed."
        return [Paused(reason=PAUSED_ON_REQUEST)], effect

    def apply(self, debate: Debate, fact: Paused) -> Debate:
        check_fits(pauses.find_pause_problem(debate, fact))
        return pauses.pause(debate, fact)


class Resume(Action[Resumed]):
    """The debate goes on, and seats that failed in this round are asked again."""

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
        check(debate.paused is not None, "it is not paused")
        return replace(pauses.go_on(debate), round_failures=(), failed_models=frozenset())


class Conclude(Action[TalkConcluded]):
    """The verdict follows from what was said so far."""

    name = "conclude"
    hint = "end the talk and decide now"
    facts = (TalkConcluded,)
    for_hooks = True
    goes_on = True

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        if debate.mirror_opened and not debate.mirror:
            return [TalkConcluded()], "The verdict follows without the mirror, which makes no more calls."
        require(not is_talk_over(debate), "The talk is over already. The verdict has the finding.")
        advice = "Resume it first." if debate.paused else "Run its next round first."
        require(debate.turns or debate.advice, f"Nobody has spoken yet: there is nothing to judge. {advice}")
        return [TalkConcluded()], "Answers under way are kept; then the debate ends on what was said."

    def apply(self, debate: Debate, fact: TalkConcluded) -> Debate:
        return pauses.go_on(debate)

    def inherit(self, fact: TalkConcluded, fork: Inheritance) -> None:
        """A fork finds its own end."""
