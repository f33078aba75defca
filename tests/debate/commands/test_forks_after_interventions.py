"""Forks of debates that were steered: what they share, who sits where, and whose votes count how much."""

from typing import Any

import pytest

from server.debate.commands.fork import fork
from server.debate.commands.intervene import InterventionRequest, build_intervention
from server.debate.commands.requests import ChangesInput
from server.debate.facts.events import Event
from server.debate.facts.interventions import TurnRetracted
from server.debate.rules.transitions import replay
from server.debate.views.compare import Comparison, build_comparison
from server.debate.views.events import build_interventions
from tests.support.simulation import DebateSimulation, build_setup, default_script, simulate

pytestmark = pytest.mark.requirement("N9", "D4")

TWO_JUDGES = {"judges": {"models": ["x/one", "x/two"]}}


def steer(at: DebateSimulation, action: str, **wish: Any) -> None:
    at.add_events(*build_intervention(at.debate, action, InterventionRequest(**wish)).events)


def forked(of: DebateSimulation, at_round: int, **changes: Any) -> DebateSimulation:
    opened, past = fork("parent", of.debate, of.log, at_round, ChangesInput.model_validate(changes))
    events: list[Event] = [opened, *past]
    return DebateSimulation(replay(events), default_script, events=events)


def beside(parent: DebateSimulation, child: DebateSimulation) -> Comparison:
    return build_comparison(parent.stored("parent"), child.stored("fork"))


def in_force(at: DebateSimulation) -> dict[str, Any]:
    return dict(build_interventions(at.stored())["settings"])


def test_rounds_are_shared_whoever_sits_on_the_bench_of_the_fork() -> None:
    parent = simulate(build_setup(options=TWO_JUDGES)).play_through_round(1)
    steer(parent, "replace_model", to="judge 2", model="x/three")
    steer(parent, "replace_model", to="Opponent", model="x/four")

    child = forked(parent, 1, judges={"count": 1}, models={"Opponent": "x/five"})

    found = beside(parent.play(), child.play())
    assert (found.shared_rounds, found.provenance) == (1, "verified")
    assert found.one.models["Opponent"] == "x/four"
    assert found.other.models == {"Proponent": "scripted", "Opponent": "x/five", "judge 1": "x/one"}


def test_rounds_stay_shared_when_the_other_debate_is_steered_before_its_next() -> None:
    parent = simulate().play_through_round(1)
    child = forked(parent, 1)
    steer(parent, "inject", text="News.")
    steer(parent, "pause")

    assert beside(parent, child).shared_rounds == 1


def test_a_seat_that_is_not_there_has_no_weight() -> None:
    parent = simulate(build_setup(options=TWO_JUDGES)).play_through_round(1)
    steer(parent, "weights", weights={"judge 1": "3", "judge 2": "1/2"})
    steer(parent, "weights", weights={"judge 2": "2"})

    child = forked(parent, 1, judges={"count": 1})

    assert in_force(child)["weights"] == {"judge 1": "3"}
    assert len(child.debate.interventions) == 1
    assert in_force(forked(parent, 1))["weights"] == {"judge 1": "3", "judge 2": "2"}


def test_a_judge_of_another_model_is_another_judge_and_not_weighed() -> None:
    parent = simulate(build_setup(options=TWO_JUDGES)).play_through_round(1)
    steer(parent, "weights", weights={"judge 1": "3", "judge 2": "1/2"})

    child = forked(parent, 1, judges={"models": ["x/one", "x/other"]})

    assert in_force(child)["weights"] == {"judge 1": "3"}


def test_a_turn_that_was_retracted_later_stays_retracted() -> None:
    parent = simulate().play_through_round(2)
    steer(parent, "retract", to="Opponent", round=1, reason="made up")

    child = forked(parent, 1)
    grandchild = forked(child.play_through_round(2), 1)

    for at in (child, grandchild):
        assert [at.debate.is_active(turn) for turn in at.debate.round_turns(1)].count(False) == 1
        (made,) = [event for event in at.events if isinstance(event, TurnRetracted)]
        assert (made.action, made.round, made.reason) == ("retract", 1, "made up")
    assert beside(parent, child).shared_rounds == 1
    assert forked(parent, 0).debate.interventions == ()
