"""From votes to an outcome. Every seat that was asked stays in the denominator, and no winner is forced.

Weights, thresholds and shares are exact fractions. The strength of a side is the weight of its supporters, each
counted by what it adds to the effective number of independent voices (Kish's design effect with the error
correlations measured on LLMBar, arXiv 2310.07641): three judges of one model are about 1.07 voices.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from server.debate.facts.events import Outcome
from server.debate.votes.families import family

SYNTHESIS = "*"
"""The side of a position made of the others. No debater can have this name."""

APART = "**"
"""Stands before a judge whose position of its own is not the one that most of those advise."""

Silence = Literal["abstained", "unreadable", "inconsistent", "missing"]

UNKNOWN_WEIGHT = Fraction(110, 100)
"""The weight of a judge whose record is not known: ln 3, as if it were right in three of four cases."""

SAME_MODEL, SAME_FAMILY, OTHER_FAMILY = Fraction(9, 10), Fraction(7, 10), Fraction(1, 2)
"""Correlation of the errors of two judges."""

DECIDED_PROBABILITY, LEANING_PROBABILITY = 0.8, 0.6
HALF = Fraction(1, 2)  # of the weight asked: more makes a side decided, so much makes it leaning
LEANING_SHARE = Fraction(2, 3)  # of the weight that voted, for a side that is opposed
LITTLE_OPPOSITION = Fraction(1, 10)  # of the weight that voted: so little opposes nobody
CLEAR_MARGIN = 2
MARGIN_LEADS = (20, 50, 80)  # percent by which the belief in a winner leads: below the first the margin is 0


@dataclass(frozen=True, slots=True)
class CountedVote:
    """What a seat that was asked counts for, in every format.

    `side`: a debater, `SYNTHESIS`, or one of the answer format; "" for no usable vote.
    """

    seat: str
    model: str
    side: str = ""
    margin: int = CLEAR_MARGIN
    weight: Fraction = Fraction(1)  # 1: of a judge whose record is not known
    is_proven: bool = False  # its record allows it to decide alone
    trained_by: str = ""  # who trained the model; "" where its name tells
    abstains: str = ""  # why it has no side, in words
    silence: Silence | None = None  # why a rule of consensus counts it for no position

    @property
    def family(self) -> str:
        return self.trained_by or family(self.model)

    @property
    def position(self) -> str:
        """The position that it is for: `SYNTHESIS` only where most advise the same of their own."""
        return "" if self.side.startswith(APART) else self.side


@dataclass(frozen=True, slots=True)
class Count:
    """What votes come to. Shares are of the weight of all seats asked."""

    votes: tuple[CountedVote, ...]
    outcome: Outcome
    ahead: str = ""  # the side with the most support, whatever the outcome; "" for a tie or no votes
    against: Fraction = Fraction(0)
    probability: float = 0.5  # that the side ahead is right

    @property
    def votes_ahead(self) -> tuple[CountedVote, ...]:
        """The votes for the side ahead."""
        return tuple(vote for vote in self.votes if self.ahead and vote.side == self.ahead)

    @property
    def supporters(self) -> tuple[str, ...]:
        """The seats whose votes they are."""
        return tuple(vote.seat for vote in self.votes_ahead)

    @property
    def is_agreed_by_families(self) -> bool:
        """Whether models of two families or more are for the side ahead, and nobody is against it."""
        return len({vote.family for vote in self.votes_ahead}) > 1 and not self.against

    @property
    def support(self) -> Fraction:
        return sum_weights(self.votes_ahead) / (sum_weights(self.votes) or 1)

    @property
    def voices(self) -> float:
        """Independent voices behind the side ahead."""
        return float(count_voices(vote for vote in self.votes_ahead if vote.weight))


def sum_weights(votes: Iterable[CountedVote]) -> Fraction:
    return sum((vote.weight for vote in votes), Fraction(0))


def count_votes(
    votes: Sequence[CountedVote],
    *,
    threshold: Fraction | None = None,
    is_capped: bool = False,
    is_confirmed: bool = False,
) -> Count:
    """Count the votes of all seats that were asked. Silence is no opposition, and neither is `SYNTHESIS`.

    decided: nobody against, more than half of the weight for a side, from two families or with one proven judge, each
    supporter by a clear margin, and a probability of 0.8. leaning: nobody against and half of the weight; or opposed,
    with two thirds of what voted for a position and a probability of 0.6. synthesis: more than half of what voted is
    for one position of their own. contested: opposed otherwise, or most are for positions of their own that are not the
    same. undecided: less than half of the weight voted.

    `threshold`: the share of the weight that makes a side leaning, in place of these conditions.
    `is_capped`: at most leaning. `is_confirmed`: its mirror found the same, which stands in place of probability and
    margins.
    """
    asked, total = tuple(votes), sum_weights(votes)
    sides: dict[str, list[CountedVote]] = {}
    for vote in asked:
        if vote.side and vote.weight > 0:
            sides.setdefault(vote.side, []).append(vote)
    made = sides.pop(SYNTHESIS, [])
    apart = [vote for side in [*sides] if side.startswith(APART) for vote in sides.pop(side)]
    own_weight = sum_weights([*made, *apart])
    chosen_weight = sum(map(sum_weights, sides.values()), Fraction(0))
    is_enough = bool(total) and own_weight + chosen_weight >= total * HALF
    if is_enough and 2 * sum_weights(made) > own_weight + chosen_weight:
        return Count(asked, "synthesis", SYNTHESIS, chosen_weight / total)
    if is_enough and own_weight > chosen_weight:
        return Count(asked, "contested")
    ranked = sorted(
        ((compute_strength(supporters), side) for side, supporters in sides.items()), reverse=True
    )
    if not ranked:
        return Count(asked, "undecided")
    lead = ranked[0][0] - (ranked[1][0] if len(ranked) > 1 else 0)
    if lead <= 0:
        return Count(asked, "contested" if is_enough else "undecided")
    ahead = ranked[0][1]
    against = (chosen_weight - sum_weights(sides[ahead])) / total
    count = Count(
        asked,
        "contested" if against and is_enough else "undecided",
        ahead,
        against,
        1 / (1 + math.exp(-float(lead))),
    )
    is_leaning = (
        count.support >= threshold if threshold is not None else is_enough and leads(count, is_confirmed)
    )
    if not is_leaning:
        return count
    is_decided = not is_capped and decides(count, sides[ahead], is_confirmed)
    return replace(count, outcome="decided" if is_decided else "leaning")


def is_opposed(count: Count) -> bool:
    """Whether more than a little of what voted for a position is for another. Silence does not dilute it."""
    return count.against > LITTLE_OPPOSITION * (count.support + count.against)


def leads(count: Count, is_confirmed: bool) -> bool:
    if not is_opposed(count):
        return count.support >= HALF
    share = count.support / (count.support + count.against)
    return (is_confirmed or count.probability >= LEANING_PROBABILITY) and share >= LEANING_SHARE


def decides(count: Count, supporters: Sequence[CountedVote], is_confirmed: bool) -> bool:
    is_clear = count.probability >= DECIDED_PROBABILITY and all(
        vote.margin >= CLEAR_MARGIN for vote in supporters
    )
    families = {vote.family for vote in supporters}
    return (
        count.support > HALF
        and not is_opposed(count)
        and (is_confirmed or is_clear)
        and (len(families) > 1 or any(vote.is_proven for vote in supporters))
    )


def grade_lead(percent: int) -> int:
    """The margin, 0 to 3, of a judge whose belief in the winner leads by so much."""
    return sum(percent >= lead for lead in MARGIN_LEADS)


def compute_strength(supporters: Sequence[CountedVote]) -> Fraction:
    """The weight behind a side: the heaviest vote first, each counted by what it adds to the independent voices."""
    strength, before = Fraction(0), Fraction(0)
    ordered = sorted(supporters, key=lambda vote: -vote.weight)
    for number, vote in enumerate(ordered, start=1):
        voices = count_voices(ordered[:number])
        strength += UNKNOWN_WEIGHT * vote.weight * (voices - before)
        before = voices
    return strength


def count_voices(votes: Iterable[CountedVote]) -> Fraction:
    """The effective number of independent voices. It never falls when a vote is added.

    If all pairs correlate alike, it is n squared divided by the sum of the correlations. Otherwise that sum would
    let copies of one judge outweigh another judge. So each judge gets the weight of the mean with the least variance,
    computed first within models, then within families.
    """
    return count_model_voices(tuple(sorted((vote.family, vote.model) for vote in votes)))


@lru_cache(1_000)  # a verdict, its check, its receipt and its report count the same votes
def count_model_voices(voters: tuple[tuple[str, str], ...]) -> Fraction:
    """As `count_voices`. `voters`: the family and the model of each."""
    models = Counter(voters)
    by_family: dict[str, Fraction] = {}  # the precision of what the models of a family do not share
    for (trained_by, _), number in models.items():
        variance = (1 - SAME_MODEL) / number + SAME_MODEL - SAME_FAMILY
        by_family[trained_by] = by_family.get(trained_by, Fraction(0)) + 1 / variance
    common_variance = SAME_FAMILY - OTHER_FAMILY
    precision = sum(
        (1 / (common_variance + 1 / precision_of_family) for precision_of_family in by_family.values()),
        Fraction(0),
    )
    return 1 / (OTHER_FAMILY + 1 / precision) if precision else Fraction(0)
