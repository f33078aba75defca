"""Our server over HTTP, as it is served, with the fixtures of the conformance suite added.

python -m tests.clients.conformance.fixture_server DATABASE     prints its address as one line
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server

from server.compose import open_manager
from server.http_server.application import Service
from server.http_server.authentication import Accounts
from server.http_server.gate import Place
from server.http_server.serving import HttpServer, open_listener
from server.mcp import tasks
from server.mcp.late_manager import LateManager
from server.mcp.subscriptions import UpdateBus
from server.settings import Settings
from server.tools.listing import TaskUpdateParams
from server.tools.tool import BegunRun
from tests.clients.conformance import task_fixtures
from tests.clients.conformance.fixtures import build_fixtures

Handler = Callable[..., Any]

LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resource_templates",
}
"""Methods whose results are ours with those of the fixtures, and the field that is put together."""


def find_handler(server: Server[Any], method: str) -> Handler:
    entry = server.get_request_handler(method)
    assert entry is not None
    return entry.handler


async def list_both(
    own: Handler, added: Handler, field: str, context: Any, params: types.PaginatedRequestParams | None
) -> Any:
    """A page of ours; the fixtures follow on the first one."""
    result = await own(context, params)
    more = [] if params and params.cursor else getattr(await added(context, None), field)
    return result.model_copy(update={field: [*getattr(result, field), *more]})


async def add_fixtures(server: Server[LateManager]) -> None:
    """Let `server` answer for the fixtures too, and for everything else as before."""
    updates = find_handler(server, "subscriptions/listen").__self__  # type: ignore[attr-defined]  # a bound method
    assert isinstance(updates, UpdateBus)
    built = build_fixtures(updates)
    fixtures, names = built._lowlevel_server, {tool.name for tool in await built.list_tools()}

    for method, field in LISTS.items():
        own, added = find_handler(server, method), find_handler(fixtures, method)

        both = partial(list_both, own, added, field)
        server.add_request_handler(method, types.PaginatedRequestParams, both)

    server.get_tool_input_schema = (
        None  # which knows our tools alone; without it those that are listed are looked at
    )
    call_own, call_added = find_handler(server, "tools/call"), find_handler(fixtures, "tools/call")
    read_own, read_added = find_handler(server, "resources/read"), find_handler(fixtures, "resources/read")

    async def begin(context: Any, begun: BegunRun) -> Any:
        return await tasks.create(await context.lifespan_context.get(), begun)

    async def call(context: Any, params: types.CallToolRequestParams) -> Any:
        if params.name in task_fixtures.NAMES:
            return await task_fixtures.call(call_own, partial(begin, context), context, params)
        return await (call_added if params.name in names else call_own)(context, params)

    async def read(context: Any, params: types.ReadResourceRequestParams) -> Any:
        return await (read_added if params.uri.startswith("test://") else read_own)(context, params)

    own_update = find_handler(server, "tasks/update")

    async def update(context: Any, params: TaskUpdateParams) -> Any:
        return await own_update(context, task_fixtures.translate(params))

    server.add_request_handler("tasks/update", TaskUpdateParams, update)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read)
    for method, kind in (
        ("prompts/list", types.PaginatedRequestParams),
        ("prompts/get", types.GetPromptRequestParams),
    ):
        server.add_request_handler(method, kind, find_handler(fixtures, method))


async def serve(database: str) -> None:
    settings = Settings(db=database, models=("scripted",))
    async with open_manager(settings, task_fixtures.build_slow_models(), environ={}) as manager:
        with open_listener(Place("127.0.0.1", 0)) as listening:
            place = Place("127.0.0.1", listening.getsockname()[1])
            service = Service(
                manager, settings, Accounts(settings, manager.store.storage, place), is_stateless=False
            )
            await add_fixtures(service.mcp)
            web = HttpServer(service, drain_seconds=0)
            web.announcement = f"http://{place.netloc}/mcp\n"
            async with service.run():
                await web.serve([listening])


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1])
