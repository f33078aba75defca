"""The MCP server of a debate manager: tools, resources, instructions and live updates."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server

from server.debate.facts.quoting import quote_inline
from server.engine.debates import DebateManager
from server.mcp import resources
from server.mcp.subscriptions import UpdateBus
from server.redaction import MODEL_FIELDS, redact_model
from server.settings import package_version
from server.tools.listing import load_listed_tools
from server.tools.tool import RequestContext, ToolCall, ToolOutput, build_error

INSTRUCTIONS = """\
Counterpoint gives you a second opinion: models with different positions debate a question, judges decide, \
and the verdict says how sure it is and what spoke against it. In one call: start_debate(question=..., \
run=true). Step by step: start_debate, then step_round until the status is concluded or truncated. Every \
result is complete: the last one holds the verdict, and `next` names the call to make. \
A call returns after wait_seconds at the latest, with status "running" and what to call next; the debate \
goes on meanwhile. Steer with intervene; read with read_debate or the resource debate://{debate_id}/transcript."""

ICON = "data:image/svg+xml," + quote(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'>"
    "<path d='M0 1h5v3H2L0 6zM8 3v5L6 6H3V5h3V3z' fill='#764abc'/></svg>"
)


def build_server(manager: DebateManager) -> Server[DebateManager]:
    """The MCP server of an open manager."""
    updates = UpdateBus()
    tools = load_listed_tools()

    @asynccontextmanager
    async def lifespan(_server: Server[DebateManager]) -> AsyncIterator[DebateManager]:
        manager.start_task(updates.run, manager)
        yield manager

    async def list_tools(_context: RequestContext, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[*tools.values()])

    async def call_tool(context: RequestContext, params: types.CallToolRequestParams) -> ToolOutput:
        if listed := tools.get(params.name):
            from server.tools.debates import TOOLS  # noqa: PLC0415  (many clients only list the tools)

            output = await TOOLS[listed.name].run(ToolCall(context, params), listed)
            return redact_model(output, MODEL_FIELDS)
        return build_error(f"There is no tool {quote_inline(params.name, 100)}. Tools: {', '.join(tools)}.")

    return Server(
        "counterpoint",
        title="Counterpoint",
        description="Second opinions: debates between models, run, steered and judged.",
        instructions=INSTRUCTIONS,
        version=package_version(),
        icons=[types.Icon(src=ICON, mime_type="image/svg+xml", sizes=["any"])],
        lifespan=lifespan,
        cache_hints={
            "tools/list": CacheHint(ttl_ms=300_000, scope="public"),
            "resources/templates/list": CacheHint(ttl_ms=300_000, scope="public"),
            "resources/list": CacheHint(ttl_ms=2_000, scope="private"),
        },
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read_resource,
        on_completion=resources.complete,
        on_subscriptions_listen=updates.listen,
        on_subscribe_resource=updates.follow,
        on_unsubscribe_resource=updates.unfollow,
    )
