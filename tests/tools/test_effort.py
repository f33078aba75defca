"""A debate of each effort over MCP: what it is estimated to take, what it takes, and what its result says."""

import re
from typing import Any

import pytest

from server.models.fakes.scripted import ScriptedModel
from tests.support.client_calls import byte_count, call, result_text
from tests.support.mcp_debates import read_events

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N1", "N10", "N17")]

NAMES = ("openai/a", "anthropic/b", "gemini/c", "mistral/d", "xai/e")
SIDES = [{"name": "Ada", "stance": "ship"}, {"name": "Ben", "stance": "wait"}]


def plain(text: str) -> str:
    return re.sub(r"[\\\\*>]", "", text)


@pytest.mark.full
@pytest.mark.parametrize(
    ("effort", "calls", "chosen"),
    [
        ("quick", 6, "no private ballots, 1 judge ("),  # who sits where is chosen from all five
        ("standard", 14, "blind ballots before and after, 3 judges (gemini/c, mistral/d, xai/e)"),
        ("assured", 20, "ballots each round, 5 judges (gemini/c, mistral/d, xai/e, anthropic/b, openai/a)"),
    ],
)
async def test_each_effort_is_estimated_held_and_told(
    open_modern: Any, effort: str, calls: int, chosen: str
) -> None:
    models = {name: ScriptedModel() for name in NAMES}
    asked = {"question": "Ship it?", "debaters": SIDES, "models": [*NAMES], "options": {"effort": effort}}
    async with open_modern(models) as client:
        started = await client.call_tool("start_debate", asked)
        debate_id = started.structured_content["debate_id"]
        await call(client, "intervene", debate_id=debate_id, action="inject", text="Mind the cost.")
        for _ in range(4):
            await call(client, "step_round", debate_id=debate_id)
        result = await client.call_tool("get_verdict", {"debate_id": debate_id})
        [opened] = await read_events(client, started.structured_content, "opened")

    estimate, found = started.structured_content["estimate"], result.structured_content
    others = {"quick", "standard", "assured"} - {effort}
    assert all(f" {level} " in estimate.partition("Other efforts:")[2] for level in others)
    assert found["status"] == "concluded"
    asked_for = [
        request
        for model in models.values()
        for request in model.requests
        if request.prompt.summary.task != "ballot" or effort != "assured"
    ]
    assert len(asked_for) == (calls if effort != "assured" else 14)
    assert f"Effort {effort}: {chosen}" in found["effort"]
    assert found["effort"].startswith("Chosen from 5 candidates: ") == (effort == "quick")
    assert opened["effort"]["level"] == effort
    assert (effort == "quick") == bool(found["more"])
    assert bool(found["baseline"]) == (effort == "assured")
    assert bool(found["beliefs"]["after"]) == (effort != "quick")
    assert byte_count(result_text(result)) < 4_000
    for said in (
        found["effort"],
        found["more"],
        found["cost"],
        found["confidence"]["basis"],
        found["baseline"],
    ):
        assert said in plain(result_text(result))
