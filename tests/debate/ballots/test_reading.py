"""Ballots as models give them: what gives each position its part of one is understood, and nothing else is."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from server.debate.facts.beliefs import Citation, Share, build_shares, find_choice
from server.debate.facts.events import Balloted, Failed
from server.debate.replies.extract import Reply
from server.debate.replies.interpret import interpret
from tests.support.simulation import build_setup, build_usage, simulate

pytestmark = pytest.mark.requirement("N1")

DEBATERS = [
    {"name": "Ada", "stance": "Keep the old scheduler"},
    {"name": "Ben", "stance": "Write a new one"},
]
LABELS = ("Sorrel", "Walnut")
OPENED = build_setup(debaters=DEBATERS, options={"phases": ["opening", "voting"]})
VOTING = simulate(OPENED.model_copy(update={"labels": LABELS})).play_to_round(2)
EACH = "each of Sorrel, Walnut, none, together 100"


def read(text: str, *, voter: int = 0, informative: bool = True) -> object:
    reply = Reply(text, build_usage(), informative=informative)
    return interpret(VOTING.debate, VOTING.pending_calls()[voter], reply)


def shares(event: object) -> list[str]:
    """The shares of Ada, of Ben, and of neither."""
    assert isinstance(event, Balloted), event
    assert [belief.name for belief in event.beliefs] == ["Ada", "Ben", ""]
    return [belief.share for belief in event.beliefs]


SEVENTY = ["0.7000", "0.2000", "0.1000"]


@pytest.mark.parametrize(
    "text",
    [
        '{"beliefs": {"Sorrel": 70, "Walnut": 20, "none": 10}}',
        '{"beliefs": {"Sorrel": "70 %", "Walnut": "20%", "none": "10 percent"}}',
        '{"beliefs": {"Sorrel": 0.7, "Walnut": 0.2, "none": 0.1}}',
        '{"beliefs": {"Sorrel": "7/10", "Walnut": "1/5", "none": "1/10"}}',
        '{"beliefs": {"Keep the old scheduler": 70, "BEN": 20, "neither": 10}}',
        '{"beliefs": {"Sorrel. Keep the old scheduler": 70, "Option Walnut": 20, "none": 10}}',
        '{"Sorrel": 70, "Walnut": 20, "none": 10}',
        '{"beliefs": [70, 20, 10], "position": "Keep it."}',
        '{"beliefs": [{"name": "Sorrel", "percent": 70}, {"name": "Ben", "percent": 20}, {"name": "none", "p": 10}]}',
        '{"beliefs": "Sorrel 70, Walnut 20, none 10"}',
        'Here it is:\n```json\n{"beliefs": {"Sorrel": 70, "Walnut": 20, "none": 10,},}\n```',
        "70/20/10",
        "My answer: 70% / 20% / 10%.",
        "Sorrel: 70%\nWalnut: 20%\nNone: 10%",
        "- **Sorrel**: 70\n- **Walnut**: 20\n- none: 10\n\nIt is cheaper.",
        "I give 70% to Sorrel, 20% to Walnut and 10% to none.",
        "Keep the old scheduler: 70%, write a new one: 20%, none: 10%",
        "Beliefs: Sorrel 70, Walnut 20, none 10\nPosition: Keep it, for now.",
        "<think>Sorrel 10, Walnut 90</think>Sorrel 70, Walnut 20, none 10",
        '> {"beliefs": {"Walnut": 100}}\n{"beliefs": {"Sorrel": 70, "Walnut": 20, "none": 10}}',
    ],
)
def test_parts_of_one_are_understood_however_they_are_written(text: str) -> None:
    assert shares(read(text)) == SEVENTY


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            '{"beliefs": {"Sorrel": 100}, "position": " It is\\ncheaper. ", "reasoning": "So."}',
            "It is cheaper.",
        ),
        ('{"beliefs": {"Sorrel": 100}, "reasoning": "It is cheaper."}', "It is cheaper."),
        ("Beliefs: Sorrel 100\nPosition: It is cheaper.", "It is cheaper."),
        ("Sorrel: 100, as it is cheaper.", "Sorrel: 100, as it is cheaper."),
        ('{"beliefs": {"Sorrel": 100}, "position": 7}', ""),
    ],
)
def test_a_ballot_has_a_sentence_wherever_the_model_puts_it(text: str, sentence: str) -> None:
    event = read(text)
    assert isinstance(event, Balloted), event
    assert event.position == sentence


def test_a_list_of_numbers_goes_by_the_order_in_which_the_voter_was_shown_the_positions() -> None:
    """The second voter's list begins with the second position."""
    assert shares(read("70/20/10", voter=1)) == ["0.2000", "0.7000", "0.1000"]
    assert shares(read("70/30")) == ["0.7000", "0.3000", "0.0000"]


@pytest.mark.parametrize(
    ("beliefs", "expected"),
    [
        ({"Sorrel": 100}, ["1.0000", "0.0000", "0.0000"]),
        ({"Sorrel": 33, "Walnut": 33, "none": 33}, ["0.3334", "0.3333", "0.3333"]),
        ({"Sorrel": 33.3, "Walnut": 33.3, "none": 33.4}, ["0.3330", "0.3330", "0.3340"]),
        ({"Sorrel": 67, "Walnut": 35}, ["0.6569", "0.3431", "0.0000"]),
        ({"Sorrel": None, "Walnut": 100}, ["0.0000", "1.0000", "0.0000"]),
        ({"Sorrel": 60, "Walnut": 40, "maybe both": 0}, ["0.6000", "0.4000", "0.0000"]),
        ({"none": 100}, ["0.0000", "0.0000", "1.0000"]),
    ],
)
def test_small_errors_of_rounding_are_made_good(beliefs: dict[str, Any], expected: list[str]) -> None:
    assert shares(read(json.dumps({"beliefs": beliefs}))) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"beliefs": {"Sorrel": 70, "Walnut": 70}}', f'sum to 140: "beliefs" must give a percentage for {EACH}'),
        ('{"beliefs": {"Sorrel": 40, "Walnut": 20}}', "the beliefs sum to 60"),
        ('{"beliefs": {}}', "the beliefs sum to 0"),
        ('{"beliefs": {"Sorrel": -20, "Walnut": 120}}', "no percentage for Sorrel"),
        ('{"beliefs": {"Sorrel": true, "Walnut": 100}}', "no percentage for Sorrel"),
        ('{"beliefs": {"Sorrel": "high", "Walnut": 100}}', "no percentage for Sorrel"),
        ('{"beliefs": {"Sorrel": NaN, "Walnut": 100}}', "no percentage for Sorrel"),
        ('{"beliefs": {"Sorrel": 1e99, "Walnut": 100}}', "no percentage for Sorrel"),
        ('{"beliefs": {"Medlar": 60, "Sorrel": 40}}', '"beliefs" names no position'),
        ('{"beliefs": [70, 20, 5, 5]}', EACH),
        ('{"beliefs": [70, "much", 10]}', EACH),
        ('{"beliefs": null}', EACH),
        ('{"choice": "Sorrel"}', EACH),
        ('{"beliefs": {"Sorrel": 70', "broken off or malformed"),
        ("I vote for Sorrel.", EACH),
        ("Sorrel 80, Walnut 70", EACH),
        ("Sorrel or Walnut, 50/50 or 70/30", EACH),
        ("Hard to say.", EACH),
    ],
)  # fmt: skip
def test_anything_else_is_refused_and_told_what_is_missing(text: str, why: str) -> None:
    event = read(text)
    assert isinstance(event, Failed), event
    assert event.cause == "unreadable"
    assert why in event.detail


def test_a_model_that_is_too_small_need_not_sum_to_one() -> None:
    """Its ballot does not count, and is not asked for again."""
    event = read('{"beliefs": {"Sorrel": 30, "Walnut": 10}}', informative=False)
    assert shares(event) == ["0.7500", "0.2500", "0.0000"]
    assert isinstance(event, Balloted)
    assert not event.informative
    assert shares(read('{"beliefs": {"Sorrel": 0}}', informative=False)) == ["0.0000", "0.0000", "1.0000"]


@pytest.mark.parametrize(
    ("moved_by", "cited"),
    [
        ("Walnut 1.1", Citation(seat="Ben", round=1, point=1)),
        ("[walnut 1.1]: the cost", Citation(seat="Ben", round=1, point=1)),
        ("Walnut 1.9", Citation(seat="Ben", round=1)),
        ("Walnut 1", Citation(seat="Ben", round=1)),
        ("[Walnut, round 1]", Citation(seat="Ben", round=1)),
        ("walnut", Citation(seat="Ben", round=1)),
        ({"position": "Walnut", "round": 1}, Citation(seat="Ben", round=1)),
        (["Walnut 1"], Citation(seat="Ben", round=1)),
        ("Walnut 7", None),
        ("Walnut 1 and Sorrel 1", None),
        ("Medlar 1", None),
        ("none", None),
        ("", None),
        (None, None),
        (3, None),
    ],
)
def test_what_moved_a_voter_is_a_turn_that_was_made_or_nothing(moved_by: Any, cited: Citation | None) -> None:
    event = read(json.dumps({"beliefs": {"Walnut": 100}, "moved_by": moved_by}))
    assert isinstance(event, Balloted), event
    assert event.moved_by == cited


def test_the_words_of_a_ballot_stand_on_one_line() -> None:
    words = {"position": "Keep it:\n it works. " * 100, "wouldCheck": "\tThe price."}
    event = read(json.dumps({"beliefs": {"Sorrel": 100}, **words}))
    assert isinstance(event, Balloted)
    assert event.position.startswith("Keep it: it works. Keep it")
    assert len(event.position) == 600
    assert event.would_check == "The price."


@given(st.lists(st.fractions(0, 1000), min_size=1, max_size=27).filter(any))
def test_shares_sum_to_exactly_one_and_differ_from_the_amounts_by_less_than_a_unit(
    amounts: list[Fraction],
) -> None:
    named = {str(number): amount for number, amount in enumerate(amounts)}
    made = build_shares(named)
    assert sum(share.value for share in made) == 1
    for share in made:
        assert abs(share.value - named[share.name] / sum(amounts)) < Fraction(1, 10_000)


@pytest.mark.parametrize(
    ("amounts", "choice"),
    [
        ({"Ada": 60, "Ben": 30, "": 10}, "Ada"),
        ({"Ada": 40, "Ben": 40, "": 20}, ""),
        ({"Ada": 30, "Ben": 20, "": 50}, ""),
        ({"Ada": 40, "Ben": 20, "": 40}, ""),
        ({"": 1}, ""),
    ],
)
def test_the_choice_is_the_one_most_likely_position(amounts: dict[str, int], choice: str) -> None:
    assert find_choice(build_shares({name: Fraction(part) for name, part in amounts.items()})) == choice


@pytest.mark.parametrize(
    "beliefs",
    [
        [("Ada", "0.7000"), ("", "0.2999")],
        [("Ada", "0.5000"), ("Ada", "0.5000")],
        [("Ada", "0.7"), ("", "0.3")],
        [("Ada", "1.5000"), ("", "-0.5000")],
    ],
)
def test_a_ballot_whose_beliefs_are_not_exactly_one_is_no_fact(beliefs: list[tuple[str, str]]) -> None:
    rows = [{"name": name, "share": share} for name, share in beliefs]
    with pytest.raises(ValidationError):
        Balloted.model_validate(
            {"seat": "Ada", "round": 1, "seen": 1, "usage": build_usage(), "beliefs": rows}
        )
    assert Share(name="", share="1.0000").value == 1
