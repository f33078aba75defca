"""When votes make a consensus.

Every seat that was asked stays in the denominator: an abstention or a missing, unreadable or inconsistent vote never
helps a position. Fractions are exact. A tie stays a tie: the order of positions and voters never decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from server.debate.facts.beliefs import ConsensusKind, VoteCount, VotingRule, Weight
from server.debate.votes.consensus import classify_share, describe_needed_share, is_enough

SYNTHESIS = "*"
"""The choice of a position made of the others. No debater can have this name."""

APART = "**"
"""Stands before a judge whose position of its own is not the one that most of those advise."""

Silence = Literal["abstained", "unreadable", "inconsistent", "missing"]


@dataclass(frozen=True, slots=True)
class CastVote:
    """The vote of one seat that was asked. `choice`: a position, "" for none; `silence` says why there is none."""

    choice: str
    weight: Fraction = Fraction(1)
    silence: Silence | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule finds in votes. Shares are of the weight that the rule names (all seats, or votes cast)."""

    ahead: str = ""  # the most chosen position; "" for a tie or no votes
    share: Fraction = Fraction(0)
    has_quorum: bool = True
    is_reached: bool = False
    consensus: ConsensusKind = "plurality"  # the strongest kind that holds, of all seats asked


def apply_rule(rule: VotingRule, votes: Sequence[CastVote]) -> Finding:
    """Count the votes of all seats asked by a rule."""
    cast = [vote for vote in votes if vote.choice and vote.weight > 0]
    total_weight, cast_weight = sum_weights(votes), sum_weights(cast)
    ahead = choose_leader(cast)
    if not ahead or not total_weight:
        return Finding()
    support = compute_support(cast, ahead)
    share = support / (cast_weight if rule.of == "cast" else total_weight)
    has_quorum = rule.of == "seats" or cast_weight >= Fraction(rule.quorum) * total_weight
    return Finding(
        ahead,
        share,
        has_quorum,
        has_quorum and is_enough(rule, share),
        classify_share(support / total_weight),
    )


def build_count(
    rule: VotingRule | None, votes: Sequence[CastVote], positions: Sequence[str], ahead: str
) -> VoteCount:
    """The weights of a vote: by position, and by kind of silence. `rule`: None for the usual count without a share."""
    weights = {name: sum_weights([v for v in votes if v.choice == name]) for name in (*positions, SYNTHESIS)}
    silences = {kind: str(sum_weights([v for v in votes if v.silence == kind])) for kind in get_args(Silence)}
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


def sum_weights(votes: Sequence[CastVote]) -> Fraction:
    return sum((vote.weight for vote in votes), Fraction(0))


def compute_support(votes: Sequence[CastVote], position: str) -> Fraction:
    """The weight of those who chose it."""
    return sum_weights([vote for vote in votes if vote.choice == position])


def choose_leader(votes: Sequence[CastVote]) -> str:
    """The most chosen position, which may be one made of the others; "" for a tie, or without votes."""
    choices = {vote.choice for vote in votes}
    leaders = list_highest({choice: compute_support(votes, choice) for choice in choices}) if votes else set()
    return leaders.pop() if len(leaders) == 1 else ""


def list_highest(amounts: Mapping[str, Fraction]) -> set[str]:
    highest = max(amounts.values())
    return {name for name, amount in amounts.items() if amount == highest}
