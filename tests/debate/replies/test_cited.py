"""The points that judges cite: found in either reading, dropped where they are nothing, and asked for once."""

import json
from typing import Any

import pytest

from server.debate.arguments.points import format_id
from server.debate.commands.setup.open import open_debate
from server.debate.facts.beliefs import Citation
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Event, Failed, Judged
from server.debate.facts.interventions import TurnRetracted
from server.debate.machine.interpret import interpret
from server.debate.machine.render import render
from server.debate.records.answers import check_contents
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.state.labels import side_labels
from server.debate.views.rounds import build_round
from tests.support.simulation import (
    DebateSimulation,
    build_request,
    build_usage,
    default_script,
    render_prompt_text,
    simulate,
)

pytestmark = pytest.mark.requirement("D25")


def two_points(call: Call) -> str:
    return "[1] One.\n[2] Two." if call.task == "argument" else str(default_script(call))


@pytest.fixture
def at() -> DebateSimulation:
    """A debate before its judgment, with labels as drawn."""
    request = build_request(options={"judges": {"both_orders": True}})
    return simulate(open_debate(request, models=["scripted"], seed=7), two_points).play_to_round(3)


def judge(at: DebateSimulation, reading: int = 1, *, informative: bool = True, **fields: Any) -> Event:
    """A judgment for Proponent; "P" and "O" in its fields stand for the labels of that reading."""
    call = next(call for call in at.pending_calls() if call.reading == reading)
    labels = side_labels(at.debate, reading)
    text = json.dumps({"winner": "P!", "verdict": "Fine.", "reasoning": "So.", **fields})
    text = text.replace("P!", labels["Proponent"]).replace("O!", labels["Opponent"])
    return interpret(at.debate, call, Reply(text, build_usage(), informative=informative))


def ids(event: Event) -> list[str]:
    assert isinstance(event, Judged), event
    return [format_id(cited, cited.seat) for cited in event.cited]


@pytest.mark.parametrize("reading", [1, 2])
def test_ids_mean_the_same_points_in_both_readings(at: DebateSimulation, reading: int) -> None:
    event = judge(
        at, reading, cited=["P! 1.2", "[O! 2.1]"], verdict="[P! 1.2] holds.", reasoning="P! 2.2 too."
    )
    assert ids(event) == ["Proponent 1.2", "Opponent 2.1", "Proponent 2.2"]


def test_ids_of_nothing_are_dropped_and_counted(at: DebateSimulation) -> None:
    event = judge(
        at, cited=["P! 1.1", "P! 7.1", "Juniper 1.1", "attacks Juniper 1.1"], verdict="As [P! 1.9] says."
    )
    assert ids(event) == ["Proponent 1.1"]
    assert isinstance(event, Judged)
    assert event.unknown_citations == 3


def test_a_point_of_a_retracted_turn_is_nothing(at: DebateSimulation) -> None:
    at.add_events(TurnRetracted(seat="Opponent", turn_round=1, slot_index=0))
    event = judge(at, cited=["P! 1.1", "O! 1.1"])
    assert ids(event) == ["Proponent 1.1"]


@pytest.mark.parametrize("cited", [[], ["O! 1.1"], ["P! 9.9"], None, "nothing"])
def test_a_finding_without_a_point_of_its_winner_is_asked_for_once_more(
    at: DebateSimulation, cited: Any
) -> None:
    first = judge(at, cited=cited)
    label = side_labels(at.debate)["Proponent"]
    assert isinstance(first, Failed)
    assert first.detail == f'"cited" has no point of {label}, such as {label} 1.1, which you find for'
    at.add_events(first)
    again = next(call for call in at.pending_calls() if call.reading == 1)
    assert first.detail in render_prompt_text(render(at.debate, again))
    assert isinstance(judge(at, cited=cited), Judged)


@pytest.mark.parametrize("fields", [{}, {"cited": [], "winner": None}, {"cited": [], "informative": False}])
def test_an_answer_in_another_shape_is_taken_as_it_is(at: DebateSimulation, fields: dict[str, Any]) -> None:
    assert ids(judge(at, **fields)) == []


def test_a_winner_that_was_never_heard_has_nothing_to_cite(at: DebateSimulation) -> None:
    for number in (1, 2):
        at.add_events(TurnRetracted(seat="Proponent", turn_round=number, slot_index=0))
    assert ids(judge(at, cited=["O! 1.1"])) == ["Opponent 1.1"]


def test_people_read_what_a_judge_cited_and_found_better_by_name(at: DebateSimulation) -> None:
    event = judge(
        at, cited=["P! 1.1"], verdict="[P! 1.1] holds.", criteria={"support": "P!", "response": "even"}
    )
    (row,) = build_round(at.add_events(event).debate, 3)["judgments"]
    assert (row["cited"], row["verdict"]) == (["Proponent 1.1"], "[Proponent 1.1] holds.")
    assert row["criteria"] == {"support": "Proponent", "response": ""}


def test_a_record_cannot_cite_what_nobody_said(at: DebateSimulation) -> None:
    event = judge(at, cited=["P! 1.1"])
    assert isinstance(event, Judged)
    check_contents(at.debate, event)
    for forged in ((Citation(seat="Proponent", round=9, point=1),), event.cited * 2):
        with pytest.raises(InvalidRequestError, match="it cites points"):
            check_contents(at.debate, event.model_copy(update={"cited": forged}))
