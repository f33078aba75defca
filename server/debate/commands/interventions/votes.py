"""How votes are weighed, and what share of them wins."""

from server.debate.commands.interventions.request import (
    Change,
    InterventionRequest,
    check_framed,
    check_known,
)
from server.debate.commands.setup.voting import build_weights, parse_fraction
from server.debate.facts.errors import require
from server.debate.facts.interventions import ThresholdChanged, WeightsChanged
from server.debate.state.debate import Debate
from server.debate.votes.voters import find_voters


def set_weights(debate: Debate, request: InterventionRequest) -> Change:
    voters = find_uncounted_voters(debate)
    if set(voters) & set(debate.names):
        check_framed(debate)
    require(request.weights, f"Pass `weights`: a fraction for each voter. Voters: {', '.join(voters)}.")
    for name in request.weights:
        check_known(name, voters, "Voters")
    weights = build_weights({name: str(value) for name, value in request.weights.items()}, "weights")
    event = WeightsChanged(weights=weights)
    return [event], "Votes are counted so when the verdict is made."


def set_threshold(debate: Debate, request: InterventionRequest) -> Change:
    find_uncounted_voters(debate)
    share = parse_fraction(request.threshold, "threshold", maximum=1)
    event = ThresholdChanged(threshold=str(share))
    of = "cast votes'" if debate.voting and debate.voting.of == "cast" else "votes'"
    effect = f"A position prevails with {share} of the {of} weight or more, when the verdict is made."
    return [event], effect


def find_uncounted_voters(debate: Debate) -> tuple[str, ...]:
    """The seats whose votes make the verdict, while their votes are not counted yet."""
    voters = find_voters(debate.setup)
    require(voters, "No votes are counted in this debate, so that there is nothing to weigh.")
    require(not debate.verdict, "There is a verdict: the votes were counted. Fork the debate instead.")
    return voters
