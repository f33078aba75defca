"""Which models are chosen from candidates: by skill, by what their errors have in common, and by price."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from server.debate.facts.setup.ledger import Team
from server.debate.facts.setup.limits import Price
from server.debate.votes.families import family
from server.debate.votes.skills import NOTHING, Knowledge, PairErrors, Tally, compute_overconfidence
from server.debate.votes.teams import Member, Pool, TeamRequest, choose_team, draw_accuracies, list_contenders

pytestmark = pytest.mark.requirement("D17")

ALPHA, BETA, GAMMA, DELTA = "alpha/one", "beta/one", "gamma/one", "delta/one"
FOUR = (ALPHA, BETA, GAMMA, DELTA)


def know(rights: Mapping[str, float], items: int = 400, **more: object) -> Knowledge:
    """A ledger in which each model was right in such a share of so many items."""
    tallies = {model: Tally(items, 2 * round(share * items)) for model, share in rights.items()}
    return replace(Knowledge(7, 20, tallies, tallies), **more)  # type: ignore[arg-type]


def choose(
    known: Knowledge = NOTHING, seed: int = 1, prices: Mapping[str, str] | None = None, **fields: object
) -> Team:
    request = TeamRequest(**{"candidates": FOUR, "count": 2, "judges": 2, **fields})  # type: ignore[arg-type]
    table = {name: Price(model=name, input=one, output=one) for name, one in (prices or {}).items()}
    return choose_team(request, known, draw_accuracies(request, known, seed), table, seed)


def test_the_same_arguments_give_the_same_choice_and_another_seed_another_draw() -> None:
    known = know(dict.fromkeys(FOUR, 0.7), items=30)
    assert choose(known) == choose(known)
    assert choose(known).candidates != choose(known, seed=2).candidates
    assert {choose(known, seed=seed).chosen for seed in range(40)} != {choose(known).chosen}


def test_with_little_known_families_decide_and_then_the_price() -> None:
    names = ("acme/a", "acme/b", "beta/a", "beta/b", "gamma/a")
    prices = dict(zip(names, ("0.000009", "0.000001", "0.000002", "0.000003", "0.00009"), strict=True))
    nearly = know({"acme/a": 0.99}, settled_items=19)
    for known in (NOTHING, nearly):
        team = choose(known, candidates=names, prices=prices, count=3, judges=0)
        assert team.chosen == ("acme/b", "beta/a", "gamma/a")
        assert all(one.draw == "" for one in team.candidates)
    assert team.settled_items == 19


def test_who_was_right_more_often_is_chosen_first() -> None:
    team = choose(know({ALPHA: 0.55, BETA: 0.9, GAMMA: 0.6, DELTA: 0.85}))
    assert set(team.chosen) == {BETA, DELTA}
    assert team.judges == (GAMMA, ALPHA)
    assert [float(gain) for gain in team.gains] == sorted(map(float, team.gains), reverse=True)


def test_models_that_nobody_knows_do_not_take_all_seats_where_questions_are_hard() -> None:
    tried, unknown = [f"alpha/{number}" for number in range(10)], [f"beta/{number}" for number in range(10)]
    known = know(dict.fromkeys(tried, 0.55) | {"alpha/good": 0.65}, items=100)
    names = (*tried, "alpha/good", *unknown)
    teams = [choose(known, seed, candidates=names, judges=0).chosen for seed in range(100)]
    assert sum("alpha/good" in team for team in teams) > 20
    assert sum(not {*unknown}.isdisjoint(team) for team in teams) > 40


def test_a_model_that_shares_the_errors_of_another_adds_less_than_a_weaker_one_of_its_own_mind() -> None:
    rights = {ALPHA: 0.8, BETA: 0.79, GAMMA: 0.76}
    alike = {(ALPHA, BETA): PairErrors(400, 80, 84, 80), (ALPHA, GAMMA): PairErrors(400, 80, 96, 19)}
    known = know(rights, items=4000, pairs={**alike, (BETA, GAMMA): PairErrors(400, 84, 96, 19)})
    assert set(choose(known, candidates=(ALPHA, BETA, GAMMA), judges=0).chosen) in (
        {ALPHA, GAMMA},
        {BETA, GAMMA},
    )
    blind = choose(known, candidates=(ALPHA, BETA, GAMMA), judges=0, diversity=Fraction(0))
    assert set(blind.chosen) == {ALPHA, BETA}
    assert blind.diversity == "0"


def test_a_model_that_is_surer_than_right_adds_less_than_a_calibrated_one() -> None:
    calibrated, sure = Tally(400, 560, 400, 28_000, 280), Tally(400, 560, 400, 39_600, 280)
    answers = {ALPHA: Tally(400, 700), BETA: sure, GAMMA: calibrated}
    known = Knowledge(7, 20, answers, answers)
    assert compute_overconfidence(BETA, known) > 0.25 > compute_overconfidence(GAMMA, known) == 0
    chosen = [choose(known, seed, candidates=(ALPHA, BETA, GAMMA), judges=0).chosen for seed in range(50)]
    assert sum(GAMMA in one for one in chosen) > 40


def test_between_equals_the_cheaper_one_is_taken_and_an_unknown_price_is_not_free() -> None:
    known = know(dict.fromkeys(FOUR, 0.8), items=100_000)
    prices = {ALPHA: "0.00001", BETA: "0.0000001", GAMMA: "0.0000001"}
    team = choose(known, prices=prices, judges=0)
    assert set(team.chosen) == {BETA, GAMMA}
    assert set(choose(prices={DELTA: "0.1"}, judges=0, candidates=(ALPHA, DELTA)).chosen) == {ALPHA, DELTA}


def test_judges_are_of_other_families_than_the_debaters_as_far_as_there_are_such() -> None:
    names = ("acme/a", "acme/b", "acme/c", "beta/a", "gamma/a")
    known = know({"acme/a": 0.95, "acme/b": 0.9, "acme/c": 0.85, "beta/a": 0.6, "gamma/a": 0.58}, items=4000)
    team = choose(known, candidates=names, count=1, judges=9)
    assert team.chosen == ("acme/a",)
    assert {*map(family, team.judges[:2])} == {"beta", "gamma"}
    assert team.judges[2:] == ("acme/b", "acme/c", "acme/a")


def test_a_model_that_is_no_better_than_a_coin_judges_only_where_nobody_else_is_left() -> None:
    names = ("acme/a", "acme/b", "beta/a", "gamma/a")
    known = know({"acme/a": 0.95, "acme/b": 0.9, "beta/a": 0.3, "gamma/a": 0.6}, items=4000)
    team = choose(known, candidates=names, count=1, judges=4)
    assert team.chosen == ("acme/a",)
    assert team.judges == ("gamma/a", "acme/b", "acme/a", "beta/a")


def test_with_fewer_candidates_than_seats_all_sit_before_one_sits_twice() -> None:
    team = choose(know({ALPHA: 0.9, BETA: 0.6}), candidates=(ALPHA, BETA, ALPHA), count=5, judges=0)
    assert [one.model for one in team.candidates] == [ALPHA, BETA]
    assert set(team.chosen[:2]) == set(team.chosen[2:4]) == {ALPHA, BETA}
    assert len(team.chosen) == len(team.gains) == 5


def test_models_that_the_caller_seated_count_as_chosen_first() -> None:
    names = ("acme/a", "acme/b", "beta/a")
    team = choose(candidates=names, seated=("beta/b", "acme/c"), count=1, judges=0)
    assert team.seated == ("beta/b", "acme/c")
    assert team.chosen[0] in names
    family_left = choose(candidates=names, seated=("beta/b",), count=1, judges=0).chosen[0]
    assert family_left.startswith("acme")
    assert choose(candidates=("beta/b", "beta/c"), seated=("beta/b",), count=1, judges=0).chosen == (
        "beta/c",
    )


def test_a_model_below_chance_adds_nothing_and_a_correlation_needs_errors_to_differ() -> None:
    team = choose(know({ALPHA: 0.9, BETA: 0.1}, items=4000), candidates=(ALPHA, BETA), judges=0)
    assert [float(gain) for gain in team.gains][1] == 0
    never = {(ALPHA, BETA): PairErrors(10, 0, 5, 0)}
    known = know({ALPHA: 0.8, BETA: 0.8}, items=4000)
    kept = choose(replace(known, pairs=never), candidates=(ALPHA, BETA), judges=0)
    assert kept == choose(known, candidates=(ALPHA, BETA), judges=0)


def test_a_model_alone_is_as_often_right_as_it_is_drawn_to_be() -> None:
    alone = Member(ALPHA, "alpha", log_odds=math.log(4), weight=math.log(4), price=0.0, rank=b"")
    pool = Pool(NOTHING, 1.0)
    assert pool.compute_accuracy(alone) == pytest.approx(0.8)
    pool.add(alone, [])
    assert pool.compute_accuracy() == pytest.approx(0.8)


def test_errors_are_compared_of_those_who_sit_and_of_the_best_drawn() -> None:
    names = tuple(f"acme/{number}" for number in range(100))
    request = TeamRequest(candidates=names, count=2, seated=("beta/worst",))
    draws = {name: 0.5 + number / 1000 for number, name in enumerate(names)} | {"beta/worst": 0.1}
    assert list_contenders(request, draws) == ["beta/worst", *names[:-49:-1]]
    assert list_contenders(replace(request, seated=names[-1:]), draws) == [*names[:-49:-1]]
    assert draw_accuracies(request, NOTHING, 1) == {}


def test_the_embedded_model_sits_and_judges_only_where_nobody_else_is_left() -> None:
    prices = {ALPHA: "0.001", BETA: "0.001", "local": "0"}
    team = choose(candidates=("local", ALPHA, BETA), prices=prices, count=3, judges=3)
    assert team.chosen[2] == team.judges[2] == "local"
