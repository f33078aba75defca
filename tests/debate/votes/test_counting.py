"""From votes to an outcome: cases counted by hand, and what has to hold for every panel."""

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.votes.consensus import classify_share
from server.debate.votes.counting import (
    SYNTHESIS,
    Count,
    CountedVote,
    compute_strength,
    count_voices,
    count_votes,
)
from server.debate.votes.families import family

pytestmark = pytest.mark.requirement("N2")

MODELS = ("openai/gpt-5", "openai/gpt-4o", "anthropic/claude", "mistral/large", "gemini/pro", "deepseek/chat")
OTHER_MODELS = (MODELS[0], *MODELS[2:], "cohere/command", "qwen/max", "meta/llama")
RANKS = {"decided": 2, "synthesis": 2, "leaning": 1, "contested": 0, "undecided": 0}

VOTES = st.sampled_from(("Ada", "Ada", "Ben", "Cleo", ""))
WEIGHTS = st.integers(0, 300).map(lambda hundredths: Fraction(hundredths, 100))
BALLOTS = st.tuples(st.sampled_from(MODELS), VOTES, st.integers(0, 3), WEIGHTS)
PANELS = st.lists(BALLOTS, min_size=1, max_size=7).map(
    lambda rows: [
        CountedVote(f"judge {n}", model, side, margin, weight)
        for n, (model, side, margin, weight) in enumerate(rows, start=1)
    ]
)


def count(votes: str, margins: str = "", models: tuple[str, ...] = OTHER_MODELS) -> Count:
    """A letter for each judge: the side, "-" for none. `margins`: a digit each, else all clear."""
    rows = zip(votes, margins or "2" * len(votes), models, strict=False)
    return count_votes(
        [
            CountedVote(f"judge {n}", model, vote.replace("-", ""), int(margin))
            for n, (vote, margin, model) in enumerate(rows, start=1)
        ]
    )


@pytest.mark.parametrize(
    ("votes", "margins", "outcome", "ahead"),
    [
        ("a", "3", "leaning", "a"),  # P = sigmoid(1.10) = .75
        ("a", "1", "leaning", "a"),
        ("a", "0", "leaning", "a"),  # a low margin lowers a label, and never empties it
        ("-", "0", "undecided", ""),
        ("aa", "22", "decided", "a"),  # P = sigmoid(1.10 * 4/3) = .81
        ("aa", "21", "leaning", "a"),
        ("aa", "00", "leaning", "a"),
        ("a-", "30", "leaning", "a"),  # silence is against nobody
        ("ab", "33", "contested", ""),
        ("--", "00", "undecided", ""),
        ("aaa", "222", "decided", "a"),  # P = sigmoid(1.10 * 1.5) = .84
        ("aaa", "221", "leaning", "a"),
        ("aa-", "330", "decided", "a"),
        ("aab", "333", "contested", "a"),  # P = sigmoid(1.10 * 1/3) = .59
        ("ab-", "330", "contested", ""),
        ("a--", "300", "undecided", "a"),
        ("abc", "333", "contested", ""),
        ("aaaaa", "22222", "decided", "a"),  # P = sigmoid(1.10 * 5/3) = .86
        ("aaaa-", "22220", "decided", "a"),  # 4/5, P = sigmoid(1.10 * 1.6) = .85
        ("aaa--", "33300", "decided", "a"),
        ("aa--", "3300", "leaning", "a"),  # exactly half, which is not more
        ("aaab", "3333", "leaning", "a"),  # P = sigmoid(1.10 * (1.5 - 1)) = .63
        ("aaaabb", "333333", "contested", "a"),  # P = sigmoid(1.10 * (1.6 - 4/3)) = .57
        ("ab---", "33000", "undecided", ""),  # fewer than half found anything
        ("aabbb---", "33333000", "contested", "b"),
        ("aaaab", "33333", "leaning", "a"),  # 1/5 against, which is more than a tenth; P = .66
        ("aaabb", "33333", "contested", "a"),  # P = sigmoid(1.10 * (1.5 - 4/3)) = .55
        ("aab--", "33300", "contested", "a"),
        ("aa---", "33000", "undecided", "a"),
    ],
)
def test_votes_of_judges_of_different_models_count_as_worked_out_by_hand(
    votes: str, margins: str, outcome: str, ahead: str
) -> None:
    found = count(votes, margins)
    assert (found.outcome, found.ahead) == (outcome, ahead)


@pytest.mark.parametrize(
    ("judges", "probability", "voices"), [(1, 0.75, 1), (2, 0.81, 4 / 3), (3, 0.84, 1.5), (5, 0.86, 5 / 3)]
)
def test_agreement_of_different_models_is_as_probable_as_published(
    judges: int, probability: float, voices: float
) -> None:
    found = count("a" * judges)
    assert found.probability == pytest.approx(probability, abs=0.005)
    assert found.voices == pytest.approx(voices)


def test_judges_of_one_family_are_more_than_one_voice_and_less_than_of_several() -> None:
    one_family = count("aaa", models=("openai/gpt-5", "openai/gpt-4o", "openai/o3"))
    assert one_family.voices == pytest.approx(9 / (3 + 6 * 0.7))
    assert count("aaa", models=("openai/gpt-5",) * 3).voices < one_family.voices < count("aaa").voices


def test_half_of_the_weight_is_not_more_than_half_whatever_the_weights() -> None:
    for hundredths in range(1, 300):
        seats = [
            CountedVote(f"judge {n}", OTHER_MODELS[n], side, weight=Fraction(hundredths, 100))
            for n, side in enumerate(("a", "a", "", ""))
        ]
        assert count_votes(seats).outcome == "leaning"


@pytest.mark.parametrize(("against", "outcome"), [(Fraction(1), "decided"), (Fraction(101, 100), "leaning")])
def test_a_tenth_of_the_weight_against_a_side_is_not_more_than_a_tenth(
    against: Fraction, outcome: str
) -> None:
    supporters = [CountedVote(f"judge {n}", OTHER_MODELS[n], "a", weight=Fraction(3)) for n in range(3)]
    assert (
        count_votes([*supporters, CountedVote("judge 4", OTHER_MODELS[3], "b", weight=against)]).outcome
        == outcome
    )


def test_a_judge_decides_alone_only_with_a_record_that_proves_it() -> None:
    judge = CountedVote("judge 1", "v/x", "a", weight=Fraction(2))  # P = sigmoid(2.20) = .90
    assert count_votes([judge]).outcome == "leaning"
    assert count_votes([replace(judge, is_proven=True)]).outcome == "decided"


def test_a_vote_without_weight_is_none() -> None:
    votes = (CountedVote("judge 1", "v/x", "a", weight=Fraction(0)), CountedVote("judge 2", "v/y"))
    assert count_votes(votes) == Count(votes, "undecided")


@pytest.mark.parametrize(
    ("votes", "outcome", "ahead"),
    [
        ("ss-", "synthesis", SYNTHESIS),
        ("sa-", "undecided", "a"),  # a third for a, and nobody against
        ("as", "leaning", "a"),  # who finds for neither opposes nobody
        ("aas", "decided", "a"),
        ("ssa", "synthesis", SYNTHESIS),
        ("sss--aab", "contested", "a"),  # three of six votes are not more than half
        ("s--", "undecided", ""),
    ],
)
def test_who_finds_for_neither_opposes_nobody_and_most_of_them_make_a_synthesis(
    votes: str, outcome: str, ahead: str
) -> None:
    sides = {"s": SYNTHESIS, "-": ""}
    judges = [
        CountedVote(f"judge {n}", model, sides.get(vote, vote), margin=3 if vote == "a" else 0)
        for n, (vote, model) in enumerate(zip(votes, OTHER_MODELS, strict=False))
    ]
    found = count_votes(judges)
    assert (found.outcome, found.ahead) == (outcome, ahead)


def test_judges_of_one_family_do_not_decide_whatever_their_models_or_resellers() -> None:
    models = ("openai/gpt-5", "openrouter/openai/gpt-4o", "azure/o3")
    judges = [CountedVote(f"judge {n}", model, "a", 3, trained_by="openai") for n, model in enumerate(models)]
    assert count_votes(judges).outcome == "leaning"


def test_a_threshold_that_is_not_reached_leaves_no_winner() -> None:
    judges = [
        CountedVote(f"judge {n}", model, side)
        for n, (model, side) in enumerate(zip(MODELS, "aab", strict=False))
    ]
    assert count_votes(judges[:2], threshold=Fraction(1)).outcome == "leaning"  # two of one family
    assert (
        count_votes([*judges[:2], CountedVote("z", "v/z", "")], threshold=Fraction(3, 4)).outcome
        == "undecided"
    )


@given(PANELS, st.permutations(("Ada", "Ben", "Cleo")))
def test_no_side_is_favoured(panel: list[CountedVote], order: list[str]) -> None:
    renamed = dict(zip(("Ada", "Ben", "Cleo", ""), (*order, ""), strict=True))
    before = count_votes(panel)
    after = count_votes([CountedVote(s.seat, s.model, renamed[s.side], s.margin, s.weight) for s in panel])
    assert (after.outcome, after.ahead) == (before.outcome, renamed[before.ahead])
    assert (after.support, after.against, after.probability) == (
        before.support,
        before.against,
        before.probability,
    )


@given(PANELS, st.randoms(use_true_random=False))
def test_no_judge_counts_by_its_seat(panel: list[CountedVote], chance: Random) -> None:
    names = [seat.seat for seat in panel]
    chance.shuffle(names)
    moved = [
        CountedVote(name, s.model, s.side, s.margin, s.weight) for name, s in zip(names, panel, strict=True)
    ]
    chance.shuffle(moved)
    assert replace(count_votes(moved), votes=()) == replace(count_votes(panel), votes=())


@given(PANELS, st.sampled_from(MODELS), WEIGHTS)
def test_a_seat_without_a_vote_never_raises_an_outcome(
    panel: list[CountedVote], model: str, weight: Fraction
) -> None:
    before, after = count_votes(panel), count_votes([*panel, CountedVote("silent", model, "", weight=weight)])
    assert RANKS[after.outcome] <= RANKS[before.outcome]
    assert (after.ahead, after.support <= before.support) == (before.ahead, True)


@given(PANELS, st.sampled_from(MODELS), WEIGHTS)
def test_one_more_supporter_never_makes_a_side_weaker(
    panel: list[CountedVote], model: str, weight: Fraction
) -> None:
    supporters = [CountedVote(seat.seat, seat.model, "Ada", weight=seat.weight) for seat in panel]
    assert compute_strength(
        [*supporters, CountedVote("more", model, "Ada", weight=weight)]
    ) >= compute_strength(supporters)


@given(PANELS)
def test_several_judges_are_at_least_one_voice_and_never_more_than_two(panel: list[CountedVote]) -> None:
    assert 1 <= count_voices(panel) < 2


@given(PANELS)
def test_a_cap_makes_of_decided_leaning_and_changes_nothing_else(panel: list[CountedVote]) -> None:
    free = count_votes(panel)
    capped = count_votes(panel, is_capped=True)
    assert capped.outcome == ("leaning" if free.outcome == "decided" else free.outcome)


@given(st.lists(st.sampled_from(MODELS), min_size=2, max_size=9), st.sampled_from(("Ben", "")))
def test_what_is_decided_meets_every_published_condition(models: list[str], last: str) -> None:
    sides = ["Ada"] * (len(models) - 1) + [last]
    panel = [
        CountedVote(f"judge {n}", model, side)
        for n, (model, side) in enumerate(zip(models, sides, strict=True))
    ]
    found = count_votes(panel)
    is_opposed = last == "Ben" and len(models) < 10
    families = {family(model) for model in models[:-1]}
    is_enough = 2 * (len(models) - 1) > len(models) and len(families) > 1
    is_decided = is_enough and not is_opposed and found.probability >= 0.8
    assert (found.outcome == "decided") == is_decided


@pytest.mark.requirement("D21")
@pytest.mark.parametrize(
    ("weights", "kind"),
    [
        ({"A": [1, 1]}, "unanimous"),
        ({"A": [1, 1], "": [1]}, "supermajority"),
        ({"A": [2, 2], "B": [2, Fraction(1, 9**9)]}, "majority"),
        ({"A": [1, 1], "B": [1], "": [1]}, "plurality"),
    ],
)
def test_a_consensus_says_how_much_of_all_the_weight_is_behind_it(weights: Any, kind: str) -> None:
    total = sum(sum(given) for given in weights.values())
    assert classify_share(Fraction(sum(weights["A"])) / total) == kind
