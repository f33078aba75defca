"""When votes make a consensus: unanimous, a supermajority, a majority, a plurality; by first choices or by ranks.

Whoever was asked stays in the denominator: an abstention, a missing, an unreadable or an inconsistent vote never
helps a position. Fractions are exact. A tie is a tie: nothing follows from the order in which positions or voters
are declared.

Ranks: Borda's count; Schulze's strongest paths of margins (2011, doi:10.1007/s00355-010-0475-4); instant run-off,
in which all that have the fewest first places go at once. Positions that a voter holds to be equally likely share
their places.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from server.debate.facts.beliefs import ConsensusKind, VoteCount, VotingMethod, VotingRule, Weight
from server.debate.votes.consensus import classify_share, find_needed, is_enough

HALF = Fraction(1, 2)
SYNTHESIS = "*"
"""The choice of a position made of the others. No debater can have this name."""
FEWEST_TO_RANK = 3
"""Between two positions ranks say what first choices say."""

Silence = Literal["abstained", "unreadable", "inconsistent", "missing"]


@dataclass(frozen=True, slots=True)
class CastVote:
    """What one seat that was asked gave. `choice`: a position, "" for none; `silence` says why it is none."""

    choice: str
    weight: Fraction = Fraction(1)
    ranks: Mapping[str, Fraction] = field(default_factory=dict)  # the higher, the better; {}: only a choice
    silence: Silence | None = None

    def prefers(self, one: str, other: str) -> bool:
        return self.score(one) > self.score(other)

    def score(self, position: str) -> Fraction:
        return self.ranks[position] if self.ranks else Fraction(position == self.choice)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule finds in votes. Shares are of the weight that the rule says."""

    ahead: str = ""  # the position that the method finds; "" for a tie or no votes
    share: Fraction = Fraction(0)
    has_quorum: bool = True
    is_reached: bool = False
    consensus: ConsensusKind = "plurality"  # the strongest kind that holds, of all seats asked


def apply_rule(rule: VotingRule, votes: Sequence[CastVote], positions: Sequence[str]) -> Finding:
    """Count the votes of all seats asked by a rule. `positions`: all that could be ranked.

    A position that is ahead by ranks has the share of those who rank it before any other one, of all others the one
    against which it is least.
    """
    cast = [vote for vote in votes if vote.choice and vote.weight > 0]
    asked, given = sum_weights(votes), sum_weights(cast)
    method = find_method(rule, positions)
    ahead = find_ahead(method, cast, positions)
    if not ahead or not asked:
        return Finding()
    support = find_support(method, cast, positions, ahead)
    share = support / (given if rule.of == "cast" else asked)
    has_quorum = rule.of == "seats" or given >= Fraction(rule.quorum) * asked
    return Finding(
        ahead, share, has_quorum, has_quorum and is_enough(rule, share), classify_share(support / asked)
    )


def build_count(
    rule: VotingRule | None, votes: Sequence[CastVote], positions: Sequence[str], ahead: str
) -> VoteCount:
    """The weights of a vote by what became of them. `rule`: None for the usual counting, without a share to reach."""
    chosen = {name: sum_weights([v for v in votes if v.choice == name]) for name in (*positions, SYNTHESIS)}
    silent = {kind: str(sum_weights([v for v in votes if v.silence == kind])) for kind in get_args(Silence)}
    asked, cast = sum_weights(votes), sum(chosen.values(), Fraction(0))
    support, whole = chosen.get(ahead, Fraction(0)), asked
    if rule is not None and ahead:
        method = find_method(rule, positions)
        support = find_support(method, [vote for vote in votes if vote.choice], positions, ahead)
        whole = cast if rule.of == "cast" else asked
    return VoteCount(
        weights=tuple(Weight(seat=name, weight=str(weight)) for name, weight in chosen.items() if weight),
        **silent,
        seats=str(asked),
        cast=str(cast),
        needed=find_needed(rule) if rule else "",
        share=str(support / whole if whole else Fraction(0)),
    )


def find_method(rule: VotingRule, positions: Sequence[str]) -> VotingMethod:
    return rule.method if len(positions) >= FEWEST_TO_RANK else "choice"


def sum_weights(votes: Sequence[CastVote]) -> Fraction:
    return sum((vote.weight for vote in votes), Fraction(0))


def find_support(
    method: VotingMethod, votes: Sequence[CastVote], positions: Sequence[str], ahead: str
) -> Fraction:
    """The weight behind the position ahead: who chose it, or who ranks it before the other that most hold up to it."""
    if method == "choice":
        return sum_weights([vote for vote in votes if vote.choice == ahead])
    others = [position for position in positions if position != ahead]
    return min(sum_weights([vote for vote in votes if vote.prefers(ahead, other)]) for other in others)


def find_ahead(method: VotingMethod, votes: Sequence[CastVote], positions: Sequence[str]) -> str:
    """The one position that a method finds; "" where it finds several, or there are no votes."""
    found = METHODS[method](votes, positions) if votes else ()
    return next(iter(found)) if len(found) == 1 else ""


def find_by_choice(votes: Sequence[CastVote], positions: Sequence[str]) -> set[str]:  # noqa: ARG001  (as the others)
    """The most chosen. A position made of the others can be chosen, too."""
    chosen = {vote.choice for vote in votes}
    return find_highest({name: sum_weights([v for v in votes if v.choice == name]) for name in chosen})


def find_by_borda(votes: Sequence[CastVote], positions: Sequence[str]) -> set[str]:
    """The highest sums of points: one for each position ranked below, a half for each ranked alike."""
    points = dict.fromkeys(positions, Fraction(0))
    for vote in votes:
        for one in positions:
            for other in positions:
                alike = one != other and vote.score(one) == vote.score(other)
                points[one] += vote.weight * (vote.prefers(one, other) + HALF * alike)
    return find_highest(points)


def find_by_schulze(votes: Sequence[CastVote], positions: Sequence[str]) -> set[str]:
    """Those whose strongest path to every other is as strong as the one back. A path is as its least margin."""
    paths = {
        (one, other): max(compute_margin(votes, one, other), Fraction(0))
        for one in positions
        for other in positions
    }
    for via in positions:
        for start in positions:
            for end in positions:
                detour = min(paths[start, via], paths[via, end])
                paths[start, end] = max(paths[start, end], detour)
    return {one for one in positions if all(paths[one, other] >= paths[other, one] for other in positions)}


def compute_margin(votes: Sequence[CastVote], one: str, other: str) -> Fraction:
    """The weight that ranks one position before another, less that which ranks it after."""
    return sum(
        (vote.weight * (vote.prefers(one, other) - vote.prefers(other, one)) for vote in votes), Fraction(0)
    )


def find_by_instant_runoff(votes: Sequence[CastVote], positions: Sequence[str]) -> set[str]:
    """Who is left when all with the fewest first places have gone, again and again; several if alike to the end."""
    left = set(positions)
    while True:
        first = dict.fromkeys(left, Fraction(0))
        for vote in votes:
            tops = find_highest({name: vote.score(name) for name in left})
            for name in tops:
                first[name] += vote.weight / len(tops)
        fewest = min(first.values())
        last = {name for name in left if first[name] == fewest}
        if last == left:
            return left
        left -= last


def find_highest(amounts: Mapping[str, Fraction]) -> set[str]:
    most = max(amounts.values())
    return {name for name, amount in amounts.items() if amount == most}


METHODS: dict[VotingMethod, Callable[[Sequence[CastVote], Sequence[str]], set[str]]] = {
    "choice": find_by_choice,
    "borda": find_by_borda,
    "schulze": find_by_schulze,
    "instant_runoff": find_by_instant_runoff,
}
