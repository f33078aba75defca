"""What voters are shown, and that nobody is shown a private ballot before the end."""

from typing import Any

import pytest

from server.debate.ballots.waves import BLIND_BALLOT, LATER_BALLOT
from server.debate.commands.submit import build_submission
from server.debate.rules.calls import pending_calls
from server.debate.views.awaited import describe_awaited_text
from server.debate.views.verdict import build_verdict
from tests.support.private_ballots import OPP, P, hold, waves
from tests.support.simulation import (
    ARGUED_FORMATS,
    DebateSimulation,
    build_ballot,
    build_debaters,
    build_setup,
    render_prompt_text,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("N1")

MARK = "zebra"


@pytest.mark.parametrize("name", ARGUED_FORMATS)
def test_ballots_decide_nothing_and_stand_in_no_prompt(name: str) -> None:
    """Not even in that of the seat that cast them; the outcome is what it is without them."""

    def ballot(call: Any) -> dict[str, Any]:
        is_private = call.slot_index in (BLIND_BALLOT, LATER_BALLOT)
        words = {"would_check": MARK, "new_point": MARK, "open_point": MARK} if is_private else {}
        return build_ballot("B" if is_private else "A", MARK if is_private else "So.") | words

    plain, at = (
        hold(mode, task_script({"ballot": ballot}), format=name).play() for mode in ("none", "rounds")
    )
    expected, found = build_verdict(plain.debate), build_verdict(at.debate)
    assert (found.outcome, found.votes) == (expected.outcome, expected.votes)
    assert not [call for call, prompt in at.calls_made if MARK in render_prompt_text(prompt)]
    assert any(MARK in ballot.position for ballot in at.debate.ballots)


def test_a_blind_ballot_holds_no_transcript_and_every_voter_begins_with_another_position() -> None:
    at = hold(format="verdict").play()
    blind, last = at.prompts(OPP)[0], at.prompts(OPP)[-1]
    assert "# Round" not in blind
    assert "Nobody has spoken yet: go by what you know." in blind
    assert "B1. against\nA1. for\nAnswer with JSON only" in blind
    assert "A1. for\nB1. against\nAnswer with JSON only" in at.prompts(P)[0]
    assert "# Round 2: argumentation" in last
    assert "You were B1, and do not answer as such." in last
    assert "moved_by" in last
    assert "moved_by" not in blind


def test_a_ballot_shares_the_prompt_before_it_with_every_other_seat() -> None:
    at = hold("rounds", format="verdict", max_rounds=3).play()
    prompts = [(call.task, render_prompt_text(prompt)) for call, prompt in at.calls_made if call.round == 2]
    turn = next(text for task, text in prompts if task == "argument")
    ballot = next(text for task, text in prompts if task == "ballot")
    shared = turn[: turn.index("\n\n# Your task")]
    assert ballot.startswith(shared)


def test_ballots_after_a_round_show_its_turns_and_ask_what_is_new() -> None:
    at = hold("rounds", max_rounds=3, options={"stop": "off"}).play_to_round(2)
    after = [prompt for prompt in at.prompts(P) if "new_point" in prompt]
    assert len(after) == 1
    assert "Argument 312e" in after[0]
    assert waves(at.play()) == [(1, "blind"), (1, "round"), (2, "round"), (4, "final")]


def test_a_voter_is_not_asked_as_the_debater_it_is() -> None:
    debaters = [
        {"name": "Ada", "stance": "for", "system_prompt": "Be fierce.", "role": "a lawyer"},
        {"name": "Ben", "stance": "against"},
    ]
    at = hold(debaters=debaters).play_to_round(1)
    at.intervene("inject", text="For Ada alone.", to="Ada")
    at.play()
    ballots = [render_prompt_text(p) for c, p in at.calls_made if (c.seat, c.task) == ("Ada", "ballot")]
    assert len(ballots) == 2
    for prompt in ballots:
        assert not any(words in prompt for words in ("Be fierce.", "a lawyer", "For Ada alone."))


def test_judges_are_told_that_there_were_private_ballots() -> None:
    (first, *_) = hold().play().prompts("judge 1")
    assert "Left out: the debaters' private ballots." in first


def callers() -> DebateSimulation:
    debaters = [
        {"name": "Me", "stance": "for", "model": "caller"},
        {"name": "Tom", "stance": "against", "model": "vendor/model"},
    ]
    return hold(script=task_script({"ballot": build_ballot("A", MARK)}), debaters=debaters)


def answer_as_caller(at: DebateSimulation) -> None:
    call = next(call for call in open_calls(at) if call.seat == "Me")
    text = '{"beliefs": {"A1": 60, "B1": 40}}' if call.task == "ballot" else "It costs little."
    at.add_events(build_submission(at.debate, "Me", text))
    at.play()


def open_calls(at: DebateSimulation) -> Any:
    return pending_calls(at.debate)


def test_a_caller_writes_its_ballot_before_its_first_turn() -> None:
    at = callers().play()
    assert [(call.seat, call.task) for call in open_calls(at)] == [("Me", "ballot")]
    answer_as_caller(at)
    assert [(call.seat, call.task) for call in open_calls(at)] == [("Me", "argument")]


def test_a_caller_is_shown_the_positions_of_its_ballot_and_of_many_a_few() -> None:
    for count, named in ((2, 2), (6, 4)):
        setup = build_setup(["caller"], debaters=build_debaters(count), options={"ballots": "blind"})
        told = describe_awaited_text(simulate(setup).play_to_round(1).debate)
        assert told.count(": percent") == named + 1 + (count > named)
        assert '"none": percent' in told


def test_instructions_for_everybody_are_for_voters_too_and_those_for_one_debater_are_not() -> None:
    at = hold(
        "rounds", max_rounds=3, options={"instructions": "Answer in German.", "stop": "off"}
    ).play_to_round(1)
    at.intervene("instruct", text="Think of the cost.")
    at.intervene("instruct", text="Be fierce.", to=P)
    at.play()
    first, *_, last = [render_prompt_text(p) for c, p in at.calls_made if (c.seat, c.task) == (P, "ballot")]
    assert "Answer in German." in first
    assert "Think of the cost." not in first
    assert "Answer in German." in last
    assert "Think of the cost." in last
    assert "Be fierce." not in last
