"""What a model reads that is too small for the prompt."""

import pytest

from server.debate.prompts.render import Cue, render
from server.debate.rules.decide import Call
from tests.support.playing import debaters, setup, table, talk

pytestmark = pytest.mark.requirement("D19")


def test_a_debater_is_told_what_was_last_said_against_it() -> None:
    at = table(script=lambda call: f"{call.seat} in {call.round}").to_round(2)
    cues = [render(at.debate, call).cue for call in at.calls()]
    question = at.debate.setup.question
    assert cues == [
        Cue("argument", question, 2, "for", "Opponent in 1"),
        Cue("argument", question, 2, "against", "Proponent in 1"),
    ]


def test_the_first_has_nothing_to_answer() -> None:
    at = table().to_round(1)
    at.do(at.answer(at.calls()[0]))
    assert render(at.debate, at.calls()[0]).cue.opponent == ""


def test_as_declared_it_answers_who_spoke_just_before() -> None:
    def script(call: Call) -> str:
        return call.seat

    at = table(setup(format="verdict", debaters=debaters(5)), script).play()
    opponents = [prompt.cue.opponent for call, prompt in at.asked if call.round == 2]
    assert opponents == [f"Speaker {n}" for n in (5, 1, 2, 3, 4)]


@pytest.mark.requirement("D5")
def test_who_answers_a_message_is_told_that_message() -> None:
    opened = setup(debaters=debaters(3), options={"phases": ["cross_examination"]})
    at = table(opened).play()
    answers = [(call, prompt) for call, prompt in at.asked if call.task == "answer"]
    assert len(answers) == 3
    for call, prompt in answers:
        asked = next(turn for turn in at.debate.turns if (turn.seat, turn.act) == (call.to, "question"))
        assert prompt.cue.opponent == asked.text


def test_a_judge_is_shown_the_positions_in_the_order_of_its_reading() -> None:
    at = table().to_round(3)
    first, second = (render(at.debate, call).cue for call in at.calls())
    assert (first.asks, first.round) == ("judgment", 3)
    assert first.positions == (("A", "for"), ("B", "against"))
    assert second.positions == first.positions[::-1]


@pytest.mark.requirement("C7")
def test_names_are_told_only_where_one_is_to_be_chosen() -> None:
    opened = setup(format="full", options={"moderator": {}})
    at = table(opened).play()
    for call, prompt in at.asked:
        others = tuple(name for name in at.debate.names if name != call.seat)
        assert prompt.cue.others == (others if call.task in ("message", "opening") else ())


@pytest.mark.requirement("C17")
def test_what_others_are_not_to_see_is_not_told_in_short_either() -> None:
    opened = setup(format="verdict", options={"visibility": {"hide_from_seats": ["debaters"]}})
    at = table(opened, talk).play()
    told = {call.task: prompt.cue.opponent for call, prompt in at.asked}
    assert told["argument"] == ""
    assert told["judgment"] != ""
