"""Every format over MCP, from the first call to the last, as its source document describes it."""

from typing import Any

import pytest

from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.setup.phases import ADVICE_TASKS
from tests.support import mcp_debates
from tests.support.client_calls import call
from tests.support.simulation import ARGUED_FORMATS

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M1")]


@pytest.mark.requirement("M5", "A3", "B1", "C15", "D1")
@pytest.mark.parametrize("name", FORMATS)
async def test_a_debate_of_any_format_runs_to_its_end_in_one_call(open_modern: Any, name: str) -> None:
    async with open_modern() as client:
        ran = await mcp_debates.run_debate(client, format=name)
        transcript = await mcp_debates.read_transcript(client, ran)
        read_by_tool = await client.call_tool("read_debate", {"debate_id": ran["debate_id"]})

    assert (ran["status"], ran["working"], ran["failures"]) == ("concluded", False, [])
    assert f"Format {name}, opened" in transcript
    assert read_by_tool.content[0].text == transcript


@pytest.mark.requirement("N1")
@pytest.mark.parametrize("name", ARGUED_FORMATS)
async def test_private_ballots_are_told_with_the_verdict_of_any_format(open_modern: Any, name: str) -> None:
    async with open_modern() as client:
        ran = await mcp_debates.run_debate(client, format=name, options={"ballots": "blind"})
        found = await client.call_tool("get_verdict", {"debate_id": ran["debate_id"]})
        whole = await client.call_tool("read_debate", {"debate_id": ran["debate_id"], "view": "verdict"})
        beliefs = (await mcp_debates.read_verdict(client, ran))["beliefs"]

    assert beliefs["before"]
    assert beliefs["changed"] == "no"
    assert (ran["status"], ran["failures"]) == ("concluded", [])
    if "outcome" in found.structured_content:
        text = found.content[0].text
        assert len(text.encode()) < 4_000
        assert "before the talk" not in text
        assert f"before the talk: {beliefs['before'][0]}" in whole.content[0].text


@pytest.mark.requirement("M4", "D1")
@pytest.mark.parametrize("name", FORMATS)
async def test_doing_what_next_says_steps_any_format_to_its_end(open_modern: Any, name: str) -> None:
    async with open_modern() as client:
        started = await call(
            client,
            "start_debate",
            question="Ship it?",
            format=name,
            options={"seed": 7, "limits": {"max_turns": 4}} if name == "handoff" else {"seed": 7},
        )
        rounds = await mcp_debates.step_all_rounds(client, started)
        stepped = await mcp_debates.read_view(client, started, "result")
        state = await mcp_debates.read_view(client, started, "state")

    assert [found["round"] for found in rounds] == list(range(1, len(rounds) + 1))
    assert rounds[-1]["status"] == "concluded"
    assert state["failures"] == []
    talk = {turn["round"] for turn in stepped["transcript"] if turn.get("act") not in ADVICE_TASKS}
    assert len(talk) == state["rounds_of_talk"]
