"""Results of the rules of consensus, in sentences for people."""

from server.debate.facts.beliefs import Agreed


def describe_agreed(agreed: Agreed) -> str:
    """The consensus in a sentence: "Consensus (majority): 2 of 3 for Ada"."""
    count = agreed.count
    if count is None:
        return "Consensus: the moderator settled the question."
    side = agreed.winner or "a position made of the others"
    silences = {name: getattr(count, name) for name in ("abstained", "unreadable", "inconsistent", "missing")}
    silence_parts = "".join(f", {weight} {name}" for name, weight in silences.items() if weight != "0")
    choices = ", ".join(f"{vote.seat.replace('*', 'none of them')} {vote.weight}" for vote in count.weights)
    return f"Consensus ({agreed.consensus}) for {side}: {choices}{silence_parts}, of {count.seats} asked."
