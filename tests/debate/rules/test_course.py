"""Why a talk ends where several causes hold at once: the order of precedence that `rules.course` says."""

from typing import Any

import pytest

from server.debate.facts.causes import EndCause
from server.debate.facts.errors import IllegalEvent
from server.debate.facts.events import BlockEnded
from server.debate.rules.calls import Call
from tests.support.simulation import (
    DebateSimulation,
    build_ballot,
    build_debaters,
    build_setup,
    default_script,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("C12")

ROWS: tuple[EndCause, ...] = (
    "settled",
    "max_turns",
    "max_rounds",
    "moderator_done",
    "converged",
    "terminate_when",
)


def hold_two_rounds(*causes: EndCause) -> DebateSimulation:
    """Two rounds of a moderated talk. After the second, these causes to end it hold, and no others."""

    def opening(call: Call) -> dict[str, Any]:
        return {"next_speakers": ["A", "B"], "done": "moderator_done" in causes and call.round == 2}

    def closing(call: Call) -> dict[str, Any]:
        is_settled = "settled" in causes and call.round == 2
        return {"summary": "So far.", "status": "SETTLED" if is_settled else "CONTINUE", "decision": "Do it."}

    def ballot(call: Call) -> dict[str, Any]:
        is_sure = "converged" in causes and call.round == 2
        later = (
            {"new_point": None, "open_point": None}
            if is_sure
            else {"new_point": "New.", "open_point": "Open."}
        )
        return build_ballot("A", percent=97) | (later if call.slot_index > 100 else {})

    options = {
        "moderator": {"opens": True, "closes": True},
        "ballots": "rounds",
        "stop": "on",
        "challenges": "challenge",  # so that ballots are asked for after the last round of talk too
    }
    opened = build_setup(
        format="round_robin",
        debaters=build_debaters(2),
        max_rounds=2 if "max_rounds" in causes else 4,
        options=options,
    )
    most_turns = 4 if "max_turns" in causes else 0
    at = simulate(
        opened.model_copy(update={"max_turns": most_turns}),
        task_script({"opening": opening, "closing": closing, "ballot": ballot}),
    )
    if "terminate_when" in causes:
        at.terminate_when = lambda debate: debate.round == 2
    return at


@pytest.mark.parametrize("cause", ROWS)
def test_of_the_causes_that_end_a_talk_the_first_of_the_table_is_recorded(cause: EndCause) -> None:
    alone = hold_two_rounds(cause).play_to_round(3)
    assert alone.debate.rounds[2].because == cause
    with_all_later = hold_two_rounds(*ROWS[ROWS.index(cause) :]).play_to_round(3)
    assert with_all_later.debate.rounds[2].because == cause


def test_a_request_comes_before_all_that_the_round_would_have_ended_with() -> None:
    at = hold_two_rounds(*ROWS).play_to_round(2)
    at.play(lambda debate: len(debate.round_turns(2)) == 2).intervene("conclude")
    assert at.play_to_round(3).debate.rounds[2].because == "request"


def test_the_code_of_the_caller_comes_before_the_rounds_of_a_block() -> None:
    block = {"name": "argumentation", "repeat_from": "argumentation", "limit": 5}
    options = {"phases": [block, "verdict"]}
    at = simulate(build_setup(debaters=build_debaters(3), options=options, max_rounds=2), default_script)
    assert at.play_to_round(2).play_to_round(3).debate.rounds[2].because == "max_rounds"
    at = simulate(at.debate.setup, default_script)
    at.terminate_when = lambda debate: debate.round == 2
    assert at.play_to_round(3).debate.rounds[2].because == "terminate_when"


def test_a_block_without_rounds_left_ends_the_talk_though_other_phases_of_talk_come_after_it() -> None:
    block = {"name": "voting", "repeat_from": "argumentation", "limit": 4}
    options = {"phases": ["argumentation", block, "rebuttal", "verdict"]}
    at = simulate(build_setup(debaters=build_debaters(3), options=options, max_rounds=2)).play()
    assert [entered.phase for entered in at.debate.rounds] == [*["argumentation", "voting"] * 2, "verdict"]
    assert at.debate.rounds[-1].because == "max_rounds"


def test_a_talk_that_cannot_begin_for_want_of_calls_is_not_entered() -> None:
    at = simulate(build_setup(format="oxford")).play_through_round(1)
    at.intervene("extend", limits={"max_calls": 1})
    at.play()
    assert at.debate.ended
    assert (at.debate.ended.ending, at.debate.ended.cause, at.debate.round) == ("truncated", "budget", 1)


def test_no_record_ends_a_block_where_none_is_under_way() -> None:
    at = simulate().play_through_round(1)
    with pytest.raises(IllegalEvent, match="no block ends here"):
        at.add_events(BlockEnded(block="opening", round=1, passes=1, cause="block_limit"))
