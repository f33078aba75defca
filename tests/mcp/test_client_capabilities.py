"""Clients with every combination of capabilities that real ones declare: each gets its debate, over stdio."""

from typing import Any

import anyio
import pytest
from mcp.client.extension import ClaimContext
from mcp.types import CallToolResult, ElicitResult, ListRootsResult

from tests.support.client_calls import call
from tests.support.client_models import ClientModel
from tests.support.pairwise import parametrize_pairwise
from tests.support.patience import PATIENCE
from tests.support.processes.gated_servers import CallGate, start_server_process
from tests.support.task_client import BegunTask, Polling

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N7", "N13", "M4")]


class Following(Polling):
    """Takes a task as what it is, and follows its debate with other calls."""

    async def refuse(self, begun: BegunTask, context: ClaimContext) -> CallToolResult:  # noqa: ARG002
        return CallToolResult(content=[], is_error=True)


async def accept(_context: Any, _params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={})


async def list_roots(_context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[])


@parametrize_pairwise(
    era={"modern": "auto", "legacy": "legacy"},
    sampling={"samples": True, "no sampling": False},
    elicitation={"asks": {"elicitation_callback": accept}, "asks nobody": {}},
    roots={"roots": {"list_roots_callback": list_roots}, "no roots": {}},
    tasks={"tasks": {"extensions": [Following()]}, "no tasks": {}},
)
async def test_a_question_comes_to_a_verdict(
    database: str,
    era: str,
    sampling: bool,
    elicitation: dict[str, Any],
    roots: dict[str, Any],
    tasks: dict[str, Any],
) -> None:
    model = {"sampling_callback": ClientModel()} if sampling else {}
    asked = {
        "question": "Should we use SQLite?",
        "models": ["client" if sampling else "scripted"],
        "run": True,
    }
    options = {**model, **elicitation, **roots, **tasks}
    async with start_server_process(database, CallGate(0), era, **options) as (_, client):
        with anyio.fail_after(PATIENCE):
            await client.call_tool("start_debate", asked)
            (row,) = (await call(client, "find_debates"))["debates"]
            found = await call(client, "get_verdict", debate_id=row["debate_id"])
            while found["status"] != "concluded":
                assert found["status"] in ("running", "waiting"), found["reason"]
                found = await call(client, "get_verdict", debate_id=row["debate_id"])

    assert found["answer"]["head"]
