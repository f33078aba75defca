"""Clients that poll tasks, with the methods of the extension one by one."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import anyio
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.types import CallToolResult, Request, Result
from pydantic import ConfigDict, Field

from server.tools.listing import TASKS
from tests.support.client_calls import without_framing
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

OVER = ("completed", "failed", "cancelled")


class Fields(Result):
    """Any result."""

    model_config = ConfigDict(extra="allow")


class BegunTask(Result):
    model_config = ConfigDict(extra="allow")

    result_type: Literal["task"]
    task_id: str = Field(alias="taskId")
    status: str


class TaskRequest(Request[dict[str, Any], str]):
    name_param: ClassVar[str | None] = "taskId"


class Polling(ClientExtension):
    """Declares the extension; tests poll by themselves."""

    identifier = TASKS

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=BegunTask, resolve=self.refuse)]

    async def refuse(self, begun: BegunTask, context: ClaimContext) -> CallToolResult:
        raise AssertionError(f"{context.tool_name} began {begun.task_id}, which the test did not expect")


async def begin(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The task that a call begins, as it is sent."""
    if tool == "start_debate":
        arguments = without_framing({"question": "Ship it?", "run": True, **arguments})
    begun = await client.session.call_tool(tool, arguments, allow_claimed=True)
    assert isinstance(begun, BegunTask), begun
    return begun.model_dump(by_alias=True, mode="json")


async def ask(client: Client, method: str, task_id: str, **params: Any) -> dict[str, Any]:
    request = TaskRequest(method=method, params={"taskId": task_id, **params})
    return (await client.session.send_request(request, Fields)).model_dump(by_alias=True, mode="json")


async def get(client: Client, task: dict[str, Any]) -> dict[str, Any]:
    return await ask(client, "tasks/get", task["taskId"])


async def poll(client: Client, task: dict[str, Any], *until: str) -> dict[str, Any]:
    """The task when it has one of these states, by default the last one, within 5 seconds."""
    with anyio.fail_after(PATIENCE):
        while (found := await get(client, task))["status"] not in (until or OVER):
            await wait_before_next_poll()
    return found
