"""Votes of an audience: judges who vote, before there is any talk and in any phase."""

from typing import Any

import pytest

from server.debate.machine.decide import Ask, Wait, decide, is_round_over
from server.debate.rules.calls import Call
from server.debate.views.markdown import render_transcript, render_verdict
from server.debate.views.rounds import build_round, list_tasks
from server.debate.views.verdict import tally_ballots
from server.debate.votes.voters import find_voters
from tests.support import simulation
from tests.support.simulation import build_ballot

pytestmark = pytest.mark.requirement("D1")

PHASES = ["audience_vote", "opening", "rebuttal", "audience_vote"]


def audience(script: simulation.Script | None = None, **options: Any) -> simulation.DebateSimulation:
    opened = simulation.build_setup(options={"phases": PHASES, "judges": {"count": 3}, **options})
    return simulation.simulate(opened, script or simulation.task_script({"ballot": ballot}))


def ballot(call: Call) -> dict[str, Any]:
    """In the first vote all are for A; in the last, judges 2 and 3 for B."""
    return build_ballot("B1" if call.round > 1 and call.seat != "voter 1" else "A1", "So.")


def test_an_audience_votes_before_anybody_has_spoken() -> None:
    at = audience().play_to_round(1)
    assert [(call.task, call.seat) for call in at.pending_calls()] == [
        ("ballot", f"voter {number}") for number in (1, 2, 3)
    ]
    at.play_through_round(1)
    assert is_round_over(at.debate)
    assert [ballot.choice for ballot in at.debate.votes[0]] == ["Proponent"] * 3


def test_the_last_vote_of_an_audience_makes_the_verdict_where_no_rule_is_named() -> None:
    at = audience().play()
    assert find_voters(at.debate.setup) == ("voter 1", "voter 2", "voter 3")
    assert at.debate.verdict
    assert at.debate.verdict.outcome == "contested"  # two voices of one model against one of it
    assert tally_ballots(at.debate)["votes"] == {"for": 1, "against": 2}
    assert "*voter 2 votes for Opponent" in render_transcript(at.debate, at.log)
    assert len(build_round(at.debate, 1)["ballots"]) == 3


def test_a_vote_that_makes_the_verdict_waits_for_the_quorum_of_the_audience() -> None:
    failing = simulation.task_script(
        {"ballot": lambda c: ballot(c) if c.seat == "voter 1" else simulation.ProviderFailure("timeout")}
    )
    at = audience(failing, judges={"count": 3, "quorum": 2}).play()
    assert (at.status, at.debate.round) == ("paused", 4)
    assert isinstance(decide(at.debate), Wait)
    assert {row["task"] for row in list_tasks(at.debate) if row["state"] == "failed"} == {"ballot"}


def test_ballots_of_a_hidden_audience_are_shown_to_nobody() -> None:
    at = audience(visibility={"hide_from_client": ["judges"]}).play()
    assert "*voter 2 votes" not in render_transcript(at.debate, at.log)
    assert build_round(at.debate, 1)["ballots"] == []


@pytest.mark.parametrize("anonymize", [True, False])
def test_an_audience_is_asked_as_judges_and_not_as_debaters(anonymize: bool) -> None:
    judges = {"count": 1, "prompt": "Ask who pays.", "anonymize": anonymize}
    at = audience(judges=judges).play()
    (first, last) = at.prompts("voter 1")
    assert "You are in the audience." in first
    assert "Ask who pays." in first
    assert "Argument" not in first
    assert last.count("Argument ") == 4
    assert ("A1 is Proponent" in last) is not anonymize


def test_the_models_of_an_audience_that_debated_themselves_are_named_in_the_verdict() -> None:
    assert "The voters' models also debated" in render_verdict(audience().play().debate)
    assert isinstance(decide(audience().play_to_round(1).debate), Ask)
