"""The answers of a round arrive in any order, and nothing that matters depends on it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from server.debate.prompts.prompt import Prompt
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import build_round
from tests.support.simulation import (
    ArrivalOrder,
    DebateSimulation,
    Script,
    ScriptAnswer,
    build_ballot,
    build_debaters,
    build_setup,
    default_script,
    render_finding,
    simulate,
    summarize_debate,
)

pytestmark = pytest.mark.requirement("N8")


def quarrel(call: Call) -> ScriptAnswer:
    """Three debaters, one of whom is silent at first; judges who differ, the second of them with himself."""
    if (call.seat, call.round, call.attempt) == ("Speaker 2", 2, 1):
        return " "
    if call.seat == "judge 2":
        return render_finding("B" if call.reading == 1 else "C", verdict=f"Reading {call.reading}.")
    return render_finding("A", verdict=f"First, {call.reading}.") if call.reading else default_script(call)


def quarrel_of_all(call: Call) -> ScriptAnswer:
    """As `talk`; but everybody writes to another, and votes for another."""
    if call.task == "message":
        return f'{{"to": "Speaker {int(call.seat[-1]) % 3 + 1}", "text": "{call.seat[-1]} asks."}}'
    if call.task == "ballot":
        return json.dumps(build_ballot("BBC"[int(call.seat[-1]) - 1], f"{call.seat[-1]} votes."))
    return default_script(call)


KINDS: dict[str, tuple[Script, dict[str, Any]]] = {
    "judges who differ": (quarrel, {"options": {"judges": {"count": 2}}}),
    "full": (quarrel_of_all, {"format": "full"}),
    "moderated": (
        quarrel_of_all,
        {"format": "full", "options": {"moderator": {"closes": True, "opens": True}, "referee": True}},
    ),
    "a vote decides": (
        quarrel_of_all,
        {"options": {"phases": ["opening", "voting", "cross_examination", "voting"]}},
    ),
    "settle": (quarrel_of_all, {"format": "settle", "options": {"speaking": "together"}}),
}


def rotate(calls: Sequence[Call]) -> list[Call]:
    return [*calls[1:], *calls[:1]]


@pytest.mark.parametrize("kind", KINDS)
def test_debates_of_every_kind_come_to_the_same_in_any_order_of_arrival(kind: str) -> None:
    script, asked = KINDS[kind]

    def play(arrival: ArrivalOrder) -> DebateSimulation:
        return simulate(
            build_setup(debaters=build_debaters(3), **asked), script, arrival_order=arrival
        ).play()

    at = play(iter)
    assert at.status == "concluded"
    for other in (play(reversed), play(rotate)):
        assert at.events != other.events
        assert prompts(at) == prompts(other)
        assert summarize_debate(at.debate) == summarize_debate(other.debate)
        assert (at.debate.verdict, at.debate.ended) == (other.debate.verdict, other.debate.ended)
        assert render_transcript(at.debate, at.log) == render_transcript(other.debate, other.log)
        assert rounds(at.debate) == rounds(other.debate)


def prompts(at: DebateSimulation) -> dict[str, Prompt]:
    return {call.key: prompt for call, prompt in at.calls_made}


def rounds(debate: Debate) -> list[dict[str, object]]:
    return [build_round(debate, entered.round) for entered in debate.rounds]
