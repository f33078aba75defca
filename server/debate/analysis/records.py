"""The record of a judge: how often it was right where the answer is known, and the weight that its votes get.

Weight: q = (6 + right) / (8 + right + wrong) is its accuracy with the mean of judges (three of four) as a prior of
eight items; the log-odds of q are the weight of an independent vote (Nitzan and Paroush, 1982). As long as few
outcomes are known, the agreement of its two readings stands in for them: on LLMBar (arXiv 2310.07641) votes of judges
whose readings agree in 80 % or more are right in .90 of cases, of others in .63 to .76.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from server.debate.analysis.calibration import Calibration, Outcomes, fit_calibration
from server.debate.analysis.judgments import Beliefs, Judgment, group_by_item, list_sides
from server.debate.facts.text import format_count

PRIOR_RIGHT, PRIOR_ITEMS = 6, 8
AGREEMENT_LOW, AGREEMENT_HIGH = Fraction(65, 100), Fraction(85, 100)  # no trust below, full trust from here
PRIOR_AGREEING = 6  # of PRIOR_ITEMS
TRUST_ITEMS = 40  # settled votes that count as much as the agreement of readings
PROVEN_ITEMS, PROVEN_ACCURACY = 20, 0.8
PLACE_BIAS = Fraction(3, 5)  # of readings for what stands first, or against it, where a warning says so
FEW_READINGS = 20


@dataclass(frozen=True)
class JudgeRecord:
    """Counts of items. `asked`: in both orders; `consistent`: with the same side in both; of these right and wrong."""

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
        """Of its vote, in hundredths, 0 or more: 1.10 of a judge that nobody knows."""
        return compute_weight(self)

    @property
    def trust(self) -> Fraction:
        """How much of its log-odds count: all of them once it is proven, before that by the agreement of readings."""
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
    """The accuracy to be expected after so many right and wrong votes: the mean of a beta distribution."""
    return Fraction(PRIOR_RIGHT + right, PRIOR_ITEMS + right + wrong)


@dataclass(frozen=True)
class SideBias:
    """The side that a judge names more often than it is right. `excess`: the difference of the two shares."""

    side: str
    excess: Fraction


@dataclass(frozen=True)
class JudgeStatistics:
    """All that is known of a judge. A share without anything to count is None."""

    record: JudgeRecord
    items: int  # with a known answer, in one reading or both
    brier: Fraction | None  # mean of (1 - belief in the right side) squared
    first_rate: Fraction | None  # of readings that name a side, those that name the one shown first
    readings: int  # what first_rate was counted on
    side_bias: SideBias | None
    calibration: Calibration  # of its own beliefs; without effect below 20 items

    @property
    def accuracy(self) -> Fraction | None:
        """Of votes that both readings agree on."""
        return divide(self.record.right, self.record.settled)

    @property
    def agreement(self) -> Fraction | None:
        """The share of items whose two readings name the same side."""
        return divide(self.record.consistent, self.record.asked)

    @property
    def warning(self) -> str:
        """What to know before this judge is asked, in sentences; "" where there is nothing."""
        return " ".join(list_warnings(self))


def divide(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


def list_warnings(found: JudgeStatistics) -> list[str]:
    record, warnings = found.record, []
    if not record.weight:
        is_guessing = compute_share(record.right, record.wrong) <= Fraction(1, 2)
        why = " They are right no more often than by chance." if is_guessing else ""
        warnings.append(f"Its votes count nothing.{why}")
    if record.settled < PROVEN_ITEMS:
        votes = format_count(record.settled, "settled vote")
        warnings.append(f"{votes}: the weight is mostly the prior; {PROVEN_ITEMS} say more.")
    agreement = found.agreement
    if agreement is not None and agreement < AGREEMENT_LOW:
        warnings.append(f"Its two readings agree in {float(agreement):.0%} of items only.")
    first = found.first_rate
    if first is not None and found.readings >= FEW_READINGS and not 1 - PLACE_BIAS < first < PLACE_BIAS:
        warnings.append(f"It names the side shown first in {float(first):.0%} of readings.")
    return warnings


def count_record(judge: str, judgments: Iterable[Judgment]) -> JudgeRecord:
    twice = [one for one in judgments if one.is_asked_twice]
    consistent = sum(one.is_consistent for one in twice)
    right = sum(one.is_right for one in twice)
    return JudgeRecord(judge, len(twice), consistent, right, consistent - right)


def summarize_judges(judgments: Iterable[Judgment]) -> list[JudgeStatistics]:
    """The statistics of every judge, by name; without what debaters held."""
    by_judge: dict[str, list[Judgment]] = {}
    sides: dict[str, tuple[str, ...]] = {}
    for item, given in group_by_item(one for one in judgments if one.role == "judge").items():
        sides[item] = list_sides(given)
        for judgment in given:
            by_judge.setdefault(judgment.judge, []).append(judgment)
    return [summarize_judge(judge, by_judge[judge], sides) for judge in sorted(by_judge)]


@dataclass(frozen=True)
class BallotStatistics:
    """What is known of a model's blind ballots."""

    model: str
    items: int
    right: int


def summarize_ballots(judgments: Iterable[Judgment]) -> list[BallotStatistics]:
    """The blind ballots of every debater's model, by name."""
    votes: dict[str, list[bool]] = {}
    for one in judgments:
        if one.role == "debater":
            votes.setdefault(one.judge, []).append(bool(one.vote) and one.vote == one.gold)
    return [BallotStatistics(model, len(votes[model]), sum(votes[model])) for model in sorted(votes)]


def summarize_judge(
    judge: str, judgments: list[Judgment], sides: dict[str, tuple[str, ...]]
) -> JudgeStatistics:
    """`sides`: of each item."""
    beliefs = [(one.gold, one.compute_beliefs(sides[one.item])) for one in judgments]
    errors = [(1 - told.get(gold, Fraction(0))) ** 2 for gold, told in beliefs if told is not None]
    readings = [reading for one in judgments for reading in one.readings if reading.choice and reading.first]
    return JudgeStatistics(
        record=count_record(judge, judgments),
        items=len(judgments),
        brier=sum(errors, Fraction(0)) / len(errors) if errors else None,
        first_rate=divide(sum(reading.choice == reading.first for reading in readings), len(readings)),
        readings=len(readings),
        side_bias=find_side_bias(judgments),
        calibration=fit_calibration(
            [rate_beliefs(gold, told) for gold, told in beliefs if told], len(errors)
        ),
    )


def rate_beliefs(gold: str, beliefs: Beliefs) -> Outcomes:
    """The belief in the likeliest side, and whether that was right."""
    likeliest = max(beliefs, key=lambda side: beliefs[side])
    return Outcomes(float(beliefs[likeliest]), int(likeliest == gold), 1)


def find_side_bias(judgments: list[Judgment]) -> SideBias | None:
    """The side with the largest share of choices beyond its share of right answers; None without choices."""
    chosen: dict[str, Fraction] = {}
    total = 0
    for one in judgments:
        for reading in one.readings:
            if reading.choice:
                total += 1
                chosen[reading.choice] = chosen.get(reading.choice, Fraction(0)) + 1
                chosen[one.gold] = chosen.get(one.gold, Fraction(0)) - 1
    if not total:
        return None
    side = max(sorted(chosen), key=lambda name: chosen[name])
    return SideBias(side, chosen[side] / total)
