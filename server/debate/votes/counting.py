"""From votes to an outcome. Every seat that was asked stays in the denominator, and no winner is forced.

Weights, thresholds and shares are exact fractions. The strength of a side is the weight of its supporters, each
counted by what it adds to the effective number of independent voices (Kish's design effect with the error
correlations measured on LLMBar, arXiv 2310.07641): three judges of one model are about 1.07 voices.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from server.debate.facts.events import Outcome
from server.debate.votes.families import family
from server.debate.votes.voting import SYNTHESIS

UNKNOWN_WEIGHT = Fraction(110, 100)
"""Of a judge whose record is not known: ln 3, as if it were right in three of four cases."""

SAME_MODEL, SAME_FAMILY, OTHER_FAMILY = Fraction(9, 10), Fraction(7, 10), Fraction(1, 2)
"""Correlation of the errors of two judges."""

DECIDED_PROBABILITY, LEANING_PROBABILITY = 0.8, 0.6
DECIDED_SUPPORT, DECIDED_OPPOSITION = Fraction(2, 3), Fraction(1, 10)  # shares of the weight asked
CLEAR_MARGIN = 2
MARGIN_LEADS = (20, 50, 80)  # percent by which the belief in a winner leads: below the first the margin is 0


@dataclass(frozen=True, slots=True)
class Seat:
    """One voter that was asked. `side`: a debater's name, `SYNTHESIS`, or "" for none or no usable vote."""

    name: str
    model: str
    side: str
    margin: int = CLEAR_MARGIN
    weight: Fraction = Fraction(1)  # 1: of a judge whose record is not known
    is_proven: bool = False  # its record allows it to decide alone
    family: str = ""  # who trained the model; "" where its name tells


@dataclass(frozen=True, slots=True)
class Count:
    """The result of a count. Shares are of the weight of all seats asked."""

    outcome: Outcome
    ahead: str = ""  # the side with the most support, whatever the outcome; "" for a tie or no votes
    support: Fraction = Fraction(0)  # for the side ahead
    against: Fraction = Fraction(0)
    probability: float = 0.5  # that the side ahead is right
    voices: float = 0.0  # independent voices behind the side ahead


def count_votes(
    seats: Sequence[Seat], *, threshold: Fraction | None = None, is_capped: bool = False
) -> Count:
    """Count the votes of all seats that were asked.

    decided: more than 2/3 of the weight for a side and at most 1/10 against it, each supporter by a clear
    margin, supporters of two models or a proven one, and a probability of 0.8. leaning: more than half of the
    weight voted, a margin somewhere, and a probability of 0.6. contested: opposed otherwise. undecided: the rest.

    `threshold`: the share of the weight that makes a side leaning, in place of the probability.
    `is_capped`: at most leaning.
    """
    sides: dict[str, list[Seat]] = {}
    for seat in seats:
        if seat.side and seat.weight > 0:
            sides.setdefault(seat.side, []).append(seat)
    ranked = sorted(
        ((compute_strength(supporters), side) for side, supporters in sides.items()), reverse=True
    )
    if not ranked:
        return Count("undecided")
    total = sum((seat.weight for seat in seats), Fraction(0))
    lead = ranked[0][0] - (ranked[1][0] if len(ranked) > 1 else 0)
    if lead <= 0:
        return Count("contested")
    ahead = ranked[0][1]
    supporters = sides[ahead]
    support = sum((seat.weight for seat in supporters), Fraction(0)) / total
    voted = sum((seat.weight for side in sides.values() for seat in side), Fraction(0)) / total
    probability = 1 / (1 + math.exp(-float(lead)))
    found = Count(
        "contested" if voted > support else "undecided",
        ahead,
        support,
        voted - support,
        probability,
        float(count_voices(supporters)),
    )
    is_likely = probability >= LEANING_PROBABILITY if threshold is None else support >= threshold
    if not (is_likely and voted > Fraction(1, 2) and any(seat.margin >= 1 for seat in supporters)):
        return found
    outcome: Outcome = "decided" if not is_capped and is_decided(found, supporters) else "leaning"
    return replace(found, outcome="synthesis" if ahead == SYNTHESIS else outcome)


def is_decided(count: Count, supporters: Sequence[Seat]) -> bool:
    return (
        count.support > DECIDED_SUPPORT
        and count.against <= DECIDED_OPPOSITION
        and count.probability >= DECIDED_PROBABILITY
        and all(seat.margin >= CLEAR_MARGIN for seat in supporters)
        and (len({seat.model for seat in supporters}) > 1 or any(seat.is_proven for seat in supporters))
    )


def grade_lead(percent: int) -> int:
    """The margin, 0 to 3, of a judge whose belief in the winner leads by so much."""
    return sum(percent >= lead for lead in MARGIN_LEADS)


def compute_strength(supporters: Sequence[Seat]) -> Fraction:
    """The weight behind a side, heaviest first, each by what it adds to the independent voices."""
    strength, before = Fraction(0), Fraction(0)
    ordered = sorted(supporters, key=lambda seat: -seat.weight)
    for number, seat in enumerate(ordered, start=1):
        voices = count_voices(ordered[:number])
        strength += UNKNOWN_WEIGHT * seat.weight * (voices - before)
        before = voices
    return strength


def count_voices(seats: Sequence[Seat]) -> Fraction:
    """The effective number of independent voices, which never falls with another one.

    Where all pairs are alike it is n squared by the sum of the correlations. Elsewhere that sum would let copies of
    one judge drown another, so each counts as in the mean with the least variance, built up by model and by family.
    """
    return count_model_voices(
        tuple(sorted((seat.family or family(seat.model), seat.model) for seat in seats))
    )


@lru_cache(1_000)  # a verdict, its check, its receipt and its report count the same seats
def count_model_voices(seats: tuple[tuple[str, str], ...]) -> Fraction:
    """As `count_voices`. `seats`: the family and the model of each."""
    models = Counter(seats)
    by_family: dict[str, Fraction] = {}  # the precision of what the models of a family do not share
    for (trained_by, _), number in models.items():
        own = (1 - SAME_MODEL) / number + SAME_MODEL - SAME_FAMILY
        by_family[trained_by] = by_family.get(trained_by, Fraction(0)) + 1 / own
    shared = SAME_FAMILY - OTHER_FAMILY
    precision = sum((1 / (shared + 1 / own) for own in by_family.values()), Fraction(0))
    return 1 / (OTHER_FAMILY + 1 / precision) if precision else Fraction(0)
