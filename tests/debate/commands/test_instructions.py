"""Instructions that are given while a debate runs."""

import pytest

from server.debate.commands.fork import fork
from server.debate.commands.intervene import InterventionRequest, build_intervention
from server.debate.commands.requests import ChangesInput
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.interventions import InstructionGiven
from server.debate.rules.transitions import replay
from server.debate.views.events import build_interventions
from server.debate.views.markdown import render_transcript
from tests.support.simulation import DebateSimulation, build_setup, simulate

pytestmark = pytest.mark.requirement("D4", "C14")

TEXT = "Give every cost in euros."


def instruct(at: DebateSimulation, text: str = TEXT, to: str = "") -> str:
    made = build_intervention(at.debate, "instruct", InterventionRequest(text=text, to=to, reason="clarity"))
    at.add_events(*made.events)
    return made.effect


def rounds_with_text(at: DebateSimulation, seat: str) -> list[int]:
    """The rounds whose prompts hold the text unquoted."""
    return [
        call.round
        for call, prompt in at.calls_made
        if call.seat == seat and TEXT in prompt.messages[-1].content.splitlines()
    ]


def test_every_seat_is_given_the_instruction_from_the_next_round_on() -> None:
    at = simulate(build_setup(format="verdict", max_rounds=3)).play_to_round(2)
    assert instruct(at) == "Every seat follows it from the next round on."
    at.play()
    assert rounds_with_text(at, "Proponent") == rounds_with_text(at, "Opponent") == [3]
    assert rounds_with_text(at, "judge 1") == [4]


@pytest.mark.parametrize("seat", ["Opponent", "judge 1"])
def test_an_instruction_for_one_seat_is_given_to_no_other(seat: str) -> None:
    at = simulate(build_setup(format="verdict"))
    assert instruct(at, to=seat) == f"{seat} follows it from the next round on."
    at.play()
    assert {call.seat for call, _ in at.calls_made if rounds_with_text(at, call.seat)} == {seat}


def test_an_instruction_is_shown_with_the_other_interventions() -> None:
    at = simulate().play_through_round(1)
    instruct(at)
    (row,) = build_interventions(at.stored())["log"]
    assert (row["action"], row["text"], row["reason"]) == ("instruct", TEXT, "clarity")
    assert f"### Instruction to everybody\n\n{TEXT}" in render_transcript(at.debate, at.log)


@pytest.mark.parametrize(
    ("text", "to", "problem"),
    [
        ("", "", "nothing to instruct"),
        ("x" * 8001, "", "8,001 characters"),
        ("x", "Nobody", "Nobody here is called 'Nobody'"),
    ],
)
def test_an_instruction_needs_a_text_of_fair_length_and_a_seat_that_exists(
    text: str, to: str, problem: str
) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        instruct(simulate(), text, to)


@pytest.mark.requirement("N9")
@pytest.mark.parametrize(("changes", "kept"), [({}, [TEXT]), ({"instructions": "Be brief."}, [])])
def test_instructions_of_a_fork_replace_those_that_its_parent_was_given(
    changes: dict[str, str], kept: list[str]
) -> None:
    parent = simulate()
    instruct(parent)
    parent.play_through_round(1)
    setup, past = fork("d", parent.debate, parent.log, 1, ChangesInput.model_validate(changes))
    given = replay([setup, *past]).find_interventions(InstructionGiven)
    assert [made.text for made in given] == kept
