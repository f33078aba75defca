"""Moderators over MCP: what they may say, what a user sees of what they may not, and how a talk ends."""

from typing import Any

import pytest

from server.models import ModelError
from server.models.fakes.scripted import ScriptedModel
from tests.support.client_calls import call, read_resource
from tests.support.mcp_debates import (
    TaskAnswer,
    build_scripted_model,
    find_prompts,
    read_events,
    read_transcript,
    read_view,
)

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C3")]

TWO = [{"name": "Ada", "stance": "now"}, {"name": "Ben", "stance": "later"}]
BOTH = {"next_speakers": ["Ada", "Ben"], "briefing": None, "new_angle": None, "done": False}


async def moderated(client: Any, **more: Any) -> dict[str, Any]:
    options = {"moderator": {"model": "moderator"}, **more.pop("options", {})}
    asked = {"question": "Ship it?", "format": "verdict", "debaters": TWO, "run": True, **more}
    return await call(client, "start_debate", **asked, options=options)


@pytest.mark.requirement("C4")
@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (
            BOTH | {"next_speakers": ["Ada", "Plato"]},
            'next_speakers: nobody here is called "Plato". Known: Ada, Ben',
        ),
        ("Let us hear Ada first.", "the reply holds no JSON object"),
    ],
)
async def test_a_decision_that_cannot_be_used_is_told_to_the_user_and_to_the_moderator_who_is_asked_again(
    open_modern_client: Any, decision: TaskAnswer, told: str
) -> None:
    moderator = build_scripted_model(opening=[decision, BOTH | {"next_speakers": ["Ben"]}])
    async with open_modern_client({"moderator": moderator}) as client:
        ran = await moderated(client, max_rounds=1)
        transcript = await read_transcript(client, ran)
        result = await read_view(client, ran, "result")

    assert ran["status"] == "concluded"
    assert ran["failures"] == [f"moderator (moderator): {told} (unreadable)"]
    assert f"*moderator failed: {told}*" in transcript
    assert f"could not be used: {told}. Answer again" in find_prompts(moderator, "opening")[1]
    assert [turn["agent"] for turn in result["transcript"]] == ["Ben"]


@pytest.mark.requirement("C4")
@pytest.mark.parametrize(
    "answer", [BOTH | {"next_speakers": []}, ModelError("unavailable", "moderator cannot be reached")]
)
async def test_without_a_usable_decision_everybody_speaks_and_the_transcript_says_why(
    open_modern_client: Any, answer: TaskAnswer
) -> None:
    async with open_modern_client({"moderator": build_scripted_model(opening=answer)}) as client:
        ran = await moderated(client, max_rounds=1)
        transcript = await read_transcript(client, ran)
        result = await read_view(client, ran, "result")

    assert [turn["agent"] for turn in result["transcript"]] == ["Ada", "Ben"]
    assert "*the moderator gave no usable answer, so everybody speaks as declared*" in transcript
    assert len(result["moderatorDecisions"]) == 1


@pytest.mark.requirement("C12")
@pytest.mark.parametrize(
    ("rounds", "done", "reason", "told"),
    [
        (2, False, "max_rounds", "the last round was held"),
        (2, True, "max_rounds", "the last round was held"),  # looked for first
        (4, True, "moderator done", "the moderator ended the talk"),
    ],
)
async def test_the_talk_ends_at_the_last_round_or_after_the_moderator_is_done(
    open_modern_client: Any, rounds: int, done: bool, reason: str, told: str
) -> None:
    moderator = build_scripted_model(opening=[BOTH, BOTH | {"done": done}])
    async with open_modern_client({"moderator": moderator}) as client:
        ran = await moderated(client, max_rounds=rounds)
        state = await read_view(client, ran, "state")
        verdict = await read_resource(client, f"debate://{ran['debate_id']}/verdict")
        result = await read_view(client, ran, "result")

    assert (state["reason"], state["rounds_of_talk"]) == (reason, 2)
    assert len(result["transcript"]) == 4  # the round in which it was done was held
    assert f"The talk ended: {told}." in verdict


@pytest.mark.requirement("A2", "C3")
async def test_a_moderator_may_open_and_close_the_rounds_of_one_debate(open_modern_client: Any) -> None:
    moderator = ScriptedModel()
    async with open_modern_client({"moderator": moderator}) as client:
        ran = await moderated(
            client, format="settle", options={"moderator": {"model": "moderator", "opens": True}}
        )
        facts = await read_events(client, ran, "round_opened", "spoke", "round_closed")

    kinds = ["round_opened", "spoke", "spoke", "round_closed"]
    assert [fact["kind"] for fact in facts] == kinds * 2
    assert ran["outcome"] == "decided"
    assert "### Moderator\n" in ran["moderator"]
    assert "**Status**: SETTLED" in ran["moderator"]


@pytest.mark.requirement("A2")
async def test_a_summary_that_cannot_be_read_is_told_and_asked_for_again(open_modern_client: Any) -> None:
    closing, told = "SUMMARY: Fine.\nSTATUS: perhaps", '"status" must be SETTLED or CONTINUE'
    good = {"summary": "Ada has it.", "status": "SETTLED", "decision": "Ship."}
    async with open_modern_client({"moderator": build_scripted_model(closing=[closing, good])}) as client:
        ran = await moderated(client, format="settle")

    assert (ran["outcome"], ran["verdict"], ran["round"]) == ("decided", "Ship.", 1)
    assert ran["failures"] == [f"moderator (moderator): {told} (unreadable)"]


@pytest.mark.requirement("A2", "D3")
async def test_without_a_moderator_s_summary_the_debate_pauses_and_can_be_resumed(
    open_modern_client: Any,
) -> None:
    down = ModelError("unavailable", "moderator cannot be reached")
    good = {"summary": "Ada has it.", "status": "SETTLED", "decision": "Ship."}
    async with open_modern_client({"moderator": build_scripted_model(closing=[down, good])}) as client:
        ran = await moderated(client, format="settle")
        assert (ran["status"], ran["round"]) == ("paused", 1)
        assert "moderator: moderator cannot be reached" in ran["reason"]

        await call(client, "intervene", debate_id=ran["debate_id"], action="resume")
        verdict = await call(client, "get_verdict", debate_id=ran["debate_id"])

    assert (verdict["status"], verdict["verdict"]) == ("concluded", "Ship.")


async def test_a_moderated_debate_goes_on_in_another_process(open_modern_client: Any) -> None:
    moderator = build_scripted_model(opening=[BOTH | {"next_speakers": ["Ben", "Ben"]}, BOTH])
    async with open_modern_client({"moderator": moderator}) as client:
        started = await moderated(client, run=False)
        await call(client, "step_round", debate_id=started["debate_id"])
    async with open_modern_client({"moderator": moderator}) as client:
        await call(client, "step_round", debate_id=started["debate_id"])
        result = await read_view(client, started, "result")

    assert [turn["agent"] for turn in result["transcript"]] == ["Ben", "Ben", "Ada", "Ben"]
