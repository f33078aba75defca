"""What each entry writes to the row of its debate does not grow with what was said before."""

import sys
from typing import Any

import pytest

from server.engine.database.summaries import build_stream_summary
from tests.support.simulation import DebateSimulation, build_debaters, build_setup, simulate

MOST_CALLS_A_TURN = 10
"""So few are taken to look at who wrote a turn, and not at its words."""


def count_calls(simulation: DebateSimulation) -> int:
    """How many calls it takes to make the row of a debate after its last event."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        build_stream_summary(simulation.debate, simulation.events[-1:], simulation.log, {})
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.requirement("D20")
def test_the_row_of_a_long_debate_is_made_without_reading_all_its_turns_again() -> None:
    setup = build_setup(format="verdict", debaters=build_debaters(20)).model_copy(update={"max_rounds": 9})
    simulation = simulate(setup)
    early = count_calls(simulation.play(lambda debate: len(debate.turns) == 21))
    late = count_calls(simulation.play(lambda debate: len(debate.turns) == 161))
    assert late - early < MOST_CALLS_A_TURN * 140
