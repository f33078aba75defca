"""The MCP server of a debate manager: tools, resources, prompts, instructions and live updates.

The first call imports the code that answers calls: many clients start a server only to list its tools.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from mcp import MCPError, types
from mcp.server import ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from mcp.server.lowlevel import Server

from server.caller import InsufficientScopeError, read_caller
from server.mcp import app
from server.mcp.late_manager import LateManager, RequestContext
from server.mcp.subscriptions import UpdateBus
from server.settings import package_version
from server.tools.listing import (
    APPS,
    EXTENSIONS_VERSION,
    TASKS,
    TaskParams,
    TaskUpdateParams,
    find_scope,
    load_listed_tools,
)

INSTRUCTIONS = """\
Counterpoint gives you a second opinion: models answer a question independently, check each other's answers, and one \
answer comes out that says how sure it is. Use it where much depends on an answer, a plan or a \
decision: to decide between options, weigh pros and cons, critique or red team a plan, sanity check or fact check \
what you were about to say, or see what you are missing. Not to look things up or run code. In one call: \
start_debate(question=..., my_answer=..., run=true): the result says first whether your answer stands. Name \
debaters with stances for a debate with judges. Step by step: \
start_debate, then step_round until the status is concluded or truncated. Every \
result is complete: the last one holds the verdict, and `next` names the call to make. \
A call returns after wait_seconds at the latest, with status "running" and what to call next; the debate \
goes on meanwhile. Steer with intervene; read with read_debate or the resource debate://{debate_id}/transcript."""

ICON = "data:image/svg+xml," + quote(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'>"
    "<path d='M0 1h5v3H2L0 6zM8 3v5L6 6H3V5h3V3z' fill='#764abc'/></svg>"
)


def build_server(
    manager: LateManager, updates: UpdateBus | None = None, meter: ServerMiddleware[Any] | None = None
) -> Server[LateManager]:
    """Build the server. `updates`: announces changes; by default a new bus. `meter`: measures requests."""
    updates = updates or UpdateBus()

    @asynccontextmanager
    async def lifespan(_server: Server[LateManager]) -> AsyncIterator[LateManager]:
        yield manager

    server = Server(
        "counterpoint",
        title="Counterpoint",
        description="Second opinions: debates between models, run, steered and judged.",
        instructions=INSTRUCTIONS,
        version=package_version(),
        icons=[types.Icon(src=ICON, mime_type="image/svg+xml", sizes=["any"])],
        lifespan=lifespan,
        cache_hints={
            # Private, because hosts that show apps get one more tool.
            "tools/list": CacheHint(ttl_ms=300_000, scope="private"),
            "resources/templates/list": CacheHint(ttl_ms=300_000, scope="public"),
            "prompts/list": CacheHint(ttl_ms=300_000, scope="public"),
            "resources/list": CacheHint(ttl_ms=2_000, scope="private"),
        },
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=lambda context, params: load_resources().list_resources(context, params),
        on_list_resource_templates=lambda context, params: load_resources().list_templates(context, params),
        on_read_resource=read_resource,
        on_list_prompts=lambda context, params: load_prompts().list_prompts(context, params),
        on_get_prompt=lambda context, params: load_prompts().get_prompt(context, params),
        on_completion=lambda context, params: load_resources().complete(context, params),
        on_subscriptions_listen=updates.listen,
        on_subscribe_resource=updates.follow,
        on_unsubscribe_resource=updates.unfollow,
        get_tool_input_schema=get_input_schema,
    )
    for method, kind in (
        ("tasks/get", TaskParams),
        ("tasks/update", TaskUpdateParams),
        ("tasks/cancel", TaskParams),
    ):
        server.add_request_handler(method, kind, handle_task)
    server.extensions |= {TASKS: {}, APPS: {}}
    middleware = [check_scope, add_legacy_extensions]
    server.middleware += [meter, *middleware] if meter else middleware
    return server


async def check_scope(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Refuse requests outside the sender's scopes. `call_tool` checks the scope of the tool itself."""
    if "/" in ctx.method and not ctx.method.startswith(("notifications/", "server/")):
        try:
            read_caller().require(find_scope(ctx.method, {}))
        except InsufficientScopeError as error:
            raise MCPError(types.INVALID_REQUEST, str(error), {"scope": error.scope}) from None
    return await call_next(ctx)


async def add_legacy_extensions(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Declare apps to clients of the earlier era: the SDK leaves extensions out of its answer to `initialize`."""
    result = await call_next(ctx)
    if ctx.method == "initialize" and isinstance(result, dict):
        capabilities = {**result["capabilities"], "extensions": {APPS: {}}}
        return {**result, "capabilities": capabilities}
    return result


def get_input_schema(tool: str) -> dict[str, Any] | None:
    """A tool's input schema, for HTTP headers that repeat arguments. The SDK itself would list all tools each time."""
    listed_tool = load_listed_tools().get(tool)
    return listed_tool.input_schema if listed_tool else None


def list_tool_names() -> list[str]:
    """The names of all tools, the page's own tool included."""
    return [*load_listed_tools(), app.WATCH]


async def list_tools(context: RequestContext, _params: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=app.list_tools(context, load_listed_tools().values()))


async def call_tool(
    context: RequestContext, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    manager = await context.lifespan_context.get()
    from server.mcp import tasks, watching  # noqa: PLC0415
    from server.tools import debates, tool  # noqa: PLC0415

    try:
        read_caller().require(find_scope("tools/call", {"name": params.name}))
    except InsufficientScopeError as error:
        return tool.build_error(str(error))
    if params.name == app.WATCH:
        return await watching.watch_debate(manager, context, params)
    output = await debates.call_tool(manager, context, params)
    if isinstance(output, tool.BegunRun):
        return await tasks.create(manager, output)  # type: ignore[return-value]  # the SDK has no type for an extension's
    return output


async def handle_task(context: RequestContext, params: TaskParams) -> dict[str, Any]:
    """Handle a method of the tasks extension, which earlier protocols do not have."""
    if context.protocol_version < EXTENSIONS_VERSION:
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found", context.method)
    from server.mcp import tasks  # noqa: PLC0415

    if isinstance(params, TaskUpdateParams):
        return await tasks.update(context, params)
    return await (tasks.get if context.method == "tasks/get" else tasks.cancel)(context, params)


def load_resources() -> Any:
    from server.mcp import resources  # noqa: PLC0415

    return resources


def load_prompts() -> Any:
    from server.mcp import prompts  # noqa: PLC0415

    return prompts


async def read_resource(
    context: RequestContext, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    if params.uri.startswith(app.ADDRESS):
        return app.read_app(params)
    result: types.ReadResourceResult = await load_resources().read_resource(context, params)
    return result
