"""Answers that their limit of tokens cut off: after a thought, within a field, between two."""

import json
from typing import Any

import pytest

from server.debate.facts.answers import Usage
from server.debate.facts.events import Failed, Judged, Spoke
from server.debate.machine.interpret import interpret
from server.debate.replies.extract import Reply, close_object
from tests.support.simulation import build_setup, build_usage, render_finding, simulate

pytestmark = pytest.mark.requirement("C8", "D3")

ADVICE = "; raise limits.thinking_tokens or set options.thinking=low"


def answer(
    text: str, *, round_number: int = 3, usage: Usage | None = None, **asked: Any
) -> Failed | Judged | Spoke:
    """What an answer is that was cut: of a judge in round 3, of a debater in round 1."""
    at = simulate(build_setup(**asked)).play_to_round(round_number)
    event = interpret(at.debate, at.pending_calls()[0], Reply(text, usage or build_usage(), cut=True))
    assert isinstance(event, Failed | Judged | Spoke)
    return event


@pytest.mark.parametrize("text", ["", "<think>Perhaps it is Walnut, or rather"])
@pytest.mark.parametrize(
    ("usage", "detail"),
    [
        ({"output_tokens": 42_000, "thinking_tokens": 242}, "spent 42,000 tokens on thinking"),
        ({"output_tokens": 10_000}, "spent 10,000 tokens on thinking"),
        ({"output_tokens": 0}, "thought up to its limit of tokens"),
    ],
    ids=["counted by what was shown of them", "not apart", "not at all"],
)
def test_who_wrote_nothing_is_told_how_long_it_thought(text: str, usage: dict[str, int], detail: str) -> None:
    found = answer(text, usage=build_usage().model_copy(update=usage))

    assert isinstance(found, Failed)
    assert (found.cause, found.detail) == ("thought_too_long", f"{detail} and wrote nothing{ADVICE}")


def test_what_was_complete_before_the_cut_is_read_and_what_was_not_is_not() -> None:
    whole = render_finding("A1", would_change="A figure.", margin=3)

    found = answer(whole[: whole.index("A figure.") + 5])

    assert isinstance(found, Judged)
    assert (found.winner, found.margin, found.would_change) == ("Proponent", 3, "")


@pytest.mark.parametrize(
    ("thought", "cause", "detail"),
    [
        (0, "unreadable", "broken off or malformed (it was stopped at its token limit)"),
        (900, "thought_too_long", f"was stopped before its answer was complete{ADVICE}"),
    ],
)
def test_an_answer_without_what_it_needs_is_none(thought: int, cause: str, detail: str) -> None:
    usage = build_usage().model_copy(update={"output_tokens": 1_000, "thinking_tokens": thought})

    found = answer('{"reasoning": "It is', usage=usage)

    assert isinstance(found, Failed)
    assert found.cause == cause
    assert found.detail.endswith(detail)


def test_a_turn_that_was_cut_is_a_turn() -> None:
    found = answer("It costs more than", round_number=1)

    assert isinstance(found, Spoke)
    assert (found.text, found.cut) == ("It costs more than", True)


@pytest.mark.parametrize(
    "text", ['{"response": "It costs more than', '```json\n{"response": "It costs more than']
)
def test_a_panels_turn_that_was_cut_says_nothing_of_who_holds_what(text: str) -> None:
    found = answer(text, round_number=1, format="settle")

    assert isinstance(found, Spoke)
    assert (found.text, found.cut, found.holds) == ("It costs more than", True, "")


@pytest.mark.parametrize("text", ['{"holds": "A1"', '{"response": 7 and more'])
def test_a_panels_turn_that_was_cut_before_it_began_is_none(text: str) -> None:
    found = answer(text, round_number=1, format="settle")

    assert isinstance(found, Failed)
    assert found.cause == "unreadable"


BELIEFS = {"A": 60, "B": 40}


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ('Well: {"a": "x", "b": [1, 2], "c": {"d": ', 'Well: {"a": "x", "b": [1, 2]}'),
        ('```json\n{"a": null, "b": "It\\"s', '```json\n{"a": null}'),
        ('{"a": true, "margin": 7', '{"a": true}'),  # it may have been 75
        ('{"a": true, "margin": 7,', '{"a": true, "margin": 7}'),
        ('{"a": "x"', '{"a": "x"}'),
        ('{"a": 1} {"b": "żółć", "c', '{"a": 1} {"b": "żółć"}'),
        ("{not json} " + '{"a": "x", ', '{not json} {"a": "x"}'),
        ('{"beliefs": ' + json.dumps(BELIEFS)[:-2], None),  # half of the beliefs are none
        ('{"a": 1}', None),
        ("{" * 2_000 + "x", None),
        ("No object.", None),
    ],
)
def test_an_object_is_closed_behind_its_last_whole_field(text: str, closed: str | None) -> None:
    assert close_object(text) == (text if closed is None else closed)


def test_a_reply_that_is_nested_without_end_is_called_so() -> None:
    found = answer("[" * 60_000)

    assert isinstance(found, Failed)
    assert found.detail.startswith("the JSON of the reply is nested too deeply")
