"""The MCP server of a debate manager: tools, resources, instructions and live updates."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import CompleteRequestParams, Icon, PaginatedRequestParams, ResourceTemplate
from pydantic import AnyUrl

from server.engine.debates import DebateManager
from server.mcp.resources import TEMPLATES, complete, list_resources, read_resource
from server.mcp.subscriptions import UpdateBus
from server.settings import package_version
from server.tools import build_all_tools

INSTRUCTIONS = """\
Counterpoint gives you a second opinion: models with different positions debate a question, judges decide, \
and the verdict says how sure it is and what spoke against it. In one call: start_debate(question=..., \
run=true). Step by step: start_debate, then step_round until the status is concluded, then get_verdict. \
A call returns after wait_seconds at the latest, with status "running" and what to call next; the debate \
goes on meanwhile. Steer with intervene; read with read_debate or the resource debate://{debate_id}/transcript."""

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E"
    "%3Cpath d='M0 1h5v3H2L0 6zM8 3v5L6 6H3V5h3V3z' fill='%23764abc'/%3E%3C/svg%3E"
)

ManagerFactory = Callable[[], AbstractAsyncContextManager[DebateManager]]


class DebateServer(MCPServer[DebateManager]):
    """An MCP server whose resources are read by their addresses instead of a function for each."""

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        return TEMPLATES

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[DebateManager, Any] | None = None
    ) -> list[ReadResourceContents]:
        assert context is not None
        return [await read_resource(context.request_context.lifespan_context, str(uri))]


def build_server(open_manager: ManagerFactory, tools: Sequence[Tool] | None = None) -> DebateServer:
    """The MCP server of a manager that is opened and closed with it.

    Without `tools` it has all of them. Building them is slow: build them once for many servers.
    """
    updates = UpdateBus()

    @asynccontextmanager
    async def lifespan(_: MCPServer[DebateManager]) -> AsyncIterator[DebateManager]:
        async with open_manager() as opened:
            opened.start_task(updates.run, opened)
            yield opened

    server = DebateServer(
        "counterpoint",
        title="Counterpoint",
        description="Second opinions: debates between models, run, steered and judged.",
        instructions=INSTRUCTIONS,
        version=package_version(),
        icons=[Icon(src=ICON, mime_type="image/svg+xml", sizes=["any"])],
        tools=[*(build_all_tools() if tools is None else tools)],
        lifespan=lifespan,
        subscriptions=updates,
        log_level="WARNING",
        cache_hints={
            "tools/list": CacheHint(ttl_ms=300_000, scope="public"),
            "resources/templates/list": CacheHint(ttl_ms=300_000, scope="public"),
            "resources/list": CacheHint(ttl_ms=2_000, scope="private"),
        },
    )
    # Private to the SDK, which has no public way to register these; tests/mcp/test_resources.py covers them.
    lowlevel = server._lowlevel_server  # noqa: SLF001
    lowlevel.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    lowlevel.add_request_handler("completion/complete", CompleteRequestParams, complete)
    updates.add_handlers(server)
    return server
