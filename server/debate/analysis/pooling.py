"""One belief from the beliefs of several judges.

Beliefs are clipped, averaged over all seats asked, by weight (a linear opinion pool), and sharpened: their log-odds are
multiplied by the effective number of independent voices. On the beliefs of human judges of debates (Michael et al.
2023, arXiv 2311.08702) the mean squared error falls from .12 for one judge to less than .09.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from server.debate.analysis.calibration import NO_CALIBRATION, Calibration
from server.debate.analysis.judgments import Beliefs

LOWEST, HIGHEST = Fraction(5, 100), Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class Believer:
    """A seat that was asked. `beliefs`: None where it gave none, which counts as equal shares."""

    weight: Fraction
    beliefs: Beliefs | None


def pool_beliefs(
    seats: Sequence[Believer],
    sides: Iterable[str],
    voices: float,
    calibration: Calibration = NO_CALIBRATION,
) -> dict[str, float]:
    """The belief of all seats together in each side, and in "" (none of them) where a seat believes in that.

    `voices`: the effective number of independent voices behind the beliefs. {} if no seat with a weight gave any.
    """
    sides = tuple(sides)
    if not any(seat.weight and seat.beliefs for seat in seats):
        return {}
    options = (*sides, "") if any((seat.beliefs or {}).get("") for seat in seats) else sides
    equal = {side: 1 / len(sides) for side in sides}
    total = float(sum(seat.weight for seat in seats))
    pool = dict.fromkeys(options, 0.0)
    for seat in seats:
        shares = calibration.correct(clip(seat.beliefs, options)) if seat.beliefs else equal
        for option in options:
            pool[option] += float(seat.weight) / total * shares.get(option, 0.0)
    return normalize({option: share**voices for option, share in pool.items()})


def clip(beliefs: Beliefs, options: Iterable[str]) -> dict[str, float]:
    """Beliefs between 5 % and 95 %, in sum 1: nobody who is surer than that is right as often."""
    clipped_beliefs = {
        option: min(HIGHEST, max(LOWEST, beliefs.get(option, Fraction(0)))) for option in options
    }
    return normalize({option: float(share) for option, share in clipped_beliefs.items()})


def normalize(shares: dict[str, float]) -> dict[str, float]:
    total = sum(shares.values())
    return {option: share / total for option, share in shares.items()}
