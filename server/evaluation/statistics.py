"""Accuracy and how sure it is: a bootstrap over questions, in pairs, so that what is hard for all arms cancels."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

from server.debate.analysis.beliefs import Bin, Outcomes, compute_calibration_error, sort_into_bins
from server.evaluation.scores import Answer, Spending

RESAMPLES = 4_000
SEED = 0
LEVEL = 0.95
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
POWER = NormalDist().inv_cdf(0.8)
"""A difference counts as one that can be shown where four of five samples would show it."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval; what is asked of questions like these, not of these alone."""

    value: float
    low: float
    high: float

    @property
    def detectable(self) -> float:
        """The least difference that four of five samples of this size would show clearly."""
        return (self.high - self.low) / 2 * (Z + POWER) / Z


def bootstrap(values: Sequence[float], least: float, most: float) -> Interval:
    """The mean of at least one value, with the percentiles of means of samples drawn from them.

    Each sample has one value less than there are: drawn so, means vary as much as the mean itself does, where samples
    of the same size vary less by (n - 1) / n. Values that are all alike say nothing of how they vary: then it is the
    interval of Wilson for n out of n, between the `least` and the `most` that a value can be.
    """
    draw = random.Random(SEED)  # noqa: S311  (no secret)
    mean, size = sum(values) / len(values), max(len(values) - 1, 1)
    if min(values) == max(values):
        doubt = Z**2 / (len(values) + Z**2)
        return Interval(mean, mean - doubt * (mean - least), mean + doubt * (most - mean))
    means = sorted(sum(draw.choices(values, k=size)) / size for _ in range(RESAMPLES))
    cut = round(RESAMPLES * (1 - LEVEL) / 2)
    return Interval(mean, means[cut - 1], means[-cut])


@dataclass(frozen=True, slots=True)
class LabelShare:
    items: int
    right: float


@dataclass(frozen=True)
class ArmScore:
    """An arm over all questions that it answered, at least one. `brier`: (1 - belief in the right option) squared."""

    questions: int
    accuracy: Interval
    labels: dict[str, LabelShare]
    spending: Spending
    brier: float | None
    brier_items: int
    bins: Sequence[Bin]
    ece: float | None


LABELS = ("decided", "leaning", "contested", "synthesis", "undecided", "failed")


def score_arm(answers: Sequence[Answer]) -> ArmScore:
    labels: dict[str, list[float]] = defaultdict(list)
    spending = Spending()
    for answer in answers:
        if answer.label:
            labels[answer.label].append(answer.credit)
        spending = spending.plus(answer.spending)
    told = [(1 - answer.belief) ** 2 for answer in answers if answer.belief is not None]
    sure = [
        Outcomes(answer.confidence, int(answer.is_right), 1)
        for answer in answers
        if answer.confidence is not None
    ]
    bins = sort_into_bins(sure)
    return ArmScore(
        questions=len(answers),
        accuracy=bootstrap([answer.credit for answer in answers], 0, 1),
        labels={name: LabelShare(len(labels[name]), sum(labels[name])) for name in LABELS if name in labels},
        spending=spending,
        brier=sum(told) / len(told) if told else None,
        brier_items=len(told),
        bins=bins,
        ece=compute_calibration_error(bins) if bins else None,
    )


def compare_arms(first: Sequence[Answer], second: Sequence[Answer]) -> Interval:
    """The accuracy of the first less that of the second, on the same questions, at least one."""
    differences = [one.credit - other.credit for one, other in zip(first, second, strict=True)]
    return bootstrap(differences, -1, 1)


def list_comparisons(arms: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of arms that are compared, the dearer one first."""
    formats = [arm.partition(":")[2] for arm in arms if arm.partition(":")[0] == "debate"]
    pairs = []
    for name in formats:
        debate, vote = (f"{arm}:{name}" if name else arm for arm in ("debate", "vote"))
        pairs += [(debate, vote), (debate, "blind"), (debate, "single"), (vote, "single")]
    debates = [f"debate:{name}" if name else "debate" for name in formats]
    pairs += [(later, earlier) for earlier, later in pairwise(debates)]
    advice = [arm for arm in arms if f"vote:{arm}" in arms]
    pairs += [(arm, f"vote:{arm}") for arm in advice]
    pairs += [(later, earlier) for earlier, later in pairwise(advice)]
    return [*pairs, *((advice[-1], debate) for debate in debates if advice)]
