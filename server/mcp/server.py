"""The MCP server over a hall: its tools, resources, prompts of use and updates, put together."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp.server.mcpserver.tools import Tool
from mcp.types import Icon

from server.engine.debates import DebateManager
from server.mcp.resources import add_handlers, add_resources
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


def build_server(
    open_manager: ManagerFactory, tools: Sequence[Tool] | None = None
) -> MCPServer[DebateManager]:
    """The MCP server over a hall that is opened with it and closed with it.

    `tools` are all there are if not given. Making them takes long: who builds many servers makes them once.
    """
    updates = UpdateBus()

    @asynccontextmanager
    async def lifespan(_: MCPServer[DebateManager]) -> AsyncIterator[DebateManager]:
        async with open_manager() as opened:
            opened.task_group.start_soon(updates.run, opened)
            yield opened

    mcp = MCPServer[DebateManager](
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
    add_resources(mcp)
    add_handlers(mcp)
    updates.add_handlers(mcp)
    return mcp
