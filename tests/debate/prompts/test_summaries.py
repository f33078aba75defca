"""What a model reads that is too small for the prompt."""

import pytest

from server.debate.prompts.prompt import PromptSummary
from server.debate.prompts.render import render
from server.debate.rules.calls import Call
from tests.support.simulation import build_debaters, build_setup, default_script, simulate

pytestmark = pytest.mark.requirement("D19")


def test_the_summary_has_the_last_argument_of_the_opponent() -> None:
    at = simulate(script=lambda call: f"{call.seat} in {call.round}").play_to_round(2)
    cues = [render(at.debate, call).summary for call in at.pending_calls()]
    question = at.debate.setup.question
    assert cues == [
        PromptSummary("argument", question, 2, "for", "B in 1"),
        PromptSummary("argument", question, 2, "against", "A in 1"),
    ]


def test_the_first_speaker_has_nothing_to_answer() -> None:
    at = simulate().play_to_round(1)
    at.add_events(at.answer(at.pending_calls()[0]))
    assert render(at.debate, at.pending_calls()[0]).summary.opponent_text == ""


def test_in_declared_order_a_speaker_answers_the_previous_one() -> None:
    def script(call: Call) -> str:
        return call.seat

    at = simulate(build_setup(format="verdict", debaters=build_debaters(5)), script).play()
    opponents = [prompt.summary.opponent_text for call, prompt in at.calls_made if call.round == 2]
    assert opponents == ["E", "A", "B", "C", "D"]


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
    assert first.positions == (("A", "for"), ("B", "against"))
    assert second.positions == (("A", "against"), ("B", "for"))


@pytest.mark.requirement("C7")
def test_names_are_given_only_where_one_has_to_be_chosen() -> None:
    opened = build_setup(format="full", options={"moderator": {}})
    at = simulate(opened).play()
    for call, prompt in at.calls_made:
        others = {"Proponent": ("B",), "Opponent": ("A",)}.get(call.seat, ())
        choices = {"message": others, "opening": at.debate.names}
        assert prompt.summary.choices == choices.get(call.task, ())


@pytest.mark.requirement("C17")
def test_the_summary_contains_no_hidden_turns() -> None:
    opened = build_setup(format="verdict", options={"visibility": {"hide_from_seats": ["debaters"]}})
    at = simulate(opened, default_script).play()
    opponent_texts = {call.task: prompt.summary.opponent_text for call, prompt in at.calls_made}
    assert opponent_texts["argument"] == ""
    assert opponent_texts["judgment"] != ""
