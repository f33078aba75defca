"""What verdicts on labelled judgments are worth: small panels with known answers, and files as they come."""

from collections.abc import Mapping
from fractions import Fraction

import pytest

from server.debate.analysis.evaluation import (
    Evaluation,
    LabelScore,
    PooledScores,
    build_panel,
    evaluate_panel,
)
from server.debate.analysis.judgments import Judgment, Reading
from server.debate.analysis.labelled_csv import describe_left_out, parse_labelled_csv
from server.debate.analysis.records import JudgeRecord
from server.debate.facts.errors import InvalidRequestError

pytestmark = pytest.mark.requirement("N21")

HEADING = "item,judge,reading,choice,belief,gold,first"
GOOD = JudgeRecord("one/good", 40, 40, 38, 2)
BAD = JudgeRecord("two/bad", 40, 40, 10, 30)


def vote(item: str, judge: str, choices: str, gold: str = "a", family: str = "") -> Judgment:
    readings = tuple(Reading(n, choice.replace("-", "")) for n, choice in enumerate(choices, start=1))
    return Judgment(item, judge, gold, readings, family)


def evaluate(judgments: list[Judgment], records: Mapping[str, JudgeRecord] | None = None) -> Evaluation:
    return evaluate_panel(judgments, build_panel(judgments, records or {}))


def test_labels_are_counted_over_all_judges_that_were_asked() -> None:
    judgments = [
        *(vote("1", f"{name}/x", "aa") for name in ("one", "two", "three")),
        *(vote("2", f"{name}/x", "bb") for name in ("one", "two")),
        vote("2", "three/x", "--"),
        vote("2", "four/x", "--"),
        vote("3", "one/x", "aa"),
        vote("3", "two/x", "bb"),
    ]
    found = evaluate(judgments)
    assert found.items == 3
    assert found.labels == {
        "decided": LabelScore(1, 1, 1),
        "leaning": LabelScore(1, 1, 0),  # half of those asked named no side
        "contested": LabelScore(1, 0, 0),
    }
    assert (found.forced_accuracy, found.coverage) == (Fraction(1, 2), Fraction(2, 3))
    assert found.weights == dict.fromkeys(("one/x", "two/x", "three/x", "four/x"), Fraction(11, 10))
    assert found.pooled == PooledScores()


def test_a_proven_judge_decides_alone_and_a_bad_one_does_not_hurt() -> None:
    judgments = [vote("1", "one/good", "aa"), vote("1", "two/bad", "bb")]
    records = {"one/good": GOOD, "two/bad": BAD}
    assert evaluate(judgments[:1]).labels == {"leaning": LabelScore(1, 1, 1)}
    assert evaluate(judgments[:1], records).labels == {"decided": LabelScore(1, 1, 1)}
    tied = evaluate(judgments).labels
    assert tied == {"contested": LabelScore(1, 0, 0)}
    assert tied["contested"].accuracy is None
    assert evaluate(judgments[:1]).labels["leaning"].accuracy == 1
    assert evaluate(judgments, records).labels == {"decided": LabelScore(1, 1, 1)}
    assert evaluate(judgments, records).weights["two/bad"] == 0


def test_an_item_that_was_read_once_is_at_most_leaning() -> None:
    once = [vote("1", "one/good", "a")]
    assert evaluate(once, {"one/good": GOOD}).labels == {"leaning": LabelScore(1, 1, 1)}


def test_baselines_are_a_majority_the_best_judge_and_one_order() -> None:
    judgments = [
        vote("1", "one/good", "aa"),
        vote("1", "two/bad", "bb"),
        vote("1", "three/x", "bb"),
        vote("2", "one/good", "ab"),
        vote("2", "two/bad", "aa"),
        vote("2", "three/x", "bb"),
    ]
    found = evaluate(judgments, {"one/good": GOOD, "two/bad": BAD})
    assert found.majority == Fraction(1, 4)  # wrong, and a tie
    assert found.best_single == Fraction(3, 4)  # right, and torn
    assert found.best_judges == ["one/good"]
    equal = evaluate(judgments)
    assert equal.best_judges == ["one/good", "three/x", "two/bad"]
    assert equal.best_single == Fraction(5, 12)  # the mean of 3/4, 0 and 1/2
    assert found.one_order == Fraction(
        1, 2
    )  # wrong, and right by the first reading of the judge that is torn


def test_pooled_beliefs_are_scored_where_beliefs_are_given() -> None:
    told = Judgment("1", "one/x", "a", (Reading(1, "a", Fraction(8, 10)), Reading(2, "a", Fraction(9, 10))))
    wrong = Judgment("2", "one/x", "b", (Reading(1, "a", Fraction(6, 10)), Reading(2, "a", Fraction(6, 10))))
    found = evaluate([told, wrong, vote("3", "one/x", "aa")]).pooled
    assert found.items == 2
    assert found.brier == pytest.approx((0.15**2 + 0.6**2) / 2)
    assert found.accuracy == 0.5
    assert found.mean_confidence == pytest.approx(0.725)
    assert found.ece == pytest.approx((0.15 + 0.6) / 2)
    assert found.nll == pytest.approx(0.5394, abs=1e-3)


def test_the_figure_that_is_scored_is_that_of_the_side_ahead_by_votes() -> None:
    """A verdict shows it for the side ahead, even where the beliefs are higher for another, and none for a tie."""
    low = Reading(1, "a", Fraction(55, 100)), Reading(2, "a", Fraction(55, 100))
    torn = Reading(1, "b", Fraction(95, 100)), Reading(2, "a", Fraction(6, 10))
    found = evaluate([Judgment("1", "one/x", "b", low), Judgment("1", "two/x", "b", torn)]).pooled
    assert (found.items, found.accuracy) == (1, 0)
    assert found.mean_confidence < 0.5
    split = evaluate([Judgment("1", "one/x", "b", low), vote("1", "two/x", "bb", gold="b")]).pooled
    assert (split.items, split.mean_confidence) == (1, 0)


def test_beliefs_set_the_margin_of_a_vote() -> None:
    def sure(judge: str, tenths: int) -> Judgment:
        readings = Reading(1, "a", Fraction(9, 10)), Reading(2, "a", Fraction(tenths, 10))
        return Judgment("1", judge, "a", readings)

    assert "decided" in evaluate([sure("one/x", 9), sure("two/x", 8)]).labels
    assert "leaning" in evaluate([sure("one/x", 9), sure("two/x", 7)]).labels


def test_rows_of_a_file_become_judgments() -> None:
    text = [
        "\ufeffitem,judge,reading,choice,belief,gold,first,family",
        "1,m,2,b,,a,b,kin",
        "",
        "1,m,1,a,0.75,a,a,kin",
        "2,m,1,,,b,,kin",
    ]
    judgments, rows, _ = parse_labelled_csv(text)
    assert rows == 3
    readings = (Reading(1, "a", Fraction(3, 4), "a"), Reading(2, "b", None, "b"))
    assert judgments == [
        Judgment("1", "m", "a", readings, "kin"),
        Judgment("2", "m", "b", (Reading(1, ""),), "kin"),
    ]


def test_a_row_with_a_belief_in_nothing_is_left_out_and_told_of() -> None:
    torn = [f"{number},m,1,,.5,a," for number in range(12)]
    found = parse_labelled_csv([HEADING, "1,m,1,a,.9,a,", torn[1].replace(",1,,", ",2,,")])
    assert found.judgments == [Judgment("1", "m", "a", (Reading(1, "a", Fraction(9, 10)),))]
    assert (found.rows, found.left_out) == (2, [3])
    told = describe_left_out(parse_labelled_csv([HEADING, *torn, "12,m,1,a,,a,"]).left_out)
    assert told.startswith("12 rows left out, with a belief and no choice that it is a belief in: ")
    assert told.endswith(": lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and more.")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "Line 1, column item: it is missing."),
        ([HEADING + ",gold"], "Line 1, column gold: it stands there twice."),
        ([HEADING + ",score"], "Line 1, column score: it is none of the columns."),
        ([HEADING], "The file holds no judgments"),
        ([HEADING, "1,m,1,a"], "Line 2: it has 4 fields, and the heading has 7."),
        ([HEADING, "1,m,3,a,,a,"], "Line 2, column reading: '3' is not 1 or 2."),
        ([HEADING, "1,m,1,a,,,"], "Line 2, column gold: it is empty."),
        ([HEADING, "1,m,1,a,1.5,a,"], "Line 2, column belief: '1.5' is not a number from 0 to 1"),
        ([HEADING, "1,m,1,a,1.,a,"], "Line 2, column belief: '1.' is not a number"),
        ([HEADING, "1,m,1,,.5,a,"], "The file holds no judgments: 1 row left out"),
        (
            [HEADING, "1,m,1,,half,a,", "2,m,1,a,,a,"],
            "Line 2, column belief: 'half' is not a number from 0 to 1",
        ),
        ([HEADING, "1,m,1,a,,a,", "1,m,1,a,,a,"], "Line 3, column reading: reading 1 of '1' by 'm' is there"),
        ([HEADING, "1,m,1,a,,a,", "1,m,2,a,,b,"], "Line 3, column gold: 'b' is not what an earlier line has"),
        ([HEADING, f"1,m,1,{'a' * 501},,a,"], "Line 2, column choice: it has 501 characters"),
        (
            [HEADING + ",family", "1,m,1,a,,a,,x", "1,m,2,a,,a,,y"],
            "Line 3, column family: 'y' is not what an earlier line has, 'x'.",
        ),
        (
            [HEADING + ",topic", "1,m,1,a,,a,,tax", "1,m,2,a,,a,,law"],
            "Line 3, column topic: it is not what an earlier line has, tax.",
        ),
        ([HEADING, '1,m,1,"a"b,,a,'], "Line 2: "),
    ],
)
def test_a_file_that_is_not_right_is_refused_with_line_and_column(rows: list[str], told: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_labelled_csv(rows)
    assert str(refused.value).startswith(told)
