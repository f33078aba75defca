"""Every format over MCP, from the first call to the last, as its source document describes it."""

from typing import Any

import pytest

from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.setup.phases import ADVICE_TASKS
from tests.support import mcp_debates
from tests.support.client_calls import call

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M1")]


@pytest.mark.requirement("M4", "A3", "D1")
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
