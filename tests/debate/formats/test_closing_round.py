"""`options.closing_round`: a talk of one speaker at a time ends with a round written together."""

from typing import Any

import pytest

from server.debate.ballots.waves import is_talk_over
from server.debate.commands.setup.estimate import estimate
from server.debate.facts.errors import InvalidRequestError
from server.debate.views.verdict import build_verdict
from server.debate.views.warnings import find_setup_warnings
from tests.support.simulation import (
    DebateSimulation,
    Script,
    build_setup,
    default_script,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("C22")

REPEATING = {"name": "argumentation", "repeats": True}
BLOCK = [
    "opening",
    "argumentation",
    {"name": "voting", "repeat_from": "argumentation", "until": "limit", "limit": 2},
    "verdict",
]


def open_closed(
    format_name: str = "verdict", max_rounds: int = 0, script: Script = default_script, **options: Any
) -> DebateSimulation:
    options = {"closing_round": True, **options}
    return simulate(build_setup(format=format_name, max_rounds=max_rounds, options=options), script)


def held(at: DebateSimulation) -> list[str]:
    """The phases of the rounds; that of a closing round with why the talk was over."""
    because = [f" ({r.because})" if r.phase.startswith("closing") else "" for r in at.debate.rounds]
    return [entered.phase + cause for entered, cause in zip(at.debate.rounds, because, strict=True)]


ARGUED = ["argumentation", "argumentation"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [*ARGUED, "closing (max_rounds)", "verdict"]),
        ({"max_rounds": 1}, ["argumentation", "closing (max_rounds)", "verdict"]),
        (
            {"format_name": "handoff", "max_rounds": 2},
            ["discussion", "discussion", "closing (max_turns)", "verdict"],
        ),
        (
            {"moderator": {"closes": True, "opens": False}, "referee": True},
            [*ARGUED, "closing (max_rounds)", "verdict"],
        ),
        (
            {"phases": ["argumentation", "cross_examination", "voting"]},
            ["argumentation", "cross_examination", "closing (max_rounds)", "voting"],
        ),
        (
            {"phases": BLOCK},
            [
                "opening",
                "argumentation",
                "voting",
                "argumentation",
                "voting",
                "closing (block_limit)",
                "verdict",
            ],
        ),
        (
            {"phases": ["closing", REPEATING, "verdict"], "max_rounds": 3},
            ["closing ()", *ARGUED, "closing 2 (max_rounds)", "verdict"],
        ),
        (
            {"format_name": "oxford", "speaking": "declared"},
            ["audience_vote", "opening", "rebuttal", "closing (max_rounds)", "audience_vote 2"],
        ),
    ],
)
def test_it_comes_after_all_other_rounds_of_talk_and_before_who_decides(
    asked: dict[str, Any], expected: list[str]
) -> None:
    at = open_closed(**asked).play()
    assert held(at) == expected
    assert len(at.calls_made) == estimate(at.debate).calls
    assert at.status == "concluded"


def done(call: Any) -> dict[str, Any]:
    return {"next_speakers": ["A", "B"], "done": call.round == 2}


@pytest.mark.parametrize(
    ("closed", "cause"),
    [
        (
            open_closed(max_rounds=5, moderator={"opens": True}, script=task_script({"opening": done})),
            "moderator_done",
        ),
        (
            open_closed(
                max_rounds=5,
                moderator={"closes": True},
                script=task_script(
                    {"closing": {"summary": "So.", "status": "SETTLED", "decision": "Do it."}}
                ),
            ),
            "settled",
        ),
    ],
)
def test_a_moderator_who_ends_the_talk_early_leaves_everybody_a_last_word(
    closed: DebateSimulation, cause: str
) -> None:
    assert held(closed.play())[-2:] == [f"closing ({cause})", "verdict"]


@pytest.mark.parametrize("asked", [{}, {"format_name": "handoff"}])
def test_a_request_to_conclude_leaves_it_out_and_it_can_itself_be_cut_short(asked: dict[str, Any]) -> None:
    at = open_closed(**asked).play_through_round(1)
    at.intervene("conclude")
    assert held(at.play())[-1] == "verdict"
    assert not any(phase.startswith("closing") for phase in held(at))

    at = open_closed(max_rounds=1).play_to_round(2)
    assert not is_talk_over(at.debate)
    at.intervene("conclude")
    assert held(at.play()) == ["argumentation", "closing (max_rounds)", "verdict"]
    assert len(at.debate.turns) == 2


def test_a_budget_that_cannot_pay_for_it_leaves_it_out() -> None:
    at = open_closed(max_rounds=1, limits={"max_calls": 5}).play()
    assert held(at) == ["argumentation", "verdict"]


@pytest.mark.parametrize(
    "asked", [{"format_name": "second_opinion"}, {"format_name": "full"}, {"phases": ["opening", "verdict"]}]
)
def test_nothing_is_added_where_the_last_round_is_written_together_anyway(asked: dict[str, Any]) -> None:
    at = open_closed(**asked).play()
    assert not any(phase.startswith("closing") for phase in held(at))
    assert len(at.calls_made) == estimate(at.debate).calls


def test_a_debate_that_begins_and_ends_together_can_be_decided_and_its_judges_are_told_the_order() -> None:
    judges = {"models": ["a/x", "b/y", "c/z"]}
    for phases, closing, outcome in (
        (["opening", REPEATING, "verdict"], True, "decided"),
        (["opening", REPEATING, "verdict"], False, "leaning"),
        ([REPEATING, "verdict"], True, "leaning"),
    ):
        at = open_closed(phases=phases, closing_round=closing, judges=judges, max_rounds=3).play()
        found = build_verdict(at.debate)
        assert (found.outcome, "Who spoke" in str(found.cautions)) == (outcome, outcome == "leaning")
        reading = at.prompts("judge 1")[-1]
        assert ("of rounds 1 and 4 were written without seeing" in reading) == (outcome == "decided")


def test_its_speakers_are_told_that_it_is_the_last_one() -> None:
    at = open_closed(max_rounds=1).play()
    last = at.prompts("Opponent")[-1]
    assert "This round closes the talk. Numbered points in plain prose" in last
    assert "# Round 2: closing\nWritten without seeing each other. Nobody answers these turns." in last
    assert "Talk round 1 of at most 1." in at.prompts("Opponent")[0]
    assert not find_setup_warnings(at.debate.setup, family_count=2)


@pytest.mark.parametrize("name", ["settle", "round_robin"])
def test_it_is_refused_where_nobody_judges_or_votes(name: str) -> None:
    with pytest.raises(InvalidRequestError, match="closing_round is for debates that judges or voters"):
        open_closed(name)
