"""Limits that are changed while a debate runs: who changes them is told what that will come to."""

import pytest

from server.debate.commands.intervene import InterventionRequest, build_intervention
from tests.support.simulation import build_debaters, build_setup, simulate

pytestmark = pytest.mark.requirement("N10", "D4")


@pytest.mark.parametrize("rounds", [0, 1])
@pytest.mark.parametrize(
    ("most", "told"),
    [
        (3, "The new limits leave no room for another question (budget: 5 of 3 calls spent, and 1 call "),
        (6, "The new limits leave no room for another question (budget: 5 of 6 calls spent, and 1 call "),
        (7, "The new limits are in force from the next question on. Resume the debate now."),
    ],
)
def test_limits_that_leave_no_room_are_said_to_leave_none(most: int, told: str, rounds: int) -> None:
    limits = {"limits": {"max_calls": 6, "on_budget": "pause"}}
    paused = (
        simulate(build_setup(format="verdict", debaters=build_debaters(2), max_rounds=9, options=limits))
        .play()
        .debate
    )

    made = build_intervention(
        paused, "extend", InterventionRequest(rounds=rounds, limits={"max_calls": most})
    )

    assert paused.paused
    assert told in made.effect
    assert ("Resume" in made.effect) == (most == 7)
