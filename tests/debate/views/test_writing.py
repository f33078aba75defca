"""What may be read of an answer while a model writes it."""

import json

import pytest

from server.debate.answer.debates import build_panel
from server.debate.answer.prompts import order_answers, order_reviews
from server.debate.facts.events import Task
from server.debate.machine.transitions import apply
from server.debate.rules.calls import Call
from server.debate.rules.course import advance
from server.debate.state.debate import Debate
from server.debate.views.writing import show_piece
from tests.support.advisors import begin_advice, open_advice
from tests.support.panels import APART, NOBODY
from tests.support.simulation import DebateSimulation, build_setup

pytestmark = pytest.mark.requirement("N19", "N28")


def build_call(seat: str, task: Task) -> Call:
    return Call("1", seat, 1, 0, task, "scripted", 1, 7)


def play_divided(effort: str = "standard") -> DebateSimulation:
    return begin_advice(open_advice(effort=effort), blind="AB", finals=APART, exchange=[NOBODY, NOBODY])


def test_turns_and_reports_are_shown_as_they_are_and_data_only_where_it_holds_sentences() -> None:
    debate = Debate(build_setup())
    assert show_piece(debate, build_call("Advisor 1", "report"), "Ship it on") == "Ship it on"
    check = '{"faults": [{"words": "free", "right": "It costs'
    assert show_piece(debate, build_call("Advisor 1", "check"), check) == "It costs"
    assert show_piece(debate, build_call("Advisor 1", "ballot"), '{"beliefs": {"Ann"') == ""
    data = '{"premise": "None", "because": "It \\"works\\".\\nTwice", "recommendation": "Ship \\u00fcber\\u00'
    assert show_piece(debate, build_call("Advisor 1", "advice"), data) == 'It "works".\nTwice\nShip über'


def test_a_review_is_shown_with_words_for_its_labels_and_without_what_is_data() -> None:
    at = play_divided().play_to_round(2)
    for call in at.pending_calls():
        labels = {seat: label for label, seat in order_answers(build_panel(at.debate), call.seat).items()}
        first, second = labels["Advisor 1"], labels["Advisor 2"]
        error = {
            "answers": [first],
            "words": "It is free",
            "right": f"{first} forgets the tax.",
            "matters": True,
        }
        review = json.dumps(
            {"errors": [error], "probability": 70, "recommendation": f"Do as [{second}] says, not"}
        )
        shown = show_piece(at.debate, call, review[:-2])
        assert shown == "The first answer forgets the tax.\nDo as the second answer says, not"


def test_an_exchange_is_shown_with_words_for_answers_and_reviews() -> None:
    at = play_divided().play_to_round(3)
    call = at.pending_calls()[0]
    assert call.task == "exchange"
    [label] = order_reviews(build_panel(at.debate), call.seat)
    shown = show_piece(at.debate, call, f'{{"kind": "fact", "reply": "{label} counts it twice')
    assert shown == "The second reviewer counts it twice"


def test_nothing_is_shown_of_two_reviews_that_one_seat_writes_at_once_under_other_labels() -> None:
    at = play_divided("assured").play_to_round(2)
    calls = at.pending_calls()
    assert len(calls) > len({call.seat for call in calls})
    assert [show_piece(at.debate, call, '{"recommendation": "K7 forgets') for call in calls] == [""] * len(
        calls
    )


def test_nothing_is_shown_of_a_seat_that_readers_do_not_see() -> None:
    hidden = Debate(build_setup(options={"visibility": {"hide_from_client": ["debaters"]}}))
    assert show_piece(hidden, build_call(hidden.names[0], "advice"), '{"because": "It works') == ""


def test_nothing_is_shown_of_answers_that_somebody_has_to_write_apart_from() -> None:
    debate = Debate(build_setup(models=("human", "scripted")))
    debate = apply(debate, advance(debate, None)[0])
    assert show_piece(debate, build_call(debate.names[1], "advice"), '{"because": "It works') == ""
