"""Sides and the count: recorded cases of seats, nulls, combinations and failures; and no order of seats matters."""

import re
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.answer.count import (
    AdviceCount,
    count_panel,
    describe_agreement,
    describe_count,
    find_case,
    name_outcome,
)
from server.debate.answer.sides import Sides, find_classes, find_sides
from server.debate.facts.advice import MINE, Opinion
from tests.support.panels import (
    APART,
    CASES,
    CLEAR,
    EVEN,
    FAMILIES,
    NOBODY,
    SURE,
    TWO_TO_ONE,
    Final,
    Told,
    all_of,
    build_answer,
    build_review,
    play_panel,
)

pytestmark = pytest.mark.requirement("N2")


@pytest.mark.parametrize("case", CASES.values(), ids=[*CASES])
def test_seats_come_to_the_outcome_of_their_case(case: tuple[Any, ...]) -> None:
    blind, finals, exchange, failed, changes, outcome, head = case
    count = count_panel(play_panel(blind, finals, exchange, failed, **changes))
    assert (count.outcome, name_outcome(count)) == (outcome, head)


LETTERS = st.sampled_from("ABC")
PROBABILITIES = st.sampled_from((EVEN, 65, CLEAR, SURE))


@st.composite
def panels(draw: st.DrawFn) -> tuple[str, list[Final], list[Told], set[str]]:
    """Blind answers, reviews, exchanges and failures of two or three seats, by place."""
    number = draw(st.integers(2, 3))
    blind = "".join(draw(LETTERS) for _ in range(number))
    follows = st.one_of(st.sampled_from(blind), st.sampled_from(["", "".join(sorted(set(blind)))]))
    finals = [(draw(follows), draw(PROBABILITIES)) for _ in range(number)]
    exchange: list[Told] = []
    for seat in range(number):
        others = [other for other in range(number) if other != seat]
        same = draw(st.sets(st.sampled_from(others)))
        exchange.append((same, draw(st.sampled_from(("", "", "a point"))), draw(PROBABILITIES)))
    failed = {
        f"{kind}.{seat + 1}"
        for kind in ("answer", "review", "exchange")
        for seat in range(number)
        if draw(st.integers(0, 11)) == 0
    }
    return blind, finals, exchange, failed


def sum_up(count: AdviceCount) -> tuple[Any, ...]:
    sides = sorted(sum(one.side == other.side for other in count.votes) for one in count.votes if one.side)
    return count.outcome, len(count.supporters), count.against, len(count.caps), sides, len(count.sides.moved)


@pytest.mark.full
@given(panels())
def test_the_order_of_seats_changes_nothing(played: tuple[str, list[Final], list[Told], set[str]]) -> None:
    blind, finals, exchange, failed = played
    found = set()
    for order in permutations(range(len(blind))):
        at = {old: new for new, old in enumerate(order)}
        panel = play_panel(
            "".join(blind[old] for old in order),
            [finals[old] for old in order],
            [({at[one] for one in exchange[old][0]}, *exchange[old][1:]) for old in order],
            {f"{kind}.{at[int(seat) - 1] + 1}" for kind, seat in (one.split(".") for one in failed)},
            families=[FAMILIES[old] for old in order],
        )
        found.add(str(sum_up(count_panel(panel))))
    assert len(found) == 1


def build_three(
    values: tuple[str, str, str], groups: tuple[tuple[tuple[str, ...], ...], ...]
) -> dict[str, str]:
    panel = play_panel("ABC", [("A", CLEAR)] * 3)
    answers = {
        seat: build_answer(seat, "x", value=value) for seat, value in zip(panel.advisors, values, strict=True)
    }
    reviews = {
        seat: (build_review(seat, "x", groups=one),) for seat, one in zip(panel.advisors, groups, strict=True)
    }
    return find_classes(play_panel("ABC", [("A", CLEAR)] * 3, advised=answers, reviewed=reviews))


ONE, TWO, THREE = "Advisor 1", "Advisor 2", "Advisor 3"


def test_answers_are_one_class_where_most_readers_put_them_together_if_need_be_through_a_third() -> None:
    first, second = ((ONE, TWO), (THREE,)), ((ONE,), (TWO, THREE))
    assert build_three(("", "", ""), (first, first, second)) == {ONE: ONE, TWO: ONE, THREE: THREE}
    whole = ((ONE, TWO, THREE),)
    assert build_three(("", "", ""), (first, whole, second)) == dict.fromkeys((ONE, TWO, THREE), ONE)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (("40 %", "55%", ""), [ONE, ONE, ONE]),
        (("40 %", "50 %", "60,5 %"), [ONE, TWO, THREE]),
        (("٤٠٪", "٦٠٪", ""), [ONE, TWO, THREE]),
        (("40 to 50 %", "90 %", "about 10 %"), [ONE, ONE, ONE]),  # no percentage alone
    ],
)
def test_percentages_far_apart_are_never_one_class(values: tuple[str, str, str], classes: list[str]) -> None:
    whole = ((ONE, TWO, THREE),)
    assert [*build_three(values, (whole, whole, whole)).values()] == classes


def test_who_gives_a_percentage_far_from_that_of_an_answer_does_not_follow_it() -> None:
    panel = play_panel("AA", [("A", SURE), ("A", SURE)])
    answers = {seat: build_answer(seat, "x", value="40 %") for seat in panel.advisors}
    far, near = (
        panel.reviewed[seat][0].model_copy(update={"value": value})
        for seat, value in ((ONE, "90 %"), (TWO, "55 %"))
    )
    played = play_panel("AA", [], advised=answers, reviewed={ONE: (far,), TWO: (near,)})
    assert find_sides(played).held == {ONE: "*Advisor 1", TWO: ONE}
    assert find_sides(played).differ


def test_a_reviewer_whose_readings_follow_different_answers_abstains_and_opposes_nobody() -> None:
    panel = play_panel("AB", [("A", SURE), ("A", SURE)], readings=2)
    first = panel.reviewed[ONE][0]
    turned = first.model_copy(update={"slot_index": 2, "follows": (TWO,)})
    same = panel.reviewed[TWO][0].model_copy(update={"slot_index": 2, "probability": 40})
    read = {ONE: (first, turned), TWO: (panel.reviewed[TWO][0], same)}
    count = count_panel(play_panel("AB", [("A", SURE), ("A", SURE)], readings=2, reviewed=read))
    assert [vote.abstains for vote in count.votes] == ["followed different answers in its two readings", ""]
    assert (count.votes[1].margin, count.outcome, count.supporters) == (0, "undecided", (TWO,))


def test_three_sides_of_which_two_pairs_call_themselves_the_same_are_not_joined() -> None:
    finals = [("A", CLEAR), ("B", CLEAR), ("C", CLEAR)]
    chain: list[Told] = [([1], "", CLEAR), ([0, 2], "", CLEAR), ([1], "", CLEAR)]
    assert len({*find_sides(play_panel("ABC", finals, chain)).held.values()}) == 3
    ring: list[Told] = [([1, 2], "", CLEAR), ([0, 2], "", CLEAR), ([0, 1], "", CLEAR)]
    joined = find_sides(play_panel("ABC", finals, ring))
    assert {*joined.held.values()} == {*joined.blind.values()} == {ONE}
    assert joined.moved == ()


def test_the_sides_before_an_exchange_say_whether_one_is_held() -> None:
    panel = play_panel("AB", APART, [NOBODY, ([0], "a point", CLEAR)])
    assert find_sides(panel, 0).differ
    assert not find_sides(panel).differ
    assert not Sides({}, {ONE: "", TWO: ONE}).differ


def test_judges_who_review_vote_in_place_of_the_advisors() -> None:
    judges = ("judge 1", "judge 2")
    played = play_panel("AB", [("A", SURE), ("A", SURE)])
    read = dict(zip(judges, played.reviewed.values(), strict=True))
    families = {**played.families, "judge 1": "gamma", "judge 2": "delta"}
    panel = replace(played, reviewers=judges, reviewed=read, families=families, models=families)
    count = count_panel(panel)
    assert (count.outcome, count.supporters, count.caps) == ("decided", judges, ())
    silent = count_panel(replace(panel, reviewed={"judge 1": read["judge 1"]}))
    assert (silent.outcome, silent.votes[1].abstains) == ("leaning", "has a review that could not be used")


def test_the_callers_own_answer_is_compared_and_casts_no_vote() -> None:
    mine = Opinion(recommendation="Advice A")
    played = play_panel("BB", [("B", SURE), ("B", SURE)], mine=mine)
    groups = ((ONE, TWO), (MINE,))
    read = {
        seat: (build_review(seat, "x", groups=groups, follows=(MINE,), probability=SURE),)
        for seat in played.advisors
    }
    count = count_panel(play_panel("BB", [], mine=mine, reviewed=read))
    assert (count.outcome, count.ahead, count.is_of_mine, len(count.votes)) == ("leaning", MINE, True, 2)
    assert not count_panel(played).is_of_mine


def test_a_model_too_small_has_no_vote() -> None:
    small = build_answer(ONE, "x", informative=False)
    alone = count_panel(play_panel("A", [], advised={ONE: small}, reviewers=()))
    assert (alone.outcome, alone.votes[0].abstains) == (
        "undecided",
        "is a model too small for its advice to count",
    )
    played = play_panel("AA", all_of("A", SURE))
    read = {**played.reviewed, ONE: (played.reviewed[ONE][0].model_copy(update={"informative": False}),)}
    assert count_panel(play_panel("AA", [], reviewed=read)).supporters == (TWO,)


def test_a_reader_of_a_part_of_the_documents_caps_the_outcome() -> None:
    played = play_panel("AA", all_of("A", SURE))
    first = played.reviewed[ONE][0]
    cut = first.model_copy(update={"usage": first.usage.model_copy(update={"sent_tokens": 9000})})
    count = count_panel(play_panel("AA", [], reviewed={**played.reviewed, ONE: (cut,)}))
    assert count.outcome == "leaning"
    assert count.caps == ("A reviewer was shown only a part of the documents.",)


def test_many_judges_with_one_against_them_are_leaning() -> None:
    judges = tuple(f"judge {number}" for number in range(1, 6))
    played = play_panel("AB", [("A", SURE), ("B", SURE)])
    for_it, against = played.reviewed[ONE], played.reviewed[TWO]
    families = {judge: f"family {judge}" for judge in judges} | dict(played.families)
    read = dict(zip(judges, (*[for_it] * 4, against), strict=True))
    panel = replace(played, reviewers=judges, reviewed=read, families=families, models=families)
    count = count_panel(panel)
    assert (count.outcome, str(count.against), find_case(panel, count)) == ("leaning", "1/5", "majority")
    assert describe_count(panel, count) == "4 of 5 advisors for the same"


READ = play_panel("AA", all_of("A", SURE))
SMALL = replace(
    READ,
    reviewed={
        "Advisor 1": READ.reviewed["Advisor 1"],
        "Advisor 2": (READ.reviewed["Advisor 2"][0].model_copy(update={"informative": False}),),
    },
)
"""One of two reviewers is too small a model to count."""


TWO_FAMILIES, THREE_FAMILIES = "2 model families (alpha, beta)", "3 model families (alpha, beta, gamma)"
LITTLE = "That says little about being right: models of one family make the same mistakes."


@pytest.mark.parametrize(
    ("played", "agreed", "probability"),
    [
        (
            play_panel("AA", all_of("A", SURE)),
            f"{TWO_FAMILIES} gave this answer independently, and again after checking each other's.",
            "Each says how likely its advice is right: 90%, 90%.",
        ),
        (
            play_panel("AB", all_of("A", SURE)),
            f"{TWO_FAMILIES} agree after checking; 1 of 2 had answered otherwise.",
            "Each says how likely its advice is right: 90%, 90%.",
        ),
        (
            play_panel("AA", all_of("A", SURE), [], {"answer.2", "review.2"}),
            "One model family (alpha) gave this answer, and checked it; 1 of 2 answers missing.",
            f"It says how likely its advice is right: 90%. {LITTLE}",
        ),
        (
            play_panel("AAA", all_of("A", SURE), [], {"answer.3"}),
            f"{TWO_FAMILIES} agree after checking; 1 of 3 answers missing.",
            "Each says how likely its advice is right: 90%, 90%.",
        ),
        (
            play_panel("AAA", all_of("A", SURE), [], {"review.3"}),
            f"{THREE_FAMILIES} gave this answer independently; 2 of 3 checked it.",
            "Each says how likely its advice is right: 90%, 90%.",
        ),
        (
            play_panel("A", all_of("B", SURE), level="quick"),
            "One model family (alpha) answered otherwise at first, and changed that when checking.",
            f"It says how likely its advice is right: 90%. {LITTLE}",
        ),
        (
            play_panel("AA", all_of("A", SURE), [], {"review.2"}),
            f"{TWO_FAMILIES} gave this answer independently; one checked it.",
            "It says how likely its advice is right: 90%.",
        ),
        (
            SMALL,
            f"{TWO_FAMILIES} agree, as far as they could be read: 1 of 2.",
            "Each says how likely its advice is right: 90%; for other advice 90%.",
        ),
        (
            play_panel("AAB", TWO_TO_ONE, [NOBODY, NOBODY, NOBODY]),
            f"{THREE_FAMILIES} answered; 2 of 3 advise this.",
            "Each says how likely its advice is right: 70%, 70%; for other advice 70%.",
        ),
        (
            play_panel("AB", [("", 0), ("B", SURE)], level="quick"),
            f"{TWO_FAMILIES} answered differently; one checked.",
            "It says how likely its advice is right: 90%.",
        ),
        (
            play_panel("AB", APART),
            f"{TWO_FAMILIES} stay divided.",
            "Each says how likely its advice is right: 80%, 80%.",
        ),
        (
            play_panel("AAB", [("", 0), ("", 0), ("B", SURE)], level="quick"),
            f"{THREE_FAMILIES} answered; 2 of 3 advise this.",
            "It says how likely its other advice is right: 90%.",
        ),
        (
            play_panel("AB", APART, families=("alpha", "alpha")),
            "One model family (alpha) stays divided.",
            f"Each says how likely its advice is right: 80%, 80%. {LITTLE}",
        ),
        (
            play_panel("AA", all_of("A", SURE), [], {"review.1", "review.2"}),
            f"{TWO_FAMILIES} answered; nothing was checked.",
            "",
        ),
        (play_panel("AA", [], [], {"answer.1", "answer.2"}), "", ""),
        (
            play_panel("AB", APART, families=("alpha", "human")),
            "2 authors (alpha, human) stay divided.",
            "Each says how likely its advice is right: 80%, 80%.",
        ),
    ],
)
def test_how_sure_says_what_agreed_with_what(played: Any, agreed: str, probability: str) -> None:
    assert describe_agreement(played, count_panel(played)) == f"{agreed} {probability}".strip()


@pytest.mark.requirement("N37")
@pytest.mark.parametrize("case", CASES.values(), ids=[*CASES])
def test_how_sure_is_told_in_other_languages(case: tuple[Any, ...]) -> None:
    blind, finals, exchange, failed, changes, *_ = case
    played = play_panel(blind, finals, exchange, failed, **changes)
    words = re.findall("[a-zA-Z]+", describe_agreement(played, count_panel(played), "ja"))
    assert {*words} <= {*FAMILIES}
