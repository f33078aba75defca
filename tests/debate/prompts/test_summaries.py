"""What a model reads that is too small for the prompt."""

import pytest

from server.debate.machine.render import render
from server.debate.prompts.prompt import PromptSummary
from server.debate.rules.calls import Call
from tests.support.simulation import build_debaters, build_setup, default_script, simulate

pytestmark = pytest.mark.requirement("D19")


def test_the_summary_has_the_last_argument_of_the_opponent() -> None:
    at = simulate(script=lambda call: f"{call.seat} in {call.round}").play_to_round(2)
    cues = [render(at.debate, call).summary for call in at.pending_calls()]
    question = at.debate.setup.question
    assert cues == [
        PromptSummary("argument", question, 2, "for", "Opponent in 1"),
        PromptSummary("argument", question, 2, "against", "Proponent in 1"),
    ]


def test_in_declared_order_a_speaker_answers_the_previous_one() -> None:
    def script(call: Call) -> str:
        return call.seat

    at = simulate(build_setup(format="verdict", debaters=build_debaters(5)), script).play()
    opponents = [prompt.summary.opponent_text for call, prompt in at.calls_made if call.round == 2]
    assert opponents == [f"Speaker {number}" for number in (5, 1, 2, 3, 4)]


@pytest.mark.requirement("D5")
def test_the_addressee_of_a_message_gets_that_message() -> None:
    opened = build_setup(debaters=build_debaters(3), options={"phases": ["cross_examination"]})
    at = simulate(opened).play()
    answers = [(call, prompt) for call, prompt in at.calls_made if call.task == "answer"]
    assert len(answers) == 3
    for call, prompt in answers:
        message = next(
            turn for turn in at.debate.turns if (turn.seat, turn.act) == (call.message_author, "question")
        )
        assert prompt.summary.opponent_text == message.text


def test_a_judge_is_shown_the_positions_in_the_order_of_its_reading() -> None:
    at = simulate().play_to_round(3)
    first, second = (render(at.debate, call).summary for call in at.pending_calls())
    assert (first.task, first.round) == ("judgment", 3)
    assert first.positions == (("A1", "for"), ("B1", "against"))
    assert second.positions == (("A1", "against"), ("B1", "for"))


@pytest.mark.requirement("C7")
def test_labels_are_given_only_where_one_has_to_be_chosen() -> None:
    opened = build_setup(format="full", options={"moderator": {}})
    at = simulate(opened).play()
    for call, prompt in at.calls_made:
        others = {"Proponent": ("B1",), "Opponent": ("A1",)}.get(call.seat, ())
        choices = {"message": others, "opening": ("A1", "B1")}
        assert prompt.summary.choices == choices.get(call.task, ())


@pytest.mark.requirement("C17")
def test_the_summary_contains_no_hidden_turns() -> None:
    opened = build_setup(format="verdict", options={"visibility": {"hide_from_seats": ["debaters"]}})
    at = simulate(opened, default_script).play()
    opponent_texts = {call.task: prompt.summary.opponent_text for call, prompt in at.calls_made}
    assert opponent_texts["argument"] == ""
    assert opponent_texts["judgment"] != ""
