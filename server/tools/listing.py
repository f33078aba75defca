"""The tools as clients are shown them: names, descriptions and schemas, read from a file made of their code.

Light, because a server lists its tools before it imports what answers calls.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mcp import MCPError, types
from mcp.server import ServerRequestContext
from pydantic import Field

from server.access.caller import DEBATE, READ

TASKS = "io.modelcontextprotocol/tasks"
"""The extension by which a client polls what a call began (SEP-2663)."""

APPS = "io.modelcontextprotocol/ui"
"""The extension by which a host shows pages beside results (SEP-1865)."""

EXTENSIONS_VERSION = "2026-07-28"
"""The first version of the protocol in which a client declares extensions with each request."""


class TaskParams(types.RequestParams):
    task_id: str = Field(alias="taskId")


class TaskUpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses")
    """Of any shape: what is not asked for is ignored."""


LISTED_FILE = Path(__file__).with_name("listed.json")
"""The result of `tools/list`. `python -m docs.generate` writes it; a test fails when it is out of date."""


@cache
def load_listed_tools() -> Mapping[str, types.Tool]:
    """By name, in the order in which they are listed."""
    listed = types.ListToolsResult.model_validate_json(LISTED_FILE.read_bytes())
    return {tool.name: tool for tool in listed.tools}


def find_scope(method: str, params: Mapping[str, Any]) -> str:
    """The scope that a request needs, by its method and its parameters as they were sent, checked or not.

    Tools that only read say so in their annotations. Polling a task goes on with the run that it is about.
    """
    if method == "tools/call":
        tool = load_listed_tools().get(str(params.get("name")))
        is_reading = tool is None or (tool.annotations and tool.annotations.read_only_hint)
        return READ if is_reading else DEBATE
    return DEBATE if method.startswith("tasks/") else READ


def declares(context: ServerRequestContext[Any, Any], extension: str) -> bool:
    """Whether the client declares an extension: with this request, or before the 2026 era with its first."""
    offered = context.session.client_capabilities
    return extension in ((offered and offered.extensions) or {})


def polls_tasks(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client of this request polls tasks. As the extension has it, an earlier request tells nothing."""
    return context.protocol_version >= EXTENSIONS_VERSION and declares(context, TASKS)


def require_tasks(context: ServerRequestContext[Any, Any]) -> None:
    """Raises MCPError if the client does not poll tasks."""
    if not polls_tasks(context):
        needed = types.ClientCapabilities(extensions={TASKS: {}})
        data = types.MissingRequiredClientCapabilityErrorData(required_capabilities=needed)
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"The client does not declare the extension {TASKS} with this request",
            data.model_dump(by_alias=True, mode="json", exclude_none=True),
        )
