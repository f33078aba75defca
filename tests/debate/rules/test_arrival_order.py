"""The answers of a round arrive in any order, and nothing that matters depends on it."""

import json
from collections.abc import Sequence
from itertools import permutations
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

PANEL = {"judges": {"count": 2}}


def quarrel(call: Call) -> ScriptAnswer:
    """Three debaters, one of whom is silent at first; judges who differ, the second of them with himself."""
    if (call.seat, call.round, call.attempt) == ("Speaker 2", 2, 1):
        return " "
    if call.seat == "judge 2":
        return render_finding("B" if call.reading == 1 else "C", verdict=f"Reading {call.reading}.")
    return render_finding("A", verdict=f"First, {call.reading}.") if call.reading else default_script(call)


def played(arrival: Sequence[int]) -> DebateSimulation:
    """A whole debate in which the answers to every set of questions arrive in this order."""

    def arranged(calls: Sequence[Call]) -> list[Call]:
        order = sorted(range(len(calls)), key=lambda index: arrival[index % len(arrival)])
        return [calls[index] for index in order]

    return simulate(
        build_setup(debaters=build_debaters(3), options=PANEL), quarrel, arrival_order=arranged
    ).play()


def quarrel_of_all(call: Call) -> ScriptAnswer:
    """As `talk`; but everybody writes to another, and votes for another."""
    if call.task == "message":
        return f'{{"to": "Speaker {int(call.seat[-1]) % 3 + 1}", "text": "{call.seat[-1]} asks."}}'
    if call.task == "ballot":
        return json.dumps(build_ballot("BBC"[int(call.seat[-1]) - 1], f"{call.seat[-1]} votes."))
    return default_script(call)


KINDS: dict[str, dict[str, Any]] = {
    "full": {"format": "full"},
    "moderated": {
        "format": "full",
        "options": {"moderator": {"closes": True, "opens": True}, "referee": True},
    },
    "a vote decides": {"options": {"phases": ["opening", "voting", "cross_examination", "voting"]}},
    "settle": {"format": "settle", "options": {"speaking": "together"}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_debates_of_every_kind_come_to_the_same_in_any_order_of_arrival(kind: str) -> None:
    def play(arrival: ArrivalOrder) -> DebateSimulation:
        return simulate(
            build_setup(debaters=build_debaters(3), **KINDS[kind]), quarrel_of_all, arrival_order=arrival
        ).play()

    at, reversed_ = play(iter), play(reversed)
    assert at.status == "concluded"
    assert at.events != reversed_.events
    assert prompts(at) == prompts(reversed_)
    assert summarize_debate(at.debate) == summarize_debate(reversed_.debate)
    assert render_transcript(at.debate, at.log) == render_transcript(reversed_.debate, reversed_.log)
    assert rounds(at.debate) == rounds(reversed_.debate)


def prompts(at: DebateSimulation) -> dict[str, Prompt]:
    return {call.key: prompt for call, prompt in at.calls_made}


IN_ORDER = played(range(6))


@pytest.mark.parametrize("arrival", list(permutations(range(3))))
def test_any_order_of_arrival_gives_the_same_prompts_and_the_same_outcome(arrival: tuple[int, ...]) -> None:
    at = played(arrival)
    assert prompts(at) == prompts(IN_ORDER)
    assert summarize_debate(at.debate) == summarize_debate(IN_ORDER.debate)
    assert at.debate.verdict == IN_ORDER.debate.verdict
    assert at.debate.ended == IN_ORDER.debate.ended


def rounds(debate: Debate) -> list[dict[str, object]]:
    return [build_round(debate, entered.round) for entered in debate.rounds]
