"""A failure on the last call that a budget has leaves nothing to ask again with: what is there is judged."""

from typing import Any

import pytest

from server.debate.rules.calls import Call
from server.debate.views.state import status_reason
from tests.support.simulation import (
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_setup,
    default_script,
    simulate,
)

pytestmark = pytest.mark.requirement("N10", "D3")


def played(number: int, **limits: Any) -> tuple[str, str, int]:
    """A hand-off whose speaker of that round fails: its status, the reason, and how often was asked."""

    def script(call: Call) -> ScriptAnswer:
        return (
            ProviderFailure("unavailable")
            if call.round == number and call.task == "argument"
            else default_script(call)
        )

    options = {"limits": limits, "judges": {"both_orders": False}}
    at = simulate(build_setup(format="handoff", max_rounds=10, options=options), script).play()
    return at.status, status_reason(at.debate), len(at.calls_made)


def test_what_was_said_before_is_judged() -> None:
    status, reason, asked = played(3, max_calls=4)

    assert (status, asked) == ("concluded", 4)
    assert reason.startswith("budget: 3 of 4 calls spent")


def test_while_there_is_room_the_debate_waits_for_the_cause_to_be_gone() -> None:
    status, reason, _ = played(3, max_calls=5)

    assert status == "paused"
    assert reason.startswith("0 of 1 answered in round 3")


@pytest.mark.parametrize("most", [2, 3])
def test_where_nothing_was_said_there_is_nothing_to_judge(most: int) -> None:
    status, reason, _ = played(1, max_calls=most)

    assert status == "paused"
    assert reason.startswith("0 of 1 answered in round 1")


@pytest.mark.parametrize(("most", "ends"), [(5, "concluded"), (6, "paused")])
def test_a_debate_waits_for_nobody_whom_there_is_no_call_left_to_ask(most: int, ends: str) -> None:
    def script(call: Call) -> ScriptAnswer:
        return ProviderFailure("unavailable") if call.seat == "Speaker 1" else default_script(call)

    options = {"limits": {"max_calls": most}}
    at = simulate(build_setup(max_rounds=1, debaters=build_debaters(3), options=options), script).play()

    assert (at.status, len(at.debate.turns)) == (ends, 2)


def test_a_round_that_was_planned_goes_on_with_the_calls_that_are_left() -> None:
    replies = iter([""])

    def script(call: Call) -> ScriptAnswer:
        return next(replies, default_script(call)) if call.task == "argument" else default_script(call)

    options = {"moderator": {"opens": True}, "limits": {"max_calls": 5}}
    at = simulate(build_setup(format="verdict", max_rounds=1, options=options), script).play()

    assert (at.status, len(at.debate.turns), len(at.calls_made)) == ("concluded", 1, 5)


@pytest.mark.parametrize(("failing", "ends"), [((2,), "concluded"), ((1, 2), "paused")])
def test_a_reading_that_fails_on_the_last_call_leaves_the_other_to_go_by(
    failing: tuple[int, ...], ends: str
) -> None:
    def script(call: Call) -> ScriptAnswer:
        return ProviderFailure("unavailable") if call.reading in failing else default_script(call)

    at = simulate(build_setup(max_rounds=1, options={"limits": {"max_calls": 4}}), script).play()

    assert (at.status, len(at.calls_made)) == (ends, 4)
