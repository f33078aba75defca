"""Tasks that ask for turns, and tasks that outlive their server."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import (
    INVALID_PARAMS,
    ElicitRequestParams,
    ElicitResult,
)

from tests.support.client_calls import call
from tests.support.mcp_debates import read_events
from tests.support.processes.gated_servers import CallGate, open_call_gate, start_server_process
from tests.support.servers import OpenClient
from tests.support.task_client import Polling, ask, begin, get, poll


async def refuse_forms(_context: Any, params: ElicitRequestParams) -> ElicitResult:
    raise AssertionError(f"asked outside the task: {params.message}")


pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N13")]

POLLS: dict[str, Any] = {"extensions": [Polling()]}
ASKABLE: dict[str, Any] = {**POLLS, "elicitation_callback": refuse_forms}
ONE_ROUND = {"ballots": "none", "judges": {"models": ["scripted"]}}


def seat(*models: str) -> dict[str, Any]:
    """A debate of one round, whose openings are written at the same time."""
    named = zip(("Ada", "Ben"), ("yes", "no"), models, strict=True)
    debaters = [{"name": name, "stance": stance, "model": model} for name, stance, model in named]
    return {"debaters": debaters, "max_rounds": 1, "options": ONE_ROUND, "again": True}


def answer(text: str) -> dict[str, Any]:
    return {"action": "accept", "content": {"text": text}}


async def answer_turns(client: Client, task: dict[str, Any], **responses: Any) -> dict[str, Any]:
    return await ask(client, "tasks/update", task["taskId"], inputResponses=responses)


async def test_a_task_asks_for_the_turns_that_its_debate_waits_for(open_modern: OpenClient) -> None:
    async with open_modern(**ASKABLE) as client:
        begun = await begin(client, "start_debate", **seat("human", "human"))
        asked = await poll(client, begun, "input_required")
        first, second = asked["inputRequests"]
        await answer_turns(client, begun, **{first: answer("Ship it."), "unknown": 7, "gone": {"action": []}})
        left = await get(client, begun)
        await answer_turns(client, begun, **{first: answer("Ship it twice."), second: answer("Wait.")})
        done = await poll(client, begun)
        spoken = await read_events(client, done["result"]["structuredContent"], "spoke")

    form = asked["inputRequests"][first]
    assert (form["method"], form["params"]["mode"]) == ("elicitation/create", "form")
    assert form["params"]["message"].startswith("Ada, round 1 (")
    assert "Ship it?" in form["params"]["message"]
    assert form["params"]["requestedSchema"]["required"] == ["text"]
    assert (left["status"], [*left["inputRequests"]]) == ("input_required", [second])
    assert [turn["text"] for turn in spoken] == ["Ship it.", "Wait."]
    assert (done["status"], done["result"]["structuredContent"]["status"]) == ("completed", "concluded")


async def test_an_answer_that_is_none_is_refused_and_asked_for_again(open_modern: OpenClient) -> None:
    wrong = {"action": "accept", "content": {"text": 7}}
    async with open_modern(**ASKABLE) as client:
        begun = await begin(client, "start_debate", **seat("human", "scripted"))
        asked = await poll(client, begun, "input_required")
        for response in (7, {"action": "accept"}, answer(""), answer(" \u200b"), wrong):
            with pytest.raises(MCPError) as refused:
                await answer_turns(client, begun, **dict.fromkeys(asked["inputRequests"], response))
            assert refused.value.error.code == INVALID_PARAMS
            assert (await get(client, begun))["inputRequests"] == asked["inputRequests"]


@pytest.fixture
async def at() -> AsyncIterator[CallGate]:
    async with open_call_gate() as made:
        yield made


@pytest.mark.requirement("N8")
@pytest.mark.parametrize("steps", [False, True])
async def test_a_task_outlives_its_server(database: str, at: CallGate, steps: bool) -> None:
    async with start_server_process(database, at, "auto", **POLLS) as (server, client):
        if steps:
            opened = await call(client, "start_debate", question="Ship it?", format="verdict")
            kept = await begin(client, "step_round", debate_id=opened["debate_id"])
            given_up = await begin(client, "step_round", debate_id=opened["debate_id"])
        else:
            kept, given_up = [await begin(client, "start_debate", format="verdict") for _ in range(2)]
        await at.wait_for_calls(1)
        await ask(client, "tasks/cancel", given_up["taskId"])
        server.kill()
    async with start_server_process(database, at, "auto", **POLLS) as (_, client):
        before = await get(client, kept)
        at.release.set()
        done = await poll(client, kept)
        cancelled = await get(client, given_up)

    assert (before["status"], before["createdAt"]) == ("working", kept["createdAt"])
    assert (done["status"], done["result"]["structuredContent"]["round"]) == ("completed", 1 if steps else 3)
    assert cancelled["status"] == "cancelled"
    assert at.repeated_call_count == 1  # the one in flight when the server was killed
