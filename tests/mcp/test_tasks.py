"""Runs of debates as tasks: begun, polled, cancelled, and asked of whichever process."""

import re
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY, CallToolResult

from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.debate.rules.caller_code import CallerCode
from server.mcp import tasks
from server.mcp.late_manager import LateManager
from server.mcp.server import build_server
from server.settings import Settings
from server.tools.tool import BegunRun
from tests.support.client_calls import call, fill_in
from tests.support.gated_model import Gate
from tests.support.mcp_debates import run_debate
from tests.support.servers import OpenClient
from tests.support.task_client import Polling, ask, begin, get, poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N13")]

POLLS: dict[str, Any] = {"extensions": [Polling()]}


async def test_a_run_is_a_task_whose_result_is_that_of_the_call(open_modern: OpenClient) -> None:
    gate = Gate()
    async with open_modern({"mine": gate.model}, "mine", **POLLS) as client:
        begun = await begin(client, "start_debate")
        await gate.wait_for_call()
        working = await get(client, begun)
        gate.release.set()
        done = await poll(client, begun)
        direct = await call(client, "start_debate", question="Ship it?", run=True, wait_seconds=0)

    assert begun["resultType"] == "task"
    assert not begun.keys() & {"result", "error", "inputRequests", "requestState", "ttl", "pollInterval"}
    assert (working["status"], working["resultType"], working["ttlMs"]) == ("working", "complete", None)
    assert re.fullmatch(r"Debate \w+: Opening: waiting for .*\. 0 of \d+\.", working["statusMessage"])
    assert working["createdAt"] == begun["createdAt"] <= working["lastUpdatedAt"] <= done["lastUpdatedAt"]
    assert done["status"] == "completed"
    result = fill_in("start_debate", done["result"]["structuredContent"])
    assert result == {**direct, "joined": False}
    assert done["result"]["content"][0]["text"]
    assert done["result"]["resultType"] == "complete"  # as of the call; the TypeScript client needs it
    assert "error" not in done


async def test_the_task_of_a_step_ends_with_its_round(open_modern: OpenClient) -> None:
    async with open_modern(**POLLS) as client:
        debate_id = (await call(client, "start_debate", question="Ship it?", format="verdict"))["debate_id"]
        first = await begin(client, "step_round", debate_id=debate_id)
        told = await poll(client, first)
        second = await begin(client, "step_round", debate_id=debate_id, round=2)
        await poll(client, second)
        again = await get(client, first)
        past = await call(client, "step_round", debate_id=debate_id, round=1)

    result = told["result"]["structuredContent"]
    assert (result["round"], result["status"]) == (1, "ready")
    assert {turn["round"] for turn in result["turns"]} == {1}
    assert again["result"]["structuredContent"]["round"] == past["round"] == 1


async def test_no_task_is_begun_for_what_is_over_or_is_not_waited_for(open_modern: OpenClient) -> None:
    gate = Gate()
    async with open_modern({"mine": gate.model}, "mine", **POLLS) as client:
        running = await call(client, "start_debate", question="Ship it?", run=True, wait_seconds=0)
        this = {"debate_id": running["debate_id"]}
        await call(client, "intervene", action="pause", **this)
        gate.release.set()
        await call(client, "get_verdict", **this)
        paused = await client.session.call_tool("step_round", this, allow_claimed=True)
        opened = await client.session.call_tool("start_debate", {"question": "Another?"}, allow_claimed=True)
        wrong = await client.session.call_tool("start_debate", {"run": True}, allow_claimed=True)

    assert running["status"] == "running"
    assert isinstance(paused, CallToolResult)
    assert isinstance(opened, CallToolResult)
    assert isinstance(wrong, CallToolResult)
    assert wrong.is_error


async def test_a_client_without_the_extension_gets_results_and_no_methods(
    open_client: OpenClient, era: str
) -> None:
    async with open_client() as client:
        step = await run_debate(client, format="verdict")
        with pytest.raises(MCPError) as refused:
            await ask(client, "tasks/get", "none")

    missing = MISSING_REQUIRED_CLIENT_CAPABILITY if era == "auto" else METHOD_NOT_FOUND
    assert (step["status"], refused.value.error.code) == ("concluded", missing)


async def test_who_gives_a_task_up_leaves_the_debate_as_it_is(open_modern: OpenClient) -> None:
    gate = Gate()
    async with open_modern({"mine": gate.model}, "mine", **POLLS) as client:
        begun = await begin(client, "start_debate", format="verdict")
        other = await begin(client, "start_debate", format="verdict")
        await gate.wait_for_call()
        acknowledged = [await ask(client, "tasks/cancel", begun["taskId"]) for _ in range(2)]
        cancelled = await get(client, begun)
        gate.release.set()
        done = await poll(client, other)
        await ask(client, "tasks/cancel", other["taskId"])
        after = [await get(client, task) for task in (begun, other)]
    async with open_modern(**POLLS) as client:
        later = await get(client, begun)

    this = done["result"]["structuredContent"]["debate_id"]
    assert {key for one in acknowledged for key in one} <= {"resultType", "_meta"}
    assert cancelled["status"] == later["status"] == "cancelled"
    assert f"get_verdict(debate_id='{this}')" in cancelled["statusMessage"]
    assert "result" not in cancelled
    assert done["result"]["structuredContent"]["status"] == "paused"  # nobody could read its findings
    assert [task["status"] for task in after] == ["cancelled", "completed"]


async def test_a_task_is_over_when_its_debate_pauses_and_stays_so(open_modern: OpenClient) -> None:
    async with open_modern(**POLLS) as client:
        begun = await begin(client, "start_debate", format="verdict", options={"pause_when": ["round:2"]})
        paused = await poll(client, begun)
        this = {"debate_id": paused["result"]["structuredContent"]["debate_id"]}
        await call(client, "intervene", action="resume", **this)
        assert (await call(client, "get_verdict", **this))["status"] == "concluded"
        later = await get(client, begun)

    assert paused["result"]["structuredContent"]["status"] == "paused"
    assert later["result"]["structuredContent"]["status"] == "paused"
    assert later["statusMessage"] == paused["statusMessage"]


async def test_an_id_that_never_was_is_one_error_whatever_it_looks_like(open_modern: OpenClient) -> None:
    async with open_modern(**POLLS) as client:
        begun = await begin(client, "start_debate")
        await poll(client, begun)
        task_id = begun["taskId"]
        strangers = [
            "",
            "../../etc/passwd",
            "x" * 100_000,
            task_id + "0",
            task_id.replace(task_id[:12], "2" * 12),
            re.sub(r"-v\d+-", "-v0-", task_id),
            re.sub(r"-v\d+-", "-v999999-", task_id),
        ]
        errors = []
        calls: list[tuple[str, dict[str, Any]]] = [
            ("get", {}),
            ("cancel", {}),
            ("update", {"inputResponses": {}}),
        ]
        for stranger in strangers:
            for method, params in calls:
                with pytest.raises(MCPError) as refused:
                    await ask(client, f"tasks/{method}", stranger, **params)
                errors.append((refused.value.error.code, refused.value.error.message))
        with pytest.raises(MCPError) as listed:
            await ask(client, "tasks/list", task_id)

    assert {*errors} == {(INVALID_PARAMS, "There is no such task")}
    assert listed.value.error.code == METHOD_NOT_FOUND


async def test_a_run_that_fails_is_told_as_the_result_of_the_call(database: str) -> None:
    def refuse(_debate: Any) -> bool:
        raise ZeroDivisionError

    settings = Settings(db=database, models=("scripted",))
    async with (
        open_manager(settings, environ={}) as manager,
        Client(build_server(LateManager.of(manager)), **POLLS) as client,
    ):
        request = DebateRequest(question="Fails?", format="verdict", run=True)
        snapshot = await manager.start(request, actor="test", code=CallerCode(terminate_when=refuse))
        begun = await tasks.create(manager, BegunRun(snapshot, "start_debate", 0, joined=False, asks=False))
        done = await poll(client, begun)

    assert done["status"] == "completed"
    assert done["result"]["isError"]
    assert "ZeroDivisionError" in done["result"]["content"][0]["text"]


@pytest.mark.requirement("M4")
async def test_what_a_call_was_taken_to_mean_is_told_with_the_result_of_its_task(
    open_modern: OpenClient,
) -> None:
    gate = Gate()
    async with open_modern({"mine": gate.model}, "mine", **POLLS) as client:
        begun = await begin(client, "start_debate", mode="debate")
        await gate.wait_for_call()
        gate.release.set()
        done = await poll(client, begun)

    told = "Taken: `mode` as `format`; `format` 'debate' as 'advocates'."
    assert done["result"]["structuredContent"]["taken"] == told
    assert done["result"]["content"][-1]["text"] == told
