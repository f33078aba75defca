"""Calibration: how sure judges are compared with how often they are right, and the correction that follows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

CALIBRATED_ITEMS = 20  # settled items before a correction is learnt
MOST_STEPS, SMALL_STEP = 50, 1e-9
PRIOR_PRECISION = 1.0  # of scale 1 and intercept 0, the prior
EDGE = 0.05  # beliefs are clipped to [EDGE, 1 - EDGE] before their log-odds are taken
DIGITS = 4
BINS = 10


@dataclass(frozen=True, slots=True)
class Calibration:
    """Log-odds of being right = intercept + scale * log-odds of the belief. `items`: how many it was learnt from."""

    scale: float = 1.0
    intercept: float = 0.0
    items: int = 0

    def correct(self, beliefs: Mapping[str, float]) -> dict[str, float]:
        """Correct the belief in the likeliest side; the others keep their proportions."""
        if not self.items:
            return dict(beliefs)
        top = max(beliefs, key=lambda side: beliefs[side])
        belief = beliefs[top]
        right = 1 / (1 + math.exp(-(self.intercept + self.scale * compute_log_odds(belief))))
        right = min(1 - EDGE, max(EDGE, right))
        factor = (1 - right) / (1 - belief)
        return {side: right if side == top else share * factor for side, share in beliefs.items()}


NO_CALIBRATION = Calibration()


class Outcomes(NamedTuple):
    """How often judges who were sure by this much were right. Judgments may count by the weight of their judge."""

    belief: float  # in the side that they held likeliest, 0 to 1
    right: float
    number: float


def compute_log_odds(share: float) -> float:
    share = min(1 - EDGE, max(EDGE, share))
    return math.log(share / (1 - share))


def fit_calibration(outcomes: Sequence[Outcomes], items: int) -> Calibration:
    """Learn the correction by logistic regression (Platt 1999), with no correction as the prior.

    `items`: how many different items the outcomes cover; below `CALIBRATED_ITEMS` nothing is learnt.
    """
    if items < CALIBRATED_ITEMS or not any(outcome.number for outcome in outcomes):
        return NO_CALIBRATION
    scale, intercept = 1.0, 0.0
    for _ in range(MOST_STEPS):
        step_intercept, step_scale = compute_newton_step(outcomes, scale, intercept)
        intercept, scale = intercept + step_intercept, scale + step_scale
        if abs(step_intercept) + abs(step_scale) < SMALL_STEP:
            break
    return Calibration(round(scale, DIGITS), round(intercept, DIGITS), items)


def compute_newton_step(outcomes: Sequence[Outcomes], scale: float, intercept: float) -> tuple[float, float]:
    """The step that maximizes the penalized likelihood, as (of the intercept, of the scale)."""
    slope_0, slope_1 = -PRIOR_PRECISION * intercept, -PRIOR_PRECISION * (scale - 1)
    curve_00, curve_01, curve_11 = PRIOR_PRECISION, 0.0, PRIOR_PRECISION
    for belief, right, number in outcomes:
        x = compute_log_odds(belief)
        p = 1 / (1 + math.exp(-(intercept + scale * x)))
        slope_0 += right - number * p
        slope_1 += (right - number * p) * x
        curve_00 += number * p * (1 - p)
        curve_01 += number * p * (1 - p) * x
        curve_11 += number * p * (1 - p) * x * x
    determinant = curve_00 * curve_11 - curve_01 * curve_01
    return (
        (curve_11 * slope_0 - curve_01 * slope_1) / determinant,
        (curve_00 * slope_1 - curve_01 * slope_0) / determinant,
    )


class Bin(NamedTuple):
    """Beliefs of about the same size: their number, their mean, and how many of them were right."""

    low: float
    high: float
    number: float
    mean_belief: float
    accuracy: float


def sort_into_bins(outcomes: Sequence[Outcomes]) -> list[Bin]:
    """Tenths from 0 to 1; empty ones are left out."""
    tenths: dict[int, list[Outcomes]] = {}
    for outcome in outcomes:
        tenths.setdefault(min(BINS - 1, int(outcome.belief * BINS)), []).append(outcome)
    bins = []
    for tenth, members in sorted(tenths.items()):
        number = sum(outcome.number for outcome in members)
        mean = sum(outcome.belief * outcome.number for outcome in members) / number
        right = sum(outcome.right for outcome in members) / number
        bins.append(Bin(tenth / BINS, (tenth + 1) / BINS, number, mean, right))
    return bins


def compute_calibration_error(bins: Sequence[Bin]) -> float:
    """The mean distance of belief and accuracy, by number (expected calibration error)."""
    total = sum(bin_.number for bin_ in bins)
    return sum(bin_.number * abs(bin_.mean_belief - bin_.accuracy) for bin_ in bins) / total if total else 0.0
