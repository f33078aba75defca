"""What may be read of an answer while a model writes it."""

import pytest

from server.debate.machine.transitions import apply
from server.debate.rules.course import advance
from server.debate.state.debate import Debate
from server.debate.views.writing import show_piece
from tests.support.simulation import build_setup

pytestmark = pytest.mark.requirement("N19", "N28")


def test_turns_and_reports_are_shown_as_they_are_and_data_only_where_it_holds_sentences() -> None:
    debate = Debate(build_setup())
    assert show_piece(debate, "Advisor 1", "report", "Ship it on") == "Ship it on"
    assert show_piece(debate, "Advisor 1", "ballot", '{"beliefs": {"Ann"') == ""
    data = '{"premise": "None", "because": "It \\"works\\".\\nTwice", "recommendation": "Ship \\u00fcber\\u00'
    assert show_piece(debate, "Advisor 1", "advice", data) == 'It "works".\nTwice\nShip über'
    assert show_piece(debate, "Advisor 1", "review", '{"because": "K7 forgets the tax') == ""


def test_nothing_is_shown_of_a_seat_that_readers_do_not_see() -> None:
    hidden = Debate(build_setup(options={"visibility": {"hide_from_client": ["debaters"]}}))
    assert show_piece(hidden, hidden.names[0], "advice", '{"because": "It works') == ""


def test_nothing_is_shown_of_answers_that_somebody_has_to_write_apart_from() -> None:
    debate = Debate(build_setup(models=("human", "scripted")))
    debate = apply(debate, advance(debate, None)[0])
    assert show_piece(debate, debate.names[1], "advice", '{"because": "It works') == ""
