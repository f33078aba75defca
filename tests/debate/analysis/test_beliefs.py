"""Beliefs of several judges as one, and their correction: cases worked out by hand, and what has to hold for all."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.analysis.beliefs import (
    NO_CALIBRATION,
    Bin,
    Calibration,
    Outcomes,
    compute_calibration_error,
    fit_calibration,
    pool_beliefs,
    sort_into_bins,
)
from server.debate.analysis.judgments import Beliefs
from server.debate.votes.counting import CountedVote, count_voices

pytestmark = pytest.mark.requirement("N3", "N21")

SIDES = ("a", "b")
TOO_SURE = (Outcomes(0.9, 12, 20), Outcomes(0.6, 7, 10), Outcomes(1.0, 3, 4))

Asked = tuple[CountedVote, Beliefs | None]


def believe(percent: int | None, weight: str = "1", model: str = "one/m") -> Asked:
    beliefs = None if percent is None else {"a": Fraction(percent, 100), "b": Fraction(100 - percent, 100)}
    return CountedVote(model, model, "a", weight=Fraction(weight)), beliefs


@pytest.mark.parametrize(
    ("asked", "mean"),
    [
        ([believe(80)], 0.8),
        ([believe(100)], 0.95),  # clipped
        ([believe(0)], 0.05),
        ([believe(90), believe(70)], 0.8),
        ([believe(90), believe(None)], 0.7),  # a silent seat counts as one half
        ([believe(90, "3"), believe(50, "1")], 0.8),
        ([believe(90), believe(10, "0")], 0.9),
        ([believe(80), believe(80, model="two/m")], 0.8),
    ],
)
def test_beliefs_are_clipped_averaged_over_all_seats_and_sharpened_by_independent_voices(
    asked: list[Asked], mean: float
) -> None:
    voices = float(count_voices([seat for seat, beliefs in asked if beliefs]))
    log_odds = voices * math.log(mean / (1 - mean))
    expected = 1 / (1 + math.exp(-log_odds))
    assert pool_beliefs(asked, SIDES) == {"a": pytest.approx(expected), "b": pytest.approx(1 - expected)}


def test_without_a_belief_that_counts_there_is_no_pooled_one() -> None:
    assert pool_beliefs([believe(None)], SIDES) == {}
    assert pool_beliefs([believe(90, "0")], SIDES) == {}


def test_a_belief_in_none_of_the_sides_stays_one_and_a_silent_seat_has_none() -> None:
    beliefs = {"a": Fraction(5, 10), "b": Fraction(2, 10), "": Fraction(3, 10)}
    unsure = (believe(50)[0], beliefs)
    assert pool_beliefs([unsure], SIDES) == {side: pytest.approx(float(x)) for side, x in beliefs.items()}
    assert pool_beliefs([unsure, believe(None)], SIDES)[""] == pytest.approx(0.15)


PERCENTS = st.lists(st.tuples(st.integers(0, 100), st.integers(1, 300)), min_size=1, max_size=6)


@given(PERCENTS)
def test_pooled_beliefs_are_together_one_and_turn_with_the_sides(told: list[tuple[int, int]]) -> None:
    asked = [believe(percent, str(Fraction(weight, 100))) for percent, weight in told]
    turned = [believe(100 - percent, str(Fraction(weight, 100))) for percent, weight in told]
    pooled = pool_beliefs(asked, SIDES)
    assert sum(pooled.values()) == pytest.approx(1)
    assert pool_beliefs(turned, SIDES)["b"] == pytest.approx(pooled["a"])


def test_a_correction_applies_to_each_belief_before_they_are_pooled() -> None:
    doubled = Calibration(scale=2.0, intercept=0.0, items=20)
    assert pool_beliefs([believe(80)], SIDES, doubled)["a"] == pytest.approx(0.64 / 0.68)


def test_the_correction_is_the_likeliest_where_none_is_expected_beforehand() -> None:
    found = fit_calibration(TOO_SURE, 20)
    slopes = [0.0, 0.0]
    for belief, right, number in TOO_SURE:
        log_odds = math.log(min(belief, 0.95) / (1 - min(belief, 0.95)))
        missing = right - number / (1 + math.exp(-(found.intercept + found.scale * log_odds)))
        slopes = [slopes[0] + missing, slopes[1] + missing * log_odds]
    # At the top of the likelihood, the data pull as much one way as the prior does the other.
    assert slopes == pytest.approx([found.intercept, found.scale - 1], abs=2e-3)
    assert found.items == 20
    assert 0.6 < found.correct({"a": 0.1, "b": 0.9})["b"] < 0.75


def test_nothing_is_learnt_from_few_items_or_from_none() -> None:
    assert fit_calibration(TOO_SURE, 19) == fit_calibration([], 20) == NO_CALIBRATION
    assert fit_calibration([Outcomes(0.9, 0, 0)], 20) == NO_CALIBRATION
    assert NO_CALIBRATION.correct({"a": 0.1, "b": 0.9}) == {"a": 0.1, "b": 0.9}


def test_the_likeliest_side_is_corrected_and_the_others_keep_their_proportions() -> None:
    halved = Calibration(scale=0.5, items=20).correct({"a": 0.05, "b": 0.8, "c": 0.15})
    assert halved == pytest.approx({"a": 1 / 12, "b": 2 / 3, "c": 1 / 4})  # odds of 4 become odds of 2
    sure = Calibration(scale=9.0, items=20)
    assert sure.correct({"a": 0.2, "b": 0.8})["b"] == 0.95
    assert Calibration(scale=-9.0, items=20).correct({"a": 0.2, "b": 0.8})["b"] == 0.05


def test_beliefs_are_sorted_into_tenths() -> None:
    outcomes = [Outcomes(0.0, 1, 4), Outcomes(0.75, 1, 2), Outcomes(0.71, 0, 2), Outcomes(1.0, 2, 2)]
    assert sort_into_bins(outcomes) == [
        Bin(0.0, 0.1, 4, 0.0, 0.25),
        Bin(0.7, 0.8, 4, 0.73, 0.25),
        Bin(0.9, 1.0, 2, 1.0, 1.0),
    ]
    assert compute_calibration_error(sort_into_bins(outcomes)) == pytest.approx((4 * 0.25 + 4 * 0.48) / 10)
    assert compute_calibration_error([]) == 0


@given(st.lists(st.tuples(st.integers(0, 100), st.booleans()), min_size=20, max_size=60))
def test_a_correction_is_finite_and_stays_within_bounds_whatever_was_recorded(
    told: list[tuple[int, bool]],
) -> None:
    found = fit_calibration([Outcomes(percent / 100, right, 1) for percent, right in told], len(told))
    assert math.isfinite(found.scale)
    assert math.isfinite(found.intercept)
    for belief in (0.5, 0.7, 0.95):
        corrected = found.correct({"a": belief, "b": 1 - belief})
        assert 0.05 <= corrected["a"] <= 0.95
        assert sum(corrected.values()) == pytest.approx(1)
