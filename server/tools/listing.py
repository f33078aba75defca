"""The tools as clients see them: names, descriptions and schemas, read from a generated file.

It imports little, because a server lists its tools before it imports the code that answers calls.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mcp import MCPError, types
from mcp.server import ServerRequestContext
from pydantic import Field

from server.caller import DEBATE, READ

TASKS = "io.modelcontextprotocol/tasks"
"""The extension in which a client polls the work that a call began (SEP-2663)."""

APPS = "io.modelcontextprotocol/ui"
"""The extension in which a host shows pages beside results (SEP-1865)."""

EXTENSIONS_VERSION = "2026-07-28"
"""The first version of the protocol in which a client declares extensions with each request."""


class TaskParams(types.RequestParams):
    task_id: str = Field(alias="taskId")


class TaskUpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses")
    """Of any shape: answers that nobody asked for are ignored."""


LISTED_FILE = Path(__file__).with_name("listed.json")
"""The result of `tools/list`. `python -m docs.generate` writes it; a test fails when it is out of date."""


@cache
def load_listed_tools() -> Mapping[str, types.Tool]:
    """The tools by name, in the order in which clients see them."""
    result = types.ListToolsResult.model_validate_json(LISTED_FILE.read_bytes())
    return {tool.name: tool for tool in result.tools}


def find_scope(method: str, params: Mapping[str, Any]) -> str:
    """The scope that a request needs, by its method and its parameters, which need not be validated yet.

    Tools that only read say so in their annotations. Polling a task needs more than reading: it may go on with a run.
    """
    if method == "tools/call":
        tool = load_listed_tools().get(str(params.get("name")))
        is_reading = tool is None or (tool.annotations and tool.annotations.read_only_hint)
        return READ if is_reading else DEBATE
    return DEBATE if method.startswith("tasks/") else READ


def declares(context: ServerRequestContext[Any, Any], extension: str) -> bool:
    """Whether the client declares an extension: with this request, or, before the 2026 era, with `initialize`."""
    capabilities = context.session.client_capabilities
    return extension in ((capabilities and capabilities.extensions) or {})


def polls_tasks(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client polls tasks. By the extension, each request declares this for itself."""
    return context.protocol_version >= EXTENSIONS_VERSION and declares(context, TASKS)


def require_tasks(context: ServerRequestContext[Any, Any]) -> None:
    """Raises MCPError if the client does not poll tasks."""
    if not polls_tasks(context):
        capabilities = types.ClientCapabilities(extensions={TASKS: {}})
        data = types.MissingRequiredClientCapabilityErrorData(required_capabilities=capabilities)
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"The client does not declare the extension {TASKS} with this request",
            data.model_dump(by_alias=True, mode="json", exclude_none=True),
        )
