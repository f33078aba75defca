"""A debater may contest what the observer alleges against it, once, apart from its turn."""

from typing import Any

import pytest

from server.debate.facts.errors import IllegalEvent
from server.debate.machine.transitions import apply, replay
from server.debate.seats.observer import list_contestable
from server.debate.views.markdown import render_transcript, render_verdict
from server.debate.views.rounds import build_analysis
from server.debate.views.verdict import build_verdict
from tests.support import simulation
from tests.support.observer_debates import AGAINST_BOB, TURNS, allege, observe

pytestmark = pytest.mark.requirement("D14")


LATER = "Six weeks, by the plan.\n\nCONTEST 1: I spoke of his record.\n**CONTEST 7:** no such mark"


def observe_contested(**options: Any) -> simulation.DebateSimulation:
    return observe({**TURNS, "later": LATER}, AGAINST_BOB, rounds=2, **options)


def test_the_accused_is_told_and_may_contest_it_apart_from_its_turn() -> None:
    at = observe_contested().play()
    told = at.prompts("Ada")[1]
    assert "CONTEST 1: why" in told
    assert "1. ad hominem:\n> Bob never shipped anything." in told
    (turn,) = [turn for turn in at.debate.turns if turn.contests]
    assert turn.text == "Six weeks, by the plan.\n\n\n**CONTEST 7:** no such mark"
    assert [(c.round, c.number, c.why) for c in turn.contests] == [(1, 0, "I spoke of his record.")]
    assert build_verdict(at.debate).rhetoric == [
        "Ada, of 2 turns, as the observer alleges: ad hominem in 1 (1 contested)"
    ]
    assert build_analysis(at.debate)["rhetoric"]["marks"][0]["contested"] == "I spoke of his record."
    assert 'Ada contests it: "I spoke of his record."' in render_transcript(at.debate, at.log)
    assert "**Rhetoric**\n- Ada, of 2 turns" in render_verdict(at.debate)


def test_others_cannot_contest_it() -> None:
    at = observe_contested().play()
    assert [turn.seat for turn in at.debate.turns if turn.contests] == ["Ada"]
    assert any(turn.seat == "Bob" and "CONTEST 1" in turn.text for turn in at.debate.turns)


def test_judges_who_read_the_mark_read_the_contest() -> None:
    at = observe_contested(observer={"shown": True}).play()
    (first, _) = [simulation.render_prompt_text(p) for call, p in at.calls_made if call.task == "judgment"]
    assert "B1 contests it:\n> I spoke of his record." in first


def test_it_is_no_longer_open_when_the_next_turn_was_made() -> None:
    at = observe_contested().play_to_round(2)
    assert len(list_contestable(at.debate, "Ada")) == 1
    at.play_through_round(2)
    assert list_contestable(at.debate, "Ada") == ()


def test_it_is_put_to_the_accused_once() -> None:
    at = observe({**TURNS, "later": "More."}, AGAINST_BOB, rounds=3).play()
    assert ["CONTEST" in text for text in at.prompts("Ada")] == [False, True, False]


def test_what_tells_for_a_debater_is_not_put_to_it() -> None:
    at = observe(TURNS, allege(pattern="rebuttal", words="Six weeks suffice."), rounds=2).play()
    assert not any("CONTEST" in text for text in at.prompts("Ada"))


def test_a_straw_man_is_put_with_the_words_it_is_made_of_unless_they_are_hidden() -> None:
    straw = allege(
        pattern="straw man",
        words="Bob never shipped anything.",
        of="A1",
        original_words="Two years are too long.",
    )
    at = observe(TURNS, straw, rounds=2).play()
    assert "made of what A1 said:\n> Two years are too long." in at.prompts("Ada")[1]
    hidden = observe(TURNS, straw, rounds=2, visibility={"hide_from_seats": ["debaters"]}).play()
    assert "made of" not in hidden.prompts("Ada")[1]
    shown = observe(TURNS, straw, observer={"shown": True}).play().prompts("judge 1")
    assert "made of what A1 said:\n> Two years are too long." in shown[0]
    assert "made of what Bob said:" in render_transcript(at.debate, at.log)


def test_only_what_was_put_to_a_debater_can_be_contested() -> None:
    at = observe_contested().play()
    index = next(i for i, event in enumerate(at.events) if getattr(event, "contests", ()))
    before, turn = replay(at.events[:index]), at.events[index]
    (contest,) = turn.contests  # type: ignore[union-attr]
    for wrong in ((contest, contest), (contest.model_copy(update={"number": 1}),)):
        with pytest.raises(IllegalEvent, match="contests what was not put to it"):
            apply(before, turn.model_copy(update={"contests": wrong}))
