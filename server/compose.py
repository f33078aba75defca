"""Puts a hall together: from settings to the database, models, research servers and hooks behind it.

Everything but MCP, which a command of the terminal need not wait for.
"""

import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import datetime
from functools import partial

from server.engine.daily_budget import DailyBudget
from server.engine.debates import DebateManager, utc_now
from server.engine.errors import translate_storage_errors
from server.engine.model_calls import LEEWAY
from server.engine.recovery import Recovery
from server.models.fakes.chaos import Chaos
from server.models.own import OwnModel
from server.models.prices import PriceTable
from server.models.registry import ModelRegistry
from server.models.resilience.concurrency import Guard
from server.research import Research
from server.settings import Settings
from storage.outbox import Outbox
from storage.sqlite import SqliteJournal

DATABASE_LOCK_TIMEOUT = 10.0
"""Seconds to wait for a locked database: with the wait for an answer, less than clients wait for us."""


@asynccontextmanager
async def open_manager(
    settings: Settings,
    custom_models: Mapping[str, OwnModel] | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    recover: bool = False,
    chaos: Chaos | None = None,
    clock: Callable[[], datetime] = utc_now,
    leeway: float = LEEWAY,
) -> AsyncIterator[DebateManager]:
    """The hall of this process, with its database open.

    `injected` are models of your own, by the name that debates use for them. With `recovering`, debates
    that ran by themselves when their process ended go on. `chaos` befalls all models.

    Raises:
        BadSettings: the file of hooks cannot be used.
        Unreadable: the database cannot be opened.
    """
    guard = Guard(concurrency=settings.concurrency, provider_concurrency=settings.provider_concurrency)
    prices = PriceTable({name: (row.input, row.output) for name, row in settings.prices.items()})
    models = ModelRegistry(custom_models, guard, chaos, prices)
    hooked = prepare_hooks(settings, environ)
    with translate_storage_errors():
        journal = await SqliteJournal.open(settings.database, lock_timeout=DATABASE_LOCK_TIMEOUT)
    try:
        async with (
            Research.open(settings.mcp_servers) as research,
            DebateManager(
                journal,
                models,
                configured_models=settings.models,
                environ=environ,
                clock=clock,
                research=research,
                daily_budget=DailyBudget(
                    journal, clock, max_calls=settings.daily_calls, max_cost_usd=settings.daily_cost_usd
                ),
                prices=prices,
                leeway=leeway,
            ) as hall,
            hooked(hall, journal.outbox),
        ):
            if recover and (age := settings.max_recovery_age_hours):
                recovery = Recovery(hall, max_age_hours=age, concurrency=settings.recovery_concurrency)
                hall.start_task(recovery.run)
            yield hall
    finally:
        await journal.close()


def prepare_hooks(
    settings: Settings, environ: Mapping[str, str]
) -> Callable[[DebateManager, Outbox], AbstractAsyncContextManager[None]]:
    """What runs the hooks of the settings in a hall.

    Raises:
        BadSettings: their file cannot be used.
    """
    if not settings.hooks:
        return lambda _hall, _outbox: nullcontext()
    # It brings YAML and an HTTP client with it, which every start without hooks would wait for.
    from server.hooks import HookRunner, load_hooks_config  # noqa: PLC0415

    return partial(HookRunner.open, load_hooks_config(settings.hooks, environ))


LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"

OWN_LOGGERS = ("server", "storage", "counterpoint", "mcp")
"""Whose records are told below a warning, if that is what was asked for."""


def log_to_stderr(settings: Settings) -> None:
    """Has to come before an MCPServer is built: that sets up logging of its own where there is none."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(is_own_or_warning)
    logging.basicConfig(handlers=[handler], level=settings.log_level, format=LOG_FORMAT)


def is_own_or_warning(record: logging.LogRecord) -> bool:
    """Of libraries only warnings.

    Below that they tell whole statements and requests, with all that is said in a debate and addresses
    that hold keys, and fill the pipe of a client that does not read: then the server stands still.
    """
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] in OWN_LOGGERS
