"""The manager of debates from the settings, and logging. Without MCP, which the terminal need not wait for."""

import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import datetime
from functools import partial

from server.debate.facts.text import clean_line, remove_invisible
from server.engine.database.daily_budget import DailyLimits
from server.engine.database.errors import translate_storage_errors
from server.engine.debates import DebateManager, utc_now
from server.engine.model_calls import LEEWAY
from server.engine.recovery import Recovery
from server.models.fakes.chaos import Chaos
from server.models.own import OwnModel
from server.models.prices import PriceTable
from server.models.providers.connections import Connections
from server.models.registry import ModelRegistry
from server.models.resilience import Guard
from server.models.windows import WindowTable
from server.redaction import find_secret_parts, find_secrets, learn_secrets, redact_error
from server.research import Research
from server.settings import Settings
from storage.outbox import Outbox
from storage.sqlite import SqliteJournal

DATABASE_LOCK_TIMEOUT = 5.0  # seconds; with a call's `wait_seconds` below the request timeout of clients

OpenHooks = Callable[[DebateManager, Outbox], AbstractAsyncContextManager[None]]


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
    """The manager of this process, with its database, research servers and hooks.

    `custom_models`: by the name that debates use for them. `recover`: resume unattended debates whose process
    is gone. `chaos`: faults to inject into all models. `leeway`: see `ModelCaller`.

    Raises InvalidSettingsError for a file of hooks, StorageUnavailableError for a database that cannot be used.
    """
    learn_secrets((*find_secrets(environ), *find_secret_parts(settings.db)))
    guard = Guard(concurrency=settings.concurrency, provider_concurrency=settings.provider_concurrency)
    prices = PriceTable(settings.prices)
    open_hooks = prepare_hooks(settings, environ)
    with translate_storage_errors():
        journal = await SqliteJournal.open(settings.database, lock_timeout=DATABASE_LOCK_TIMEOUT)
    try:
        async with (
            Research(settings.mcp_servers) as research,
            Connections() as connections,
            DebateManager(
                journal,
                ModelRegistry(custom_models, guard, chaos, prices, connections),
                configured_models=settings.models,
                environ=environ,
                clock=clock,
                research=research,
                daily_limits=DailyLimits(settings.daily_calls, settings.daily_cost_usd),
                prices=prices,
                windows=WindowTable(settings.windows),
                leeway=leeway,
            ) as manager,
            nullcontext() if journal.is_read_only else open_hooks(manager, journal.outbox),
        ):
            if recover and not journal.is_read_only and (age := settings.max_recovery_age_hours):
                recovery = Recovery(manager, max_age_hours=age, concurrency=settings.recovery_concurrency)
                manager.start_task(recovery.run)
            yield manager
    finally:
        await journal.close()


def prepare_hooks(settings: Settings, environ: Mapping[str, str]) -> OpenHooks:
    """What runs the hooks. Raises InvalidSettingsError."""
    if not settings.hooks:
        return lambda _manager, _outbox: nullcontext()
    from server.hooks import config, runner  # noqa: PLC0415  (YAML and an HTTP client, which take long)

    return partial(runner.run_hooks, config.load_hooks_config(settings.hooks, environ))


OWN_LOGGERS = ("server", "storage", "counterpoint", "mcp")
"""Loggers whose records below WARNING are shown, if `log_level` asks for them."""


def log_to_stderr(settings: Settings) -> None:
    """Log our own records, and warnings of others.

    Other libraries log only warnings. Below that they log whole requests, with the text of debates and
    addresses that hold keys, and fill the stderr pipe of a client that does not read it, which blocks the server.
    """

    def is_shown(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.name.partition(".")[0] in OWN_LOGGERS

    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(is_shown)
    handler.setFormatter(SafeFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=settings.log_level)


class SafeFormatter(logging.Formatter):
    """Records as text without secrets, also those of tracebacks; the message of each is one line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the name is logging's)
        record.message = clean_line(record.message)
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        return redact_error(remove_invisible(super().format(record)))
