"""The composition root: from settings to a server. Everything is put together here and nowhere else."""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import datetime
from functools import partial

from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp.server.mcpserver.tools import Tool
from mcp.types import Icon

from server.daily import Daily
from server.errors import storage_translated
from server.hall import Hall, utc_now
from server.models import Model
from server.models.choice import Models
from server.models.faulty import Chaos
from server.models.guard import Guard
from server.models.prices import Prices
from server.recovery import recover, recover_each_day
from server.research import Research
from server.resources import add_handlers, add_resources
from server.settings import Settings, release
from server.tools import all_tools
from server.updates import Updates
from storage.outbox import Outbox
from storage.sqlite import SqliteJournal

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

PATIENCE = 10.0
"""Seconds to wait for a locked database: with the wait for an answer, less than clients wait for us."""

OpenHall = Callable[[], AbstractAsyncContextManager[Hall]]


@asynccontextmanager
async def open_hall(
    settings: Settings,
    injected: Mapping[str, Model] | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    recovering: bool = False,
    chaos: Chaos | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> AsyncIterator[Hall]:
    """The hall of this process, with its database open.

    `injected` are models of your own, by the name that debates use for them. With `recovering`, debates
    that ran by themselves when their process ended go on. `chaos` befalls all models.

    Raises:
        BadSettings: the file of hooks cannot be used.
        Unreadable: the database cannot be opened.
    """
    guard = Guard(concurrency=settings.concurrency, provider_concurrency=settings.provider_concurrency)
    prices = Prices({name: (row.input, row.output) for name, row in settings.prices.items()})
    models = Models(injected, guard, chaos, prices)
    hooked = with_hooks(settings, environ)
    with storage_translated():
        journal = await SqliteJournal.open(settings.database, patience=PATIENCE)
    try:
        async with (
            Research.open(settings.mcp_servers) as research,
            Hall.open(
                journal,
                models,
                configured=settings.models,
                environ=environ,
                clock=clock,
                research=research,
                daily=Daily(journal, clock, calls=settings.daily_calls, cost_usd=settings.daily_cost_usd),
                prices=prices,
            ) as hall,
            hooked(hall, journal.outbox),
        ):
            if recovering and (age := settings.max_recovery_age_hours):
                for task in (recover, recover_each_day):
                    asked = partial(task, hall, max_age_hours=age, at_once=settings.recovery_at_once)
                    hall.tasks.start_soon(asked)
            yield hall
    finally:
        await journal.close()


def with_hooks(
    settings: Settings, environ: Mapping[str, str]
) -> Callable[[Hall, Outbox], AbstractAsyncContextManager[None]]:
    """What runs the hooks of the settings in a hall.

    Raises:
        BadSettings: their file cannot be used.
    """
    if not settings.hooks:
        return lambda _hall, _outbox: nullcontext()
    # It brings YAML and an HTTP client with it, which every start without hooks would wait for.
    from server.hooks import Hooks, load  # noqa: PLC0415

    return partial(Hooks.open, load(settings.hooks, environ))


def build(hall: OpenHall, tools: Sequence[Tool] | None = None) -> MCPServer[Hall]:
    """The MCP server over a hall that is opened with it and closed with it.

    `tools` are all there are if not given. Making them takes long: who builds many servers makes them once.
    """
    updates = Updates()

    @asynccontextmanager
    async def lifespan(_: MCPServer[Hall]) -> AsyncIterator[Hall]:
        async with hall() as opened:
            opened.tasks.start_soon(updates.run, opened)
            yield opened

    mcp = MCPServer[Hall](
        "counterpoint",
        title="Counterpoint",
        description="Second opinions: debates between models, run, steered and judged.",
        instructions=INSTRUCTIONS,
        version=release(),
        icons=[Icon(src=ICON, mime_type="image/svg+xml", sizes=["any"])],
        tools=[*(all_tools() if tools is None else tools)],
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
