"""Pooled beliefs and their calibration: cases worked out by hand, and what has to hold for all."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.analysis.calibration import (
    NO_CALIBRATION,
    Bin,
    Calibration,
    Outcomes,
    compute_calibration_error,
    fit_calibration,
    sort_into_bins,
)
from server.debate.analysis.pooling import Believer, pool_beliefs

pytestmark = pytest.mark.requirement("N3")

SIDES = ("a", "b")


def believe(percent: int | None, weight: str = "1") -> Believer:
    beliefs = None if percent is None else {"a": Fraction(percent, 100), "b": Fraction(100 - percent, 100)}
    return Believer(Fraction(weight), beliefs)


@pytest.mark.parametrize(
    ("seats", "voices", "expected"),
    [
        ([believe(80)], 1, 0.8),
        ([believe(100)], 1, 0.95),  # clipped
        ([believe(0)], 1, 0.05),
        ([believe(90), believe(70)], 1, 0.8),
        ([believe(90), believe(None)], 1, 0.7),  # a silent seat counts as one half
        ([believe(90, "3"), believe(50, "1")], 1, 0.8),
        ([believe(90), believe(10, "0")], 1, 0.9),
        ([believe(80)], 2, 0.64 / 0.68),  # log-odds times two
    ],
)
def test_beliefs_are_clipped_averaged_over_all_seats_and_sharpened(
    seats: list[Believer], voices: float, expected: float
) -> None:
    pooled = pool_beliefs(seats, SIDES, voices)
    assert pooled == {"a": pytest.approx(expected), "b": pytest.approx(1 - expected)}


def test_without_a_belief_that_counts_there_is_no_pooled_one() -> None:
    assert pool_beliefs([believe(None)], SIDES, 1) == {}
    assert pool_beliefs([believe(90, "0")], SIDES, 1) == {}


def test_a_belief_in_none_of_the_sides_stays_one_and_a_silent_seat_has_none() -> None:
    unsure = Believer(Fraction(1), {"a": Fraction(5, 10), "b": Fraction(2, 10), "": Fraction(3, 10)})
    assert pool_beliefs([unsure], SIDES, 1) == {
        "a": pytest.approx(0.5),
        "b": pytest.approx(0.2),
        "": pytest.approx(0.3),
    }
    assert pool_beliefs([unsure, believe(None)], SIDES, 1)[""] == pytest.approx(0.15)


PERCENTS = st.lists(st.tuples(st.integers(0, 100), st.integers(1, 300)), min_size=1, max_size=6)


@given(PERCENTS, st.floats(1, 2))
def test_pooled_beliefs_are_together_one_and_turn_with_the_sides(
    told: list[tuple[int, int]], voices: float
) -> None:
    seats = [believe(percent, str(Fraction(weight, 100))) for percent, weight in told]
    turned = [believe(100 - percent, str(Fraction(weight, 100))) for percent, weight in told]
    pooled = pool_beliefs(seats, SIDES, voices)
    assert sum(pooled.values()) == pytest.approx(1)
    assert pool_beliefs(turned, SIDES, voices)["b"] == pytest.approx(pooled["a"])


def test_fewer_than_twenty_settled_items_correct_nothing() -> None:
    assert fit_calibration([Outcomes(0.9, 5, 19)], 19) is NO_CALIBRATION
    assert NO_CALIBRATION.correct({"a": 0.9, "b": 0.1}) == {"a": 0.9, "b": 0.1}


def test_judges_that_are_surer_than_right_are_corrected_to_what_they_are_worth() -> None:
    half = ((0.6, 0.55), (0.75, 0.634), (0.9, 0.75))  # beliefs, and what they are worth: half the log-odds
    outcomes = [Outcomes(belief, round(400 * worth), 400) for belief, worth in half]
    found = fit_calibration(outcomes, 1200)
    assert found.scale == pytest.approx(0.5, abs=0.03)
    assert found.intercept == pytest.approx(0, abs=0.03)
    assert found.correct({"a": 0.9, "b": 0.06, "c": 0.04}) == {
        "a": pytest.approx(0.75, abs=0.03),
        "b": pytest.approx(0.25 * 0.6, abs=0.03),
        "c": pytest.approx(0.25 * 0.4, abs=0.03),
    }


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


def test_a_correction_applies_to_the_likeliest_side() -> None:
    doubled = Calibration(scale=2.0, intercept=0.0, items=20)
    assert doubled.correct({"a": 0.2, "b": 0.8})["b"] == pytest.approx(0.64 / 0.68)
    assert pool_beliefs([believe(80)], SIDES, 1, doubled)["a"] == pytest.approx(0.64 / 0.68)


def test_bins_hold_beliefs_of_about_the_same_size() -> None:
    bins = sort_into_bins([Outcomes(0.5, 1, 2), Outcomes(0.5625, 1, 2), Outcomes(1.0, 1, 1)])
    assert bins == [Bin(0.5, 0.6, 4, 0.53125, 0.5), Bin(0.9, 1.0, 1, 1.0, 1.0)]
    assert compute_calibration_error(bins) == pytest.approx(0.03125 * 4 / 5)
    assert compute_calibration_error([]) == 0
