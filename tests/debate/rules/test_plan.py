"""The plan of a debate, which estimates, budgets and progress count, is what is then asked."""

from typing import Any

import pytest

from server.debate.ballots.waves import is_private_ballot
from server.debate.commands.setup.estimate import estimate
from server.debate.rules.plan import count_expected_answers, plan_waves
from server.debate.state.debate import Debate
from tests.support.simulation import build_ballot, build_setup, simulate, task_script

pytestmark = pytest.mark.requirement("N10", "D24", "D29")


def block(until: str, *first: Any) -> list[Any]:
    return [*first, "opening", {"name": "rebuttal", "repeat_from": "opening", "until": until}, "verdict"]


OPENING, VOTE = {"name": "opening", "messages": True}, {"name": "voting", "repeat_from": "opening"}


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({}, {"phases": [OPENING, "rebuttal", "verdict"]}),
        (
            {"max_rounds": 4},
            {"phases": [OPENING, "cross_examination", "verdict"], "limits": {"max_turns": 6}},
        ),
        ({"format": "verdict", "max_rounds": 3}, {"limits": {"max_turns": 3}, "ballots": "rounds"}),
        ({"format": "verdict"}, {"speaking": "handoff"}),
        ({"format": "verdict"}, {"speaking": "moderated", "moderator": {"closes": True}, "referee": True}),
        ({}, {"phases": block("limit")}),
        ({"max_rounds": 3}, {"phases": block("limit")}),
        ({}, {"phases": block("convergence"), "stop": "off"}),
        ({"max_rounds": 2}, {"phases": ["opening", VOTE, "verdict"]}),
        ({"format": "settle"}, {"challenges": "challenge"}),
        ({"format": "oxford"}, {"ballots": "blind"}),
        ({"format": "full"}, {"ballots": "rounds"}),
        ({}, {"phases": ["opening", "rebuttal"], "ballots": "rounds"}),
    ],
)
def test_it_has_every_answer_of_a_talk_that_does_not_end_early(
    fields: dict[str, Any], options: dict[str, Any]
) -> None:
    def vote(call: Any) -> dict[str, Any]:
        blind = is_private_ballot(call.slot_index) and call.round == 1
        return build_ballot("A", percent=60 if blind else 65 + 5 * call.round) | {"new_point": "Taxes."}

    argument = "We should.\n\nMESSAGE TO {}, question: What does it cost?"
    script = task_script(
        {"argument": lambda call: argument.format("B1" if call.seat == "Proponent" else "A1"), "ballot": vote}
    )
    at = simulate(build_setup(options=options, **fields), script)
    planned, calls = count_expected_answers(at.debate), estimate(at.debate).calls
    assert at.play().status == "concluded"
    assert (planned, calls) == (len(at.calls_made),) * 2


def test_speakers_who_are_chosen_speak_equally_often() -> None:
    setup = build_setup(format="handoff", max_rounds=6)
    speakers = [wave.seats for wave in plan_waves(Debate(setup), fewest=True)][:6]
    assert speakers == [("Proponent",), ("Opponent",), ("Neutral",)] * 2
