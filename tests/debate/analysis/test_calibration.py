"""How a correction of beliefs is learnt, and how far beliefs are from how often they are right."""

import math

import pytest

from server.debate.analysis.calibration import (
    NO_CALIBRATION,
    Bin,
    Calibration,
    Outcomes,
    compute_calibration_error,
    fit_calibration,
    sort_into_bins,
)

pytestmark = pytest.mark.requirement("N3", "N21")

TOO_SURE = (Outcomes(0.9, 12, 20), Outcomes(0.6, 7, 10), Outcomes(1.0, 3, 4))


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
