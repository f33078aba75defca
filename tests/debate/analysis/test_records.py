"""What recorded judgments say about a judge, and the weight that its votes get: cases worked out by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.analysis.judgments import Judgment, Reading, list_sides
from server.debate.analysis.records import (
    BallotStatistics,
    JudgeRecord,
    JudgeStatistics,
    summarize_ballots,
    summarize_judges,
)

pytestmark = pytest.mark.requirement("N21")


def judge(item: str, choices: str, gold: str = "a", firsts: str = "", beliefs: str = "") -> Judgment:
    """A letter for each reading: the side that it names, "-" for none. `beliefs`: in tenths."""
    readings = tuple(
        Reading(
            number,
            choice.replace("-", ""),
            Fraction(int(beliefs[number - 1]), 10) if beliefs else None,
            firsts[number - 1] if firsts else "",
        )
        for number, choice in enumerate(choices, start=1)
    )
    return Judgment(item, "m", gold, readings)


def summarize(*judgments: Judgment) -> JudgeStatistics:
    (found,) = summarize_judges(judgments)
    return found


@pytest.mark.parametrize(
    ("record", "weight", "is_proven"),
    [
        (JudgeRecord("m"), "110/100", False),  # ln 3
        (
            JudgeRecord("m", 10, 10, 10, 0),
            "208/100",
            False,
        ),  # ln 8, trusted in (40 ramp(16/18) + 10) / 50 = 1
        (JudgeRecord("m", 10, 5, 5, 0), "19/100", False),  # ln 5.5, ramp(11/18) = 0, trust 5/45
        (JudgeRecord("m", 19, 19, 19, 0), "253/100", False),  # q = 25/27, one short of 20 votes
        (JudgeRecord("m", 20, 20, 20, 0), "256/100", True),  # q = 26/28
        (JudgeRecord("m", 200, 20, 20, 0), "256/100", True),  # proven: its agreement does not matter any more
        (JudgeRecord("m", 20, 20, 18, 2), "179/100", False),  # 24/28 less .065 is below .80
        (JudgeRecord("m", 20, 20, 19, 1), "212/100", True),  # 25/28 less .057
        (JudgeRecord("m", 40, 40, 0, 40), "0", False),  # worse than chance: never negative
        (JudgeRecord("m", 80, 60, 30, 30), "9/100", False),  # ln 36/32 in (40 * 1/2 + 60) / 100
    ],
)
def test_the_weight_of_a_vote_follows_from_the_record(
    record: JudgeRecord, weight: str, is_proven: bool
) -> None:
    assert (record.weight, record.is_proven) == (Fraction(weight), is_proven)


@given(st.integers(0, 300), st.integers(0, 300), st.integers(1, 300))
def test_a_weight_is_never_negative_and_one_more_right_vote_never_lowers_it(
    right: int, wrong: int, split: int
) -> None:
    settled = right + wrong
    before = JudgeRecord("m", settled + split, settled, right, wrong)
    after = JudgeRecord("m", settled + split + 1, settled + 1, right + 1, wrong)
    assert before.weight >= 0
    assert after.weight >= before.weight - Fraction(1, 100)  # both are rounded
    assert (100 * before.weight).denominator == 1


def test_a_record_counts_votes_that_both_readings_agree_on() -> None:
    judgments = [judge("1", "aa"), judge("2", "bb"), judge("3", "ab"), judge("4", "--"), judge("5", "a")]
    found = summarize(*judgments)
    assert found.record == JudgeRecord("m", asked=4, consistent=2, right=1, wrong=1)
    assert (found.accuracy, found.agreement) == (Fraction(1, 2), Fraction(1, 2))


def test_whoever_names_a_side_where_none_was_right_was_wrong() -> None:
    judgments = [judge("1", "aa", gold=""), judge("2", "--", gold="")]
    assert summarize(*judgments).record == JudgeRecord("m", asked=2, consistent=1, right=0, wrong=1)


def test_choices_of_what_stands_first_are_counted_where_it_is_known() -> None:
    found = summarize(judge("1", "ab", firsts="ab"), judge("2", "aa", firsts="ab"), judge("3", "aa"))
    assert (found.first_rate, found.readings) == (Fraction(3, 4), 4)
    assert summarize(judge("1", "aa")).first_rate is None


def test_what_is_not_in_a_choice_is_spread_over_the_other_sides() -> None:
    beliefs = judge("1", "a", beliefs="8").compute_beliefs(("a", "b", "c"))
    assert beliefs == {"a": Fraction(8, 10), "b": Fraction(1, 10), "c": Fraction(1, 10)}
    assert len(list_sides([judge("1", "a")])) == 2
    assert list_sides([judge("1", "abc", firsts="ddd")]) == ("a", "b", "c", "d")


def test_warnings_say_what_to_know_before_a_judge_is_asked() -> None:
    bad = [judge(str(n), "bb", firsts="bb") for n in range(30)]
    assert summarize(*bad).warning == (
        "Its votes count nothing. They are right no more often than by chance. "
        "Where a side stands decides too many of its votes."
    )
    torn = [judge(str(n), "ab", firsts="ab") for n in range(30)]
    assert summarize(*torn).warning.startswith(
        "Its votes count nothing. From 20 votes on the weight says something of this judge. "
        "Its two readings disagree too often."
    )
    assert summarize(judge("1", "a")).warning.startswith("Only items that it read in both orders count")
    good = [judge(str(n), "aa", firsts="ab") for n in range(30)]
    assert summarize(*good).warning == ""


def test_what_debaters_held_is_counted_apart_from_judgments() -> None:
    ballots = [
        replace(judge(item, choice), role="debater") for item, choice in (("1", "a"), ("2", "b"), ("3", "-"))
    ]
    judged = judge("4", "aa")
    assert summarize_ballots([*ballots, judged]) == [BallotStatistics("m", 3, 1)]
    assert [found.record for found in summarize_judges([*ballots, judged])] == [summarize(judged).record]
    assert summarize_judges(ballots) == []
    nobody = replace(judge("5", "-", gold=""), role="debater")
    assert summarize_ballots([nobody]) == [BallotStatistics("m", 1, 0)]
    assert summarize_ballots([judged]) == []
