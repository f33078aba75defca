"""Clients with every combination of capabilities that real ones declare: each gets its debate, over stdio."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from mcp.client.extension import ClaimContext
from mcp.types import CallToolResult, ElicitResult, ListRootsResult

from tests.support.client_calls import call
from tests.support.client_models import ClientModel
from tests.support.patience import PATIENCE
from tests.support.processes.gated_servers import CallGate, start_server_process
from tests.support.task_client import BegunTask, Polling

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N7", "N13", "M4")]

CAPABILITIES = ("sampling", "elicitation", "roots", "tasks")
COMBINATIONS = [[], *([name for name in CAPABILITIES if name != missing] for missing in CAPABILITIES)]
"""Any two are both there, both missing, and each there without the other."""


class Following(Polling):
    """Takes a task as what it is, and follows its debate with other calls."""

    async def refuse(self, begun: BegunTask, context: ClaimContext) -> CallToolResult:  # noqa: ARG002
        return CallToolResult(content=[], is_error=True)


async def accept(_context: Any, _params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={})


async def list_roots(_context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[])


def build_options(capabilities: Sequence[str]) -> dict[str, Any]:
    options: dict[str, dict[str, Any]] = {
        "sampling": {"sampling_callback": ClientModel()},
        "elicitation": {"elicitation_callback": accept},
        "roots": {"list_roots_callback": list_roots},
        "tasks": {"extensions": [Following()]},
    }
    chosen: dict[str, Any] = {}
    for name in capabilities:
        chosen |= options[name]
    return chosen


@pytest.mark.parametrize("capabilities", COMBINATIONS, ids=lambda names: "+".join(names) or "none")
async def test_a_question_comes_to_a_verdict(database: str, era: str, capabilities: list[str]) -> None:
    model = "client" if "sampling" in capabilities else "scripted"
    asked = {"question": "Should we use SQLite?", "models": [model], "run": True}
    options = build_options(capabilities)
    async with start_server_process(database, CallGate(0), era, **options) as (_, client):
        with anyio.fail_after(PATIENCE):
            await client.call_tool("start_debate", asked)
            (row,) = (await call(client, "find_debates"))["debates"]
            found = await call(client, "get_verdict", debate_id=row["debate_id"])
            while found["status"] != "concluded":
                assert found["status"] in ("running", "waiting"), found["reason"]
                found = await call(client, "get_verdict", debate_id=row["debate_id"])

    assert found["answer"]["head"]
