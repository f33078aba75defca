"""How good the verdicts of a panel are on labelled judgments. Votes count as in debates; no model is called."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from server.debate.analysis.beliefs import (
    NO_CALIBRATION,
    Calibration,
    Outcomes,
    compute_calibration_error,
    pool_beliefs,
    sort_into_bins,
)
from server.debate.analysis.judgments import Judgment, group_by_item, list_sides
from server.debate.analysis.records import JudgeRecord
from server.debate.votes.counting import (
    CLEAR_MARGIN,
    UNKNOWN_WEIGHT,
    Count,
    CountedVote,
    count_votes,
    grade_lead,
)

LABELS = ("decided", "leaning", "contested", "undecided")


@dataclass(frozen=True, slots=True)
class LabelScore:
    """Items with a label, how many of them have a side ahead, and in how many that side is right."""

    items: int = 0
    ahead: int = 0
    right: int = 0

    @property
    def accuracy(self) -> Fraction | None:
        """How often the side ahead is right; None where no item has one."""
        return Fraction(self.right, self.ahead) if self.ahead else None


@dataclass(frozen=True, slots=True)
class PooledScores:
    """The quality of pooled beliefs. All fields but `items` are 0 where no beliefs were given."""

    items: int = 0
    brier: float = 0.0  # mean of (1 - belief in the right side) squared
    nll: float = 0.0  # mean of -log(belief in the right side)
    ece: float = 0.0  # expected calibration error of the figure of a verdict: the belief in the side ahead
    accuracy: float = 0.0  # of that side
    mean_confidence: float = 0.0  # that figure


@dataclass(frozen=True)
class Evaluation:
    """`forced_accuracy`: an item without a winner counts one half. `coverage`: the share of items with a winner."""

    items: int
    weights: Mapping[str, Fraction]
    labels: Mapping[str, LabelScore]
    forced_accuracy: Fraction
    coverage: Fraction
    majority: Fraction  # forced accuracy of a plain majority of the votes
    best_single: Fraction  # of the judge with the most weight, in both orders; the mean where several have it
    best_judges: Sequence[str]  # who has it
    one_order: Fraction  # of a plain majority of first readings
    pooled: PooledScores


@dataclass(frozen=True)
class Panel:
    """The judges of a file and their records. A judge with a row for an item was asked about it."""

    records: Mapping[str, JudgeRecord]
    families: Mapping[str, str] = field(default_factory=dict)  # of those whose names do not tell
    calibration: Calibration = NO_CALIBRATION

    def build_vote(self, judgment: Judgment) -> CountedVote:
        """What a judge said about an item, as it is counted."""
        judge = judgment.judge
        return CountedVote(
            judge,
            judge,
            judgment.vote,
            compute_judgment_margin(judgment),
            self.records[judge].weight / UNKNOWN_WEIGHT,
            is_proven=self.records[judge].is_proven,
            trained_by=self.families.get(judge, ""),
        )


def compute_judgment_margin(judgment: Judgment) -> int:
    """The smallest margin of its readings; a clear one where beliefs were not asked for."""
    beliefs = [reading.belief for reading in judgment.readings if reading.belief is not None]
    return min((grade_lead(round(100 * (2 * belief - 1))) for belief in beliefs), default=CLEAR_MARGIN)


def build_panel(
    judgments: Iterable[Judgment],
    records: Mapping[str, JudgeRecord],
    calibration: Calibration = NO_CALIBRATION,
) -> Panel:
    """A seat for each judge; a judge without a record counts as unknown."""
    families = {judgment.judge: judgment.family for judgment in judgments}
    panel_records = {judge: records.get(judge) or JudgeRecord(judge) for judge in sorted(families)}
    return Panel(panel_records, families, calibration)


def evaluate_panel(judgments: Sequence[Judgment], panel: Panel) -> Evaluation:
    """Count every item as a verdict of this panel. Needs at least one judgment."""
    items = group_by_item(judgments)
    highest = max(record.weight for record in panel.records.values())
    best = [judge for judge, record in panel.records.items() if record.weight == highest]
    labels: dict[str, LabelScore] = {}
    scores: Counter[str] = Counter()  # in halves
    winner_count = 0
    for judgments_of_item in items.values():
        gold = judgments_of_item[0].gold
        count = count_item(judgments_of_item, panel)
        before = labels.get(count.outcome, LabelScore())
        labels[count.outcome] = LabelScore(
            before.items + 1, before.ahead + bool(count.ahead), before.right + (count.ahead == gold)
        )
        winner = count.ahead if count.outcome in ("decided", "leaning") else ""
        winner_count += bool(winner)
        scores["forced"] += score_winner(winner, gold)
        scores["majority"] += score_winner(
            choose_majority([judgment.vote for judgment in judgments_of_item]), gold
        )
        votes = {judgment.judge: judgment.vote for judgment in judgments_of_item}
        scores["best_single"] += sum(score_winner(votes.get(judge, ""), gold) for judge in best)
        first_choices = [judgment.readings[0].choice for judgment in judgments_of_item]
        scores["one_order"] += score_winner(choose_majority(first_choices), gold)
    shares = {name: Fraction(score, 2 * len(items)) for name, score in scores.items()}
    return Evaluation(
        items=len(items),
        weights={judge: record.weight for judge, record in panel.records.items()},
        labels={label: labels[label] for label in LABELS if label in labels},
        forced_accuracy=shares["forced"],
        coverage=Fraction(winner_count, len(items)),
        majority=shares["majority"],
        best_single=shares["best_single"] / len(best),
        best_judges=best,
        one_order=shares["one_order"],
        pooled=score_pooled_beliefs(items.values(), panel),
    )


def count_item(judgments: Sequence[Judgment], panel: Panel) -> Count:
    """The verdict on an item; at most leaning if a judge read it in one order only."""
    votes = [panel.build_vote(judgment) for judgment in judgments]
    return count_votes(votes, is_capped=not all(judgment.is_turned for judgment in judgments))


def choose_majority(votes: Sequence[str]) -> str:
    """The side with the most votes; "" for a tie or none."""
    leaders = Counter(vote for vote in votes if vote).most_common(2)
    if not leaders or (len(leaders) > 1 and leaders[0][1] == leaders[1][1]):
        return ""
    return leaders[0][0]


def score_winner(winner: str, gold: str) -> int:
    """In halves: 2 for the right side, 1 for none, 0 for a wrong one."""
    if not winner:
        return 1
    return 2 * (winner == gold)


def pool_item(judgments: Sequence[Judgment], panel: Panel) -> dict[str, float]:
    """The pooled beliefs in the sides of an item; {} where no judge gave any."""
    sides = list_sides(judgments)
    asked = [(panel.build_vote(judgment), judgment.compute_beliefs(sides)) for judgment in judgments]
    return pool_beliefs(asked, sides, panel.calibration)


def score_pooled_beliefs(items: Iterable[Sequence[Judgment]], panel: Panel) -> PooledScores:
    """Scores of the pooled beliefs over the items with beliefs, and of the figure that verdicts on them would show."""
    errors, losses, outcomes = [], [], []
    for judgments in items:
        shares = pool_item(judgments, panel)
        if not shares:
            continue
        gold = judgments[0].gold
        ahead = count_item(judgments, panel).ahead
        errors.append((1 - shares.get(gold, 0.0)) ** 2)
        losses.append(-math.log(max(shares.get(gold, 0.0), 1e-9)))
        if ahead in shares:
            outcomes.append(Outcomes(round(shares[ahead], 2), int(ahead == gold), 1))
    if not errors:
        return PooledScores()
    count, shown_count = len(errors), max(len(outcomes), 1)
    return PooledScores(
        items=count,
        brier=sum(errors) / count,
        nll=sum(losses) / count,
        ece=compute_calibration_error(sort_into_bins(outcomes)),
        accuracy=sum(outcome.right for outcome in outcomes) / shown_count,
        mean_confidence=sum(outcome.belief for outcome in outcomes) / shown_count,
    )
