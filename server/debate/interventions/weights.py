"""Changes the weights of votes, and the share that wins: two actions for the same voters."""

from server.debate.commands.setup.voting import build_weights, parse_fraction
from server.debate.facts.errors import require
from server.debate.facts.interventions import ThresholdChanged, WeightsChanged
from server.debate.interventions.action import (
    Action,
    Change,
    Inheritance,
    InterventionRequest,
    check_framed,
    check_known,
)
from server.debate.state.debate import Debate
from server.debate.votes.voters import find_voters


class Weights(Action[WeightsChanged]):
    name = "weights"
    hint = "what each vote counts"
    facts = (WeightsChanged,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        voters = list_uncounted_voters(debate)
        if set(voters) & set(debate.names):
            check_framed(debate)
        require(request.weights, f"Say in `weights` a fraction for each voter. Voters: {', '.join(voters)}.")
        for name in request.weights:
            check_known(name, voters, "Voters")
        weights = build_weights({name: str(value) for name, value in request.weights.items()}, "weights")
        return [WeightsChanged(weights=weights)], "Votes are counted so when the verdict is made."

    def rebuild(self, fact: WeightsChanged) -> InterventionRequest:
        weights = {weight.seat: weight.weight for weight in fact.weights}
        return InterventionRequest(weights=weights)

    def describe(self, fact: WeightsChanged) -> tuple[str, str]:
        return "", ", ".join(f"{weight.seat}: {weight.weight}" for weight in fact.weights)

    def inherit(self, fact: WeightsChanged, fork: Inheritance) -> WeightsChanged | None:
        seats = fork.seats - fork.other_judges
        weights = tuple(weight for weight in fact.weights if weight.seat in seats)
        fact_of_fork = super().inherit(fact, fork)
        return fact_of_fork.model_copy(update={"weights": weights}) if fact_of_fork and weights else None


class Threshold(Action[ThresholdChanged]):
    name = "threshold"
    hint = "the share of votes that wins, such as 2/3"
    facts = (ThresholdChanged,)

    def build(self, debate: Debate, request: InterventionRequest) -> Change:
        list_uncounted_voters(debate)
        share = parse_fraction(request.threshold, "threshold", maximum=1)
        of = "cast votes'" if debate.voting and debate.voting.of == "cast" else "votes'"
        effect = f"A position prevails with {share} of the {of} weight or more, when the verdict is made."
        return [ThresholdChanged(threshold=str(share))], effect

    def rebuild(self, fact: ThresholdChanged) -> InterventionRequest:
        return InterventionRequest(threshold=fact.threshold)

    def describe(self, fact: ThresholdChanged) -> tuple[str, str]:
        return "", fact.threshold


def list_uncounted_voters(debate: Debate) -> tuple[str, ...]:
    """The seats whose votes make the verdict, as long as these are not counted."""
    voters = find_voters(debate.setup)
    require(voters, "No votes are counted in this debate, so that there is nothing to weigh.")
    require(not debate.verdict, "There is a verdict: the votes were counted. Fork the debate instead.")
    return voters
