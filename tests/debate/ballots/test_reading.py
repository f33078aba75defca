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
from server.debate.machine.interpret import interpret
from server.debate.replies.extract import Reply
from tests.support.searches import search_briefly
from tests.support.simulation import build_setup, build_usage, simulate

pytestmark = pytest.mark.requirement("N1")

DEBATERS = [{"name": "Ada", "stance": "Keep the old scheduler"}, {"name": "Ben", "stance": "Write a new one"}]
LABELS = ("K73", "W45")
OPENED = build_setup(debaters=DEBATERS, options={"phases": ["opening", "voting"]})
VOTING = simulate(OPENED.model_copy(update={"labels": LABELS})).play_to_round(2)
EACH = "each of K73, W45, none, together 100"


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
        '{"beliefs": {"K73": 70, "W45": 20, "none": 10}}',
        '{"beliefs": {"K73": "70 %", "W45": "20%", "none": "10 percent"}}',
        '{"beliefs": {"K73": 0.7, "W45": 0.2, "none": 0.1}}',
        '{"beliefs": {"K73": "7/10", "W45": "1/5", "none": "1/10"}}',
        '{"beliefs": {"Keep the old scheduler": 70, "BEN": 20, "neither": 10}}',
        '{"beliefs": {"K73. Keep the old scheduler": 70, "Option W45": 20, "none": 10}}',
        '{"K73": 70, "W45": 20, "none": 10}',
        '{"beliefs": [70, 20, 10], "position": "Keep it."}',
        '{"beliefs": [{"name": "K73", "percent": 70}, {"name": "Ben", "percent": 20}, {"name": "none", "p": 10}]}',
        '{"beliefs": "K73 70, W45 20, none 10"}',
        'Here it is:\n```json\n{"beliefs": {"K73": 70, "W45": 20, "none": 10,},}\n```',
        "70/20/10",
        "My answer: 70% / 20% / 10%.",
        "K73: 70%\nW45: 20%\nNone: 10%",
        "- **K73**: 70\n- **W45**: 20\n- none: 10\n\nIt is cheaper.",
        "I give 70% to K73, 20% to W45 and 10% to none.",
        "Keep the old scheduler: 70%, write a new one: 20%, none: 10%",
        "Beliefs: K73 70, W45 20, none 10\nPosition: Keep it, for now.",
        "<think>K73 10, W45 90</think>K73 70, W45 20, none 10",
        '> {"beliefs": {"W45": 100}}\n{"beliefs": {"K73": 70, "W45": 20, "none": 10}}',
    ],
)
def test_parts_of_one_are_understood_however_they_are_written(text: str) -> None:
    assert shares(read(text)) == SEVENTY


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"beliefs": {"K73": 100}, "position": " It is\\ncheaper. ", "reasoning": "So."}', "It is cheaper."),
        ('{"beliefs": {"K73": 100}, "reasoning": "It is cheaper."}', "It is cheaper."),
        ("Beliefs: K73 100\nPosition: It is cheaper.", "It is cheaper."),
        ("K73: 100, as it is cheaper.", "K73: 100, as it is cheaper."),
        ('{"beliefs": {"K73": 100}, "position": 7}', ""),
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
        ({"K73": 100}, ["1.0000", "0.0000", "0.0000"]),
        ({"K73": 33, "W45": 33, "none": 33}, ["0.3334", "0.3333", "0.3333"]),
        ({"K73": 33.3, "W45": 33.3, "none": 33.4}, ["0.3330", "0.3330", "0.3340"]),
        ({"K73": 67, "W45": 35}, ["0.6569", "0.3431", "0.0000"]),
        ({"K73": None, "W45": 100}, ["0.0000", "1.0000", "0.0000"]),
        ({"K73": 60, "W45": 40, "maybe both": 0}, ["0.6000", "0.4000", "0.0000"]),
        ({"none": 100}, ["0.0000", "0.0000", "1.0000"]),
    ],
)
def test_small_errors_of_rounding_are_made_good(beliefs: dict[str, Any], expected: list[str]) -> None:
    assert shares(read(json.dumps({"beliefs": beliefs}))) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"beliefs": {"K73": 70, "W45": 70}}', f'sum to 140: "beliefs" must give a percentage for {EACH}'),
        ('{"beliefs": {"K73": 40, "W45": 20}}', "the beliefs sum to 60"),
        ('{"beliefs": {}}', "the beliefs sum to 0"),
        ('{"beliefs": {"K73": -20, "W45": 120}}', "no percentage for K73"),
        ('{"beliefs": {"K73": true, "W45": 100}}', "no percentage for K73"),
        ('{"beliefs": {"K73": "high", "W45": 100}}', "no percentage for K73"),
        ('{"beliefs": {"K73": NaN, "W45": 100}}', "no percentage for K73"),
        ('{"beliefs": {"K73": 10000000, "W45": 100}}', "no percentage for K73"),
        ('{"beliefs": {"M62": 60, "K73": 40}}', '"beliefs" names no position'),
        ('{"beliefs": [70, 20, 5, 5]}', EACH),
        ('{"beliefs": [70, "much", 10]}', EACH),
        ('{"beliefs": null}', EACH),
        ('{"choice": "K73"}', EACH),
        ('{"beliefs": {"K73": 70', "broken off or malformed"),
        ("I vote for K73.", EACH),
        ("K73 80, W45 70", EACH),
        ("K73 or W45, 50/50 or 70/30", EACH),
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
    event = read('{"beliefs": {"K73": 30, "W45": 10}}', informative=False)
    assert shares(event) == ["0.7500", "0.2500", "0.0000"]
    assert isinstance(event, Balloted)
    assert not event.informative
    assert shares(read('{"beliefs": {"K73": 0}}', informative=False)) == ["0.0000", "0.0000", "1.0000"]


@pytest.mark.parametrize(
    ("moved_by", "cited"),
    [
        ("W45 1.1", Citation(seat="Ben", round=1, point=1)),
        ("[w45 1.1]: the cost", Citation(seat="Ben", round=1, point=1)),
        ("W45 1.9", Citation(seat="Ben", round=1)),
        ("W45 1", Citation(seat="Ben", round=1)),
        ("[W45, round 1]", Citation(seat="Ben", round=1)),
        ("w45", Citation(seat="Ben", round=1)),
        ({"position": "W45", "round": 1}, Citation(seat="Ben", round=1)),
        (["W45 1"], Citation(seat="Ben", round=1)),
        ("W45 7", None),
        ("W45 1 and K73 1", None),
        ("M62 1", None),
        ("none", None),
        ("", None),
        (None, None),
        (3, None),
    ],
)
def test_what_moved_a_voter_is_a_turn_that_was_made_or_nothing(moved_by: Any, cited: Citation | None) -> None:
    event = read(json.dumps({"beliefs": {"W45": 100}, "moved_by": moved_by}))
    assert isinstance(event, Balloted), event
    assert event.moved_by == cited


def test_the_words_of_a_ballot_stand_on_one_line() -> None:
    words = {"position": "Keep it:\n it works. " * 100, "wouldCheck": "\tThe price."}
    event = read(json.dumps({"beliefs": {"K73": 100}, **words}))
    assert isinstance(event, Balloted)
    assert event.position.startswith("Keep it: it works. Keep it")
    assert len(event.position) == 600
    assert event.would_check == "The price."


@search_briefly(5)
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
