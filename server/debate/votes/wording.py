"""Rules of consensus and what they found, in sentences for people."""

from server.debate.facts.beliefs import Agreed, VotingRule
from server.debate.votes.voting import SUPERMAJORITY

METHOD_TEXTS = {
    "borda": "ranked by Borda's count",
    "schulze": "ranked by Schulze's method",
    "instant_runoff": "ranked by instant run-off",
}


def describe_rule(rule: VotingRule) -> str:
    """The rule in a phrase: "a supermajority: 2/3 or more of all seats asked"."""
    if rule.kind == "none":
        return "none: votes are counted, and nobody wins by them"
    of = "the votes cast" if rule.of == "cast" else "all seats asked"
    more = "more than " if rule.strict else ""
    share = f"{more}{rule.threshold or SUPERMAJORITY}{'' if rule.strict else ' or more'}"
    needed = {
        "unanimous": f"unanimity of {of}",
        "supermajority": f"a supermajority, {share} of {of}",
        "majority": f"a majority, more than 1/2 of {of}",
        "plurality": "a plurality, more than for any other",
    }
    quorum = f", of which {rule.quorum} of all seats have to be cast" if rule.of == "cast" else ""
    ranked = f", {METHOD_TEXTS[rule.method]}" if rule.method in METHOD_TEXTS else ""
    return f"{needed[rule.kind]}{quorum}{ranked}"


def describe_agreed(agreed: Agreed) -> str:
    """The consensus in a sentence: "Consensus (majority): 2 of 3 for Ada"."""
    count = agreed.count
    if count is None:
        return "Consensus: the moderator settled the question."
    side = agreed.winner or "a position made of the others"
    silent = {name: getattr(count, name) for name in ("abstained", "unreadable", "inconsistent", "missing")}
    rest = "".join(f", {weight} {name}" for name, weight in silent.items() if weight != "0")
    chosen = ", ".join(f"{vote.seat.replace('*', 'none of them')} {vote.weight}" for vote in count.weights)
    return f"Consensus ({agreed.consensus}) for {side}: {chosen}{rest}, of {count.seats} asked."
