"""Every format, played to its end: which phases it holds, and who is asked for what in which order."""

import pytest

from server.debate.facts.events import Ended
from server.debate.machine.decide import Over, decide
from server.debate.views.markdown import render_transcript
from tests.support.simulation import DebateSimulation, build_debaters, build_setup, simulate, task_script

P, OPP = "Proponent", "Opponent"
ROUNDS: dict[str, list[tuple[str, str]]] = {
    "advocates": [("opening", ""), ("rebuttal", ""), ("verdict", "max_rounds")],
    "verdict": [("argumentation", ""), ("argumentation", ""), ("verdict", "max_rounds")],
    "settle": [("argumentation", "")] * 3,
    "handoff": [*[("discussion", "")] * 10, ("verdict", "max_turns")],
    "round_robin": [("argumentation", ""), ("argumentation", ""), ("deliverable", "max_rounds")],
    "full": [
        ("opening", ""),
        ("argumentation", ""),
        ("argumentation", ""),
        ("rebuttal", ""),
        ("cross_examination", ""),
        ("synthesis", ""),
        ("voting", "max_rounds"),
        ("verdict", "max_rounds"),
    ],
    "oxford": [("audience_vote", ""), ("opening", ""), ("rebuttal", ""), ("audience_vote 2", "max_rounds")],
}
ARGUED = [("argument", P), ("argument", OPP)]
AUDIENCE = [("ballot", f"voter {number}") for number in (1, 2, 3)]
ASKED: dict[str, list[list[tuple[str, str]]]] = {
    "advocates": [ARGUED, ARGUED, [("judgment", "judge 1")] * 2],
    "verdict": [ARGUED, ARGUED, [("judgment", "judge 1")] * 2],
    "settle": [[*ARGUED, ("closing", "moderator")]] * 3,
    "handoff": [*[[("argument", seat)] for seat in [P, OPP] * 5], [("judgment", "judge 1")] * 2],
    "round_robin": [ARGUED, ARGUED, [("deliverable", "synthesizer")]],
    "full": [
        *[ARGUED] * 4,
        [("message", P), ("message", OPP), ("answer", P), ("answer", OPP)],
        ARGUED,
        [("ballot", P), ("ballot", OPP)],
        [("judgment", "judge 1")] * 2,
    ],
    "oxford": [AUDIENCE, ARGUED, ARGUED, AUDIENCE],
}


def asked(at: DebateSimulation, number: int) -> list[tuple[str, str]]:
    return [(call.task, call.seat) for call, _ in at.calls_made if call.round == number]


def back_and_forth(name: str) -> DebateSimulation:
    """The format as it stands. In `handoff` the first two speakers hand over to each other."""
    hands = task_script(
        {"argument": lambda c: {"response": "So.", "next_agent_name": OPP if c.seat == P else P}}
    )
    return simulate(build_setup(format=name), hands).play()


@pytest.mark.requirement("D1", "A3", "B1", "C2", "C15")
@pytest.mark.parametrize("name", ROUNDS)
def test_a_format_is_held_as_its_row_says(name: str) -> None:
    at = back_and_forth(name)
    assert [(entered.phase, entered.because) for entered in at.debate.rounds] == ROUNDS[name]
    for number, expected in enumerate(ASKED[name], start=1):
        # Those who are asked at once are asked as declared, answers to messages as the round is read.
        assert sorted(asked(at, number)) == sorted(expected)
        if at.debate.round_phase(number).wants == "argument":
            assert asked(at, number) == expected
    assert at.debate.ended == Ended(
        ending="concluded", cause="max_turns" if name == "handoff" else "max_rounds"
    )
    assert decide(at.debate) == Over(at.debate.ended)
    assert at.debate.failures == ()


@pytest.mark.requirement("C1", "D1")
@pytest.mark.parametrize("name", ["advocates", "settle", "full"])
def test_twelve_debaters_come_to_an_end(name: str) -> None:
    at = simulate(build_setup(format=name, debaters=build_debaters(12))).play()
    assert at.status == "concluded"
    assert not at.debate.failures
    assert {turn.seat for turn in at.debate.turns} == set(at.debate.names)
    assert render_transcript(at.debate, at.log).startswith("# ")
