"""Moderators over MCP: what they may say, what a user sees of what they may not, and how a talk ends."""

from typing import Any

import pytest

from server.models.fakes.scripted import ScriptedModel
from tests.support import mcp_debates
from tests.support.client_calls import call

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
    open_modern: Any, decision: mcp_debates.TaskAnswer, told: str
) -> None:
    moderator = mcp_debates.build_scripted_model(opening=[decision, BOTH | {"next_speakers": ["Ben"]}])
    async with open_modern({"moderator": moderator}) as client:
        ran = await moderated(client, max_rounds=1)
        transcript = await mcp_debates.read_transcript(client, ran)
        result = await mcp_debates.read_view(client, ran, "result")

    assert ran["status"] == "concluded"
    assert ran["failures"] == [f"moderator (moderator): {told} (unreadable)"]
    assert f"*moderator failed: {told}*" in transcript
    assert f"could not be used: {told}. Answer again" in mcp_debates.find_prompts(moderator, "opening")[1]
    assert [turn["agent"] for turn in result["transcript"]] == ["Ben"]


@pytest.mark.requirement("A2", "C3")
async def test_a_moderator_may_open_and_close_the_rounds_of_one_debate(open_modern: Any) -> None:
    moderator = ScriptedModel()
    async with open_modern({"moderator": moderator}) as client:
        ran = await moderated(
            client, format="settle", options={"moderator": {"model": "moderator", "opens": True}}
        )
        facts = await mcp_debates.read_events(client, ran, "round_opened", "spoke", "round_closed")

    kinds = ["round_opened", "spoke", "spoke", "round_closed"]
    assert [fact["kind"] for fact in facts] == kinds * 2
    assert ran["outcome"] == "decided"
    assert "### Moderator\n" in ran["moderator"]
    assert "**Status**: SETTLED" in ran["moderator"]


@pytest.mark.requirement("A2")
async def test_a_summary_that_cannot_be_read_is_told_and_asked_for_again(open_modern: Any) -> None:
    closing, told = "SUMMARY: Fine.\nSTATUS: perhaps", '"status" must be SETTLED or CONTINUE'
    good = {"summary": "Ada has it.", "status": "SETTLED", "decision": "Ship."}
    async with open_modern(
        {"moderator": mcp_debates.build_scripted_model(closing=[closing, good])}
    ) as client:
        ran = await moderated(client, format="settle")

    assert (ran["outcome"], ran["verdict"], ran["round"]) == ("decided", "Ship.", 1)
    assert ran["failures"] == [f"moderator (moderator): {told} (unreadable)"]
