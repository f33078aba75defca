"""What a ledger tells of models: how often each is right, and what the errors of two have in common."""

from collections.abc import Mapping

import pytest

from server.debate.votes.skills import (
    NOTHING,
    Knowledge,
    PairErrors,
    Tally,
    compute_correlation,
    compute_phi,
    compute_skill,
    draw_accuracy,
)

pytestmark = pytest.mark.requirement("D17")

ALIKE, APART = (50, 50, 50), (50, 50, 25)
"""Of 100 items: what one misses, the other, and both; with correlations of 1 and 0."""


def know(answers: Mapping[str, Tally]) -> Knowledge:
    return Knowledge(7, 20, answers, answers)


def compare(known: Knowledge, one: str, other: str) -> float:
    return compute_correlation(one, other, known)


def test_the_skill_on_a_topic_is_shrunk_to_the_all_round_rate() -> None:
    every, on_topic = {"m": Tally(1010, 1406)}, {"m": Tally(10, 6)}
    right, wrong = compute_skill("m", Knowledge(7, 20, every, on_topic))
    others = 20 / 1020
    usual = (1.5 + (3 + others * 700) / (18 + others * 1000)) / (
        2 + (10 + others * 1000) / (18 + others * 1000)
    )
    assert right == pytest.approx(8 * usual + 3 + others * 700)
    assert right + wrong == pytest.approx(8 + 10 + others * 1000)
    assert compute_skill("unknown", NOTHING) == (6, 2)
    assert compute_skill("m", Knowledge(7, 20, every, every)) == pytest.approx(
        (5.85 + 703, 2.15 + 307), abs=0.01
    )


@pytest.mark.parametrize(
    ("models", "share", "usual"), [(20, 0.5, 0.523), (20, 0.75, 0.75), (99, 1, 15 / 16), (99, 0, 1 / 16)]
)
def test_a_model_that_nobody_knows_is_taken_to_be_as_able_as_the_others(
    models: int, share: float, usual: float
) -> None:
    known = know({f"m{number}": Tally(1000, round(2000 * share)) for number in range(models)})
    assert compute_skill("unknown", known)[0] == pytest.approx(8 * usual, abs=0.01)
    assert 0 < draw_accuracy("unknown", known, 1) < 1


def test_a_model_of_few_items_says_little_of_others() -> None:
    few = know({"m": Tally(2, 0), "other": Tally(0, 0)})
    assert compute_skill("unknown", few)[0] == pytest.approx(8 * 1.5 / 2.2)


def test_draws_have_the_mean_of_the_skill_and_half_of_its_spread() -> None:
    known = know({"m": Tally(100, 140)})
    draws = [draw_accuracy("m", known, seed) for seed in range(2000)]
    mean = sum(draws) / len(draws)
    right, wrong = compute_skill("m", known)
    assert mean == pytest.approx(right / (right + wrong), abs=0.003)
    spread = (sum((draw - mean) ** 2 for draw in draws) / len(draws)) ** 0.5
    assert spread == pytest.approx((right * wrong / 108**2 / 109) ** 0.5 / 2, rel=0.06)


def test_a_seed_draws_the_same_in_every_release() -> None:
    draws = [draw_accuracy("unknown", know({"m": Tally(100, 140)}), seed) for seed in range(300)]
    assert draws[:3] == [0.7656, 0.7589, 0.8046]
    assert sum(draws) == pytest.approx(220.2513, abs=1e-6)


def test_the_correlation_of_errors_needs_errors_that_differ() -> None:
    assert compute_phi(PairErrors(10, 0, 5, 0)) is None
    assert compute_phi(PairErrors(10, 5, 5, 5)) == 1
    assert compute_phi(PairErrors(10, 5, 5, 0)) == -1


def test_where_nothing_is_known_of_two_models_their_families_tell() -> None:
    assert compare(NOTHING, "acme/a", "acme/a") == 0.9
    assert compare(NOTHING, "acme/a", "acme/b") == 0.7
    assert compare(NOTHING, "acme/a", "beta/a") == 0.5
    never = Knowledge(pairs={("acme/a", "beta/a"): PairErrors(100, 0, 50, 0)})
    assert compare(never, "acme/a", "beta/a") == 0.5


def test_what_families_have_in_common_is_learned_from_the_pairs_of_the_ledger() -> None:
    across = {(f"acme/{number}", f"beta/{number}"): PairErrors(100, *APART) for number in range(20)}
    within = {("acme/0", f"acme/{number}"): PairErrors(100, *ALIKE) for number in range(1, 20)}
    known = Knowledge(pairs={**across, **within})
    assert compare(known, "gamma/a", "delta/a") == pytest.approx(40 * 0.5 / 2040)
    assert compare(known, "gamma/a", "gamma/b") == pytest.approx((40 * 0.7 + 1900) / 1940)
    few = Knowledge(pairs={("acme/0", "beta/0"): PairErrors(10, 5, 5, 0)})
    assert compare(few, "gamma/a", "delta/a") == pytest.approx((40 * 0.5 - 10) / 50)
    assert compare(few, "gamma/a", "gamma/b") == 0.7


def test_two_models_are_taken_for_as_their_families_are_until_many_items_tell_otherwise() -> None:
    across = {
        (f"acme/{number}", f"beta/{number}"): PairErrors(10_000, *(100 * one for one in APART))
        for number in range(9)
    }
    for items, share in ((0, 0.0), (120, 0.5), (12_000, 100 / 101)):
        half = items // 2
        pair = {("acme/x", "beta/x"): PairErrors(items, half, half, half)} if items else {}
        known = Knowledge(pairs={**across, **pair})
        usual = compare(known, "gamma/a", "delta/a")
        found = compare(known, "beta/x", "acme/x")
        assert found == pytest.approx(share + (1 - share) * usual)
