"""The record of a judge: how often it was right where the answer is known, and the weight of its votes.

Weight: q = (6 + right) / (8 + right + wrong) is the accuracy, with the mean of judges (three of four) as a prior of
eight items; the log-odds of q are the weight of an independent vote (Nitzan and Paroush, 1982). While few outcomes are
known, the agreement of a judge's two readings replaces them: on LLMBar (arXiv 2310.07641) judges whose readings agree
in 80 % or more are right in .90 of cases, others in .63 to .76.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from server.debate.analysis.beliefs import Calibration, Outcomes, fit_calibration
from server.debate.analysis.judgments import AFTER, APART, Judgment

PRIOR_RIGHT, PRIOR_ITEMS = 6, 8
AGREEMENT_LOW, AGREEMENT_HIGH = Fraction(65, 100), Fraction(85, 100)
"""No trust below the first, full from the second."""

PRIOR_AGREEING = 6  # of PRIOR_ITEMS
TRUST_ITEMS = 40  # settled votes that count as much as the agreement of readings
PROVEN_ITEMS, PROVEN_ACCURACY = 20, 0.8
PLACE_BIAS, FEW_READINGS = Fraction(3, 5), 20
"""A warning says so from this share of readings for (or against) the side shown first on, where there are not few."""


@dataclass(frozen=True)
class JudgeRecord:
    """Counts of items.

    `asked`: with the order turned, in a second reading or against judges who found the same; `consistent`: for one
    side; of these right and wrong.
    """

    judge: str
    asked: int = 0
    consistent: int = 0
    right: int = 0
    wrong: int = 0

    @property
    def settled(self) -> int:
        return self.right + self.wrong

    @property
    def weight(self) -> Fraction:
        """Of its vote, in hundredths, 0 or more: 1.10 for an unknown judge."""
        return compute_weight(self)

    @property
    def trust(self) -> Fraction:
        """How much of its log-odds counts: all if it is proven, else by the agreement of its readings."""
        if self.is_proven or not self.asked:
            return Fraction(1)
        agreement = Fraction(self.consistent + PRIOR_AGREEING, self.asked + PRIOR_ITEMS)
        ramp = (agreement - AGREEMENT_LOW) / (AGREEMENT_HIGH - AGREEMENT_LOW)
        ramp = min(Fraction(1), max(Fraction(0), ramp))
        return (TRUST_ITEMS * ramp + self.settled) / (TRUST_ITEMS + self.settled)

    @property
    def is_proven(self) -> bool:
        """Whether it may decide alone: 20 settled votes, and an accuracy of 80 % less a standard deviation."""
        share = compute_share(self.right, self.wrong)
        deviation = math.sqrt(share * (1 - share) / (self.settled + PRIOR_ITEMS + 1))
        return self.settled >= PROVEN_ITEMS and share - deviation >= PROVEN_ACCURACY


@lru_cache(10_000)  # each debate that is opened weighs all judges whose beliefs are known
def compute_weight(record: JudgeRecord) -> Fraction:
    share = compute_share(record.right, record.wrong)
    log_odds = max(0.0, math.log(share / (1 - share)))
    return Fraction(round(100 * log_odds * record.trust), 100)


def compute_share(right: int, wrong: int) -> Fraction:
    """The accuracy to expect after so many right and wrong votes: the mean of a beta distribution."""
    return Fraction(PRIOR_RIGHT + right, PRIOR_ITEMS + right + wrong)


@dataclass(frozen=True)
class JudgeStatistics:
    """All that is known about a judge. A share of nothing is None."""

    record: JudgeRecord
    first_rate: Fraction | None  # of readings that name a side, those that name the one shown first
    readings: int  # that first_rate counts

    @property
    def accuracy(self) -> Fraction | None:
        """Of the votes that both readings agree on."""
        return divide(self.record.right, self.record.settled)

    @property
    def agreement(self) -> Fraction | None:
        """The share of items whose two readings name the same side."""
        return divide(self.record.consistent, self.record.asked)

    @property
    def warning(self) -> str:
        """What to know before asking this judge, in sentences; "" for nothing."""
        record, warnings = self.record, []
        if not record.weight:
            is_guessing = compute_share(record.right, record.wrong) <= Fraction(1, 2)
            why = " They are right no more often than by chance." if is_guessing else ""
            warnings.append(f"Its votes count nothing.{why}")
        if not record.asked:
            warnings.append("Only items that it read in both orders count, and there is none.")
        elif record.settled < PROVEN_ITEMS:
            warnings.append(f"From {PROVEN_ITEMS} votes on the weight says something of this judge.")
        if self.agreement is not None and self.agreement < AGREEMENT_LOW:
            warnings.append("Its two readings disagree too often.")
        if self.readings >= FEW_READINGS and not 1 - PLACE_BIAS < (self.first_rate or 0) < PLACE_BIAS:
            warnings.append("Where a side stands decides too many of its votes.")
        return " ".join(warnings)


def divide(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


def summarize_judges(judgments: Iterable[Judgment]) -> list[JudgeStatistics]:
    """The statistics of every judge, by name; blind ballots of debaters are left out."""
    by_judge: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        if judgment.role == "judge":
            by_judge.setdefault(judgment.judge, []).append(judgment)
    return [summarize_judge(judge, by_judge[judge]) for judge in sorted(by_judge)]


@dataclass(frozen=True)
class BallotStatistics:
    """What is known of a model's blind ballots."""

    model: str
    items: int
    right: int


def summarize_ballots(judgments: Iterable[Judgment]) -> list[BallotStatistics]:
    """The blind ballots of every debater's model, by name."""
    votes: dict[str, list[bool]] = {}
    for judgment in judgments:
        if judgment.role == "debater":
            votes.setdefault(judgment.judge, []).append(
                bool(judgment.vote) and judgment.vote == judgment.gold
            )
    return [BallotStatistics(model, len(votes[model]), sum(votes[model])) for model in sorted(votes)]


@dataclass(frozen=True)
class AdviceStatistics:
    """What is known of a model's answers by itself, and of its advice after it had read others."""

    model: str
    apart: int  # answers of which it is known whether they were right
    apart_right: int
    after: int
    after_right: int


def summarize_advice(judgments: Iterable[Judgment]) -> list[AdviceStatistics]:
    """The statistics of every advisor's model, by name: whether reading others helps."""
    right: dict[str, dict[int, list[bool]]] = {}
    for judgment in judgments:
        if judgment.role == "advisor":
            of_model = right.setdefault(judgment.judge, {APART: [], AFTER: []})
            for reading in judgment.readings:
                of_model[reading.number].append(reading.choice == judgment.gold)
    return [
        AdviceStatistics(model, len(one[APART]), sum(one[APART]), len(one[AFTER]), sum(one[AFTER]))
        for model, one in sorted(right.items())
    ]


def count_advice_record(model: str, judgments: Iterable[Judgment]) -> JudgeRecord:
    """How often the advice of a model was right, after it had read others."""
    found = [one for one in judgments if one.judge == model and one.find_choice(AFTER)]
    right = sum(one.find_choice(AFTER) == one.gold for one in found)
    return JudgeRecord(model, len(found), len(found), right, len(found) - right)


def calibrate_advice(judgments: Iterable[Judgment]) -> Calibration:
    """What the probabilities of these models were worth, after they had read others."""
    outcomes, items = [], set()
    for judgment in judgments:
        for reading in judgment.readings:
            if reading.number == AFTER and reading.belief is not None:
                items.add(judgment.item)
                outcomes.append(Outcomes(float(reading.belief), int(reading.choice == judgment.gold), 1))
    return fit_calibration(outcomes, len(items))


def summarize_judge(judge: str, judgments: list[Judgment]) -> JudgeStatistics:
    readings = [
        reading for judgment in judgments for reading in judgment.readings if reading.choice and reading.first
    ]
    turned = [judgment for judgment in judgments if judgment.is_turned]
    consistent = sum(judgment.is_consistent for judgment in turned)
    right = sum(judgment.is_right for judgment in turned)
    return JudgeStatistics(
        record=JudgeRecord(judge, len(turned), consistent, right, consistent - right),
        first_rate=divide(sum(reading.choice == reading.first for reading in readings), len(readings)),
        readings=len(readings),
    )
