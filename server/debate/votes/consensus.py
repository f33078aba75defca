"""The rules of consensus: what share of the weight each needs, its words, and whether votes reach it.

A new rule has its row here. Every seat that was asked stays in the denominator: an abstention or a missing, unreadable
or inconsistent vote never helps a position. Fractions are exact. A tie stays a tie: the order of positions and voters
never decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

from server.debate.facts.beliefs import Agreed, ConsensusKind, RuleKind, VoteCount, VotingRule, Weight
from server.debate.votes.counting import SYNTHESIS, Count, CountedVote, Silence, sum_weights


class ConsensusRule(NamedTuple):
    share: Fraction | None  # of the weight, that the position ahead needs; None: nobody wins by it
    phrase: str  # `{of}`: of which votes; `{share}`: the share of a supermajority
    is_strict: bool = False  # more than the share; otherwise that much is enough

    def is_met(self, share: Fraction, threshold: str = "", *, is_strict: bool = False) -> bool:
        """Whether a share is enough. `threshold` replaces the share of the rule; `is_strict`: it must be exceeded."""
        if self.share is None:
            return False
        needed_share = Fraction(threshold or self.share)
        return share > needed_share if is_strict or self.is_strict else share >= needed_share


RULES: dict[RuleKind, ConsensusRule] = {
    "unanimous": ConsensusRule(Fraction(1), "unanimity of {of}"),
    "supermajority": ConsensusRule(Fraction(2, 3), "a supermajority, {share} of {of}"),
    "majority": ConsensusRule(Fraction(1, 2), "a majority, more than 1/2 of {of}", is_strict=True),
    "plurality": ConsensusRule(Fraction(0), "a plurality, more than for any other"),
    "none": ConsensusRule(None, "none: votes are counted, and nobody wins by them"),
}
SHARES: tuple[Literal["unanimous", "supermajority", "majority"], ...] = (
    "unanimous",
    "supermajority",
    "majority",
)
"""The kinds that are defined by a share, the strongest first."""


def is_enough(rule: VotingRule, share: Fraction) -> bool:
    return RULES[rule.kind].is_met(share, rule.threshold, is_strict=rule.strict)


def describe_needed_share(rule: VotingRule) -> str:
    """The share that a rule needs, as text; "" where it needs none."""
    return rule.threshold or str(RULES[rule.kind].share or "")


def classify_share(share: Fraction) -> ConsensusKind:
    """The strongest kind of consensus that a share of all seats asked is."""
    return next((kind for kind in SHARES if RULES[kind].is_met(share)), "plurality")


def describe_rule(rule: VotingRule) -> str:
    """The rule in a phrase: "a supermajority, 2/3 or more of all seats asked"."""
    share = (
        f"more than {describe_needed_share(rule)}"
        if rule.strict
        else f"{describe_needed_share(rule)} or more"
    )
    of = "the votes cast" if rule.of == "cast" else "all seats asked"
    quorum = f", of which {rule.quorum} of all seats have to be cast" if rule.of == "cast" else ""
    conditions = quorum if RULES[rule.kind].share is not None else ""
    return RULES[rule.kind].phrase.format(of=of, share=share) + conditions


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule finds in votes. Shares are of the weight that the rule names (all seats, or votes cast)."""

    ahead: str = ""  # the most chosen position; "" for a tie or no votes
    share: Fraction = Fraction(0)
    has_quorum: bool = True
    is_reached: bool = False


def apply_rule(rule: VotingRule, votes: Sequence[CountedVote]) -> Finding:
    """Count the votes of all seats asked by a rule."""
    total_weight, cast_weight = sum_weights(votes), sum_weights(list_cast(votes))
    ahead = choose_leader(votes)
    if not ahead:
        return Finding()
    share = compute_support(votes, ahead) / (cast_weight if rule.of == "cast" else total_weight)
    has_quorum = rule.of == "seats" or cast_weight >= Fraction(rule.quorum) * total_weight
    return Finding(ahead, share, has_quorum, has_quorum and is_enough(rule, share))


def apply_voting_rule(rule: VotingRule | None, usual: Count) -> Count:
    """The count by the voting rule in force; without a rule the usual count, unchanged.

    The rule says who wins. The winner is `decided` if the usual count says so too, and `leaning` otherwise: the
    labels promise no more than that. Without a winner it is `contested` if votes are opposed, else `undecided`.
    """
    if rule is None:
        return usual
    finding, cast = apply_rule(rule, usual.votes), list_cast(usual.votes)
    if not finding.is_reached:
        is_opposed = len({vote.position for vote in cast}) > 1
        return replace(usual, outcome="contested" if is_opposed else "undecided")
    if (usual.outcome, usual.ahead) == ("decided", finding.ahead):
        return usual
    against = sum_weights(cast) - compute_support(cast, finding.ahead)
    return Count(
        usual.votes,
        "synthesis" if finding.ahead == SYNTHESIS else "leaning",
        finding.ahead,
        against / sum_weights(usual.votes),
    )


def describe_rule_in_force(rule: VotingRule | None, votes: Sequence[CountedVote]) -> str:
    """The rule of consensus, and whether these votes reached it; "" where they were counted as usual."""
    if rule is None:
        return ""
    finding = apply_rule(rule, votes)
    result = "reached" if finding.is_reached else "not reached"
    by_winner = f" by {finding.ahead} with {finding.share}" if finding.ahead not in ("", SYNTHESIS) else ""
    quorum = "" if finding.has_quorum else ", too few cast"
    return f"{describe_rule(rule)}: {result}{by_winner}{quorum}"


def build_vote_count(
    rule: VotingRule | None, votes: Sequence[CountedVote], positions: Sequence[str], ahead: str
) -> VoteCount:
    """The weights of a vote: by position, and by kind of silence. `rule`: None for the usual count without a share."""
    weights = {name: compute_support(votes, name) for name in (*positions, SYNTHESIS)}
    silences = {kind: str(sum_weights(v for v in votes if v.silence == kind)) for kind in get_args(Silence)}
    total_weight, cast = sum_weights(votes), sum(weights.values(), Fraction(0))
    support, base = weights.get(ahead, Fraction(0)), total_weight
    if rule is not None and ahead and rule.of == "cast":
        base = cast
    return VoteCount(
        weights=tuple(Weight(seat=name, weight=str(weight)) for name, weight in weights.items() if weight),
        **silences,
        seats=str(total_weight),
        cast=str(cast),
        needed=describe_needed_share(rule) if rule else "",
        share=str(support / base if base else Fraction(0)),
    )


def list_cast(votes: Sequence[CountedVote]) -> list[CountedVote]:
    """The votes with a weight, for a position."""
    return [vote for vote in votes if vote.position and vote.weight > 0]


def compute_support(votes: Sequence[CountedVote], position: str) -> Fraction:
    """The weight of those who chose it."""
    return sum_weights(vote for vote in votes if vote.position == position)


def choose_leader(votes: Sequence[CountedVote]) -> str:
    """The most chosen position, which may be one made of the others; "" for a tie, or without votes."""
    support = {vote.position: compute_support(votes, vote.position) for vote in list_cast(votes)}
    leaders = [position for position, weight in support.items() if weight == max(support.values())]
    return leaders[0] if len(leaders) == 1 else ""


def describe_agreed(agreed: Agreed) -> str:
    """The consensus in a sentence: "Consensus (majority): 2 of 3 for Ada"."""
    count = agreed.count
    if count is None:
        return "Consensus: the moderator settled the question."
    side = agreed.winner or "a position made of the others"
    silences = {name: getattr(count, name) for name in get_args(Silence)}
    silence_parts = "".join(f", {weight} {name}" for name, weight in silences.items() if weight != "0")
    choices = ", ".join(f"{vote.seat.replace('*', 'none of them')} {vote.weight}" for vote in count.weights)
    return f"Consensus ({agreed.consensus}) for {side}: {choices}{silence_parts}, of {count.seats} asked."
