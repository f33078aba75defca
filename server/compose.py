"""The manager of debates from the settings. Without MCP, which the terminal need not wait for."""

import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from server.debate.facts.errors import DebateError
from server.engine.database.cache import DatabaseCache
from server.engine.database.daily_budget import DailyLimits
from server.engine.database.store import DebateStore, Embed
from server.engine.debates import DebateManager, utc_now
from server.engine.receipts import sign_when_ended
from server.engine.recovery import Recovery
from server.engine.setups import SetupPlanner
from server.models import ModelError, Usage
from server.models.client import ClientTerms
from server.models.embeddings import Vector
from server.models.fakes.chaos import Chaos
from server.models.own import OwnModel
from server.models.prices import PriceTable
from server.models.providers import keys
from server.models.providers.connections import Connections
from server.models.registry import ModelRegistry
from server.models.resilience import Guard
from server.models.windows import WindowTable
from server.optional import optional_import
from server.redaction import find_secrets, learn_secrets
from server.research import Research
from server.settings import Settings
from server.signing import Signer
from server.startup import DATABASE_PATIENCE, open_storage, open_telemetry
from storage.outbox import Outbox
from storage.storage import Storage

if TYPE_CHECKING:
    from server.telemetry.debates import DebateTracer
    from server.telemetry.pipeline import Telemetry

EMBEDDING_SECONDS = 15.0
"""That a debate waits for what is recalled by meaning; then words have to do."""

logger = logging.getLogger(__name__)

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
    storage: Storage | None = None,
    database_patience: float = DATABASE_PATIENCE,
    telemetry: "Telemetry | None" = None,
) -> AsyncIterator[DebateManager]:
    """The manager of this process, with its database, research servers and hooks.

    `custom_models`: by name. `recover`: resume unattended debates whose process is gone, and remove old ones. `chaos`:
    faults to inject into all models. `storage`, `telemetry`: what is open already, and stays open.

    Raises InvalidSettingsError for a file of hooks, StorageUnavailableError for a database that cannot be used.
    """
    await load_secrets(environ)
    open_hooks = prepare_hooks(settings, environ)
    open_own = partial(open_storage, settings, lambda: clock().timestamp(), patience=database_patience)
    async with (
        nullcontext(storage) if storage else open_own() as opened,
        Research(settings.mcp_servers) as research,
        Connections() as connections,
        open_tracer(telemetry, environ) as tracer,
    ):
        registry = build_registry(settings, custom_models, chaos, connections, tracer, opened)
        planner = build_planner(settings, registry, research, environ)
        manager = build_manager(settings, opened, planner, clock)
        async with manager, nullcontext() if opened.is_read_only else open_hooks(manager, opened.outbox):
            manager.store.subscribe(partial(sign_when_ended, manager))
            equip(manager.store, registry, settings)
            if tracer:
                tracer.attach(manager, opened.outbox if settings.hooks else None)
            if recover and not opened.is_read_only:
                start_upkeep(manager, settings)
            yield manager


def build_planner(
    settings: Settings,
    registry: ModelRegistry,
    research: Research,
    environ: Mapping[str, str],
) -> SetupPlanner:
    return SetupPlanner(
        registry,
        research,
        WindowTable(settings.windows),
        environ,
        configured_models=settings.models,
        effort=settings.effort,
        embeddings=settings.embeddings,
    )


def build_manager(
    settings: Settings, storage: Storage, planner: SetupPlanner, clock: Callable[[], datetime]
) -> DebateManager:
    return DebateManager(
        storage,
        planner,
        clock=clock,
        daily_limits=DailyLimits(settings.daily_calls, settings.daily_cost_usd),
        owner_limits=DailyLimits(settings.owner_daily_calls, settings.owner_daily_cost_usd),
        owner_running=settings.owner_running,
        signer=Signer(settings.signing_key, settings.signing_key_file),
        client_terms=ClientTerms(settings.client_timeout, settings.confirm_cost_usd),
    )


def build_registry(
    settings: Settings,
    custom_models: Mapping[str, OwnModel] | None,
    chaos: Chaos | None,
    connections: Connections,
    tracer: "DebateTracer | None",
    storage: Storage,
) -> ModelRegistry:
    guard = Guard(concurrency=settings.concurrency, provider_concurrency=settings.provider_concurrency)
    watch = tracer.watch_attempt if tracer else None
    vectors = build_cache(settings, storage)
    prices = PriceTable(settings.prices)
    return ModelRegistry(custom_models, guard, chaos, prices, connections, watch, vectors)


def build_cache(settings: Settings, storage: Storage) -> DatabaseCache:
    return DatabaseCache(storage.cache, settings.cache_mb * 1_000_000)


def equip(store: DebateStore, registry: ModelRegistry, settings: Settings) -> None:
    """Give the store what compares questions by meaning, and what keeps answers."""
    store.embed = build_embed(registry, settings.embeddings)
    store.cache = build_cache(settings, store.storage)


def build_embed(registry: ModelRegistry, model: str) -> Embed | None:
    """What compares questions by meaning; None without a model."""
    return partial(embed, registry, model) if model else None


async def embed(
    registry: ModelRegistry, model: str, texts: Sequence[str], owner: str
) -> tuple[tuple[Vector, ...], Usage | None]:
    """The vectors of texts of an owner, and what they took; () where the model gives none in time."""
    try:
        return await registry.get_embedder(model, owner).embed(texts, EMBEDDING_SECONDS)
    except (ModelError, DebateError) as error:
        logger.warning("Earlier debates are compared by words alone: %s", error)
        return (), error.usage if isinstance(error, ModelError) else None


@asynccontextmanager
async def open_tracer(
    telemetry: "Telemetry | None", environ: Mapping[str, str]
) -> AsyncIterator["DebateTracer | None"]:
    """The traces and metrics of debates, where a collector is set. They are open longer than the debates run."""
    with nullcontext(telemetry) if telemetry else open_telemetry(environ) as opened:
        if opened is None:
            yield None
            return
        from server.telemetry.debates import DebateTracer  # noqa: PLC0415  (an extra)

        yield DebateTracer(opened.tracer, opened.instruments)


async def load_secrets(environ: Mapping[str, str]) -> None:
    """Keys that are kept elsewhere, and what is never to be told."""
    await keys.load_for(environ)
    learn_secrets(find_secrets(environ))


def start_upkeep(manager: DebateManager, settings: Settings) -> None:
    """What a server does unasked."""
    if age := settings.max_recovery_age_hours:
        recovery = Recovery(manager, max_age_hours=age, concurrency=settings.recovery_concurrency)
        manager.keep_running(recovery.run)
    if settings.has_retention:
        with optional_import():
            from server.upkeep.prune import Retention  # noqa: PLC0415  (few servers need it)

        retention = Retention(manager, settings.retention_days, settings.retention_days_by_owner)
        manager.keep_running(retention.run)


def prepare_hooks(settings: Settings, environ: Mapping[str, str]) -> OpenHooks:
    """What runs the hooks. Raises InvalidSettingsError."""
    if not settings.hooks:
        return lambda _manager, _outbox: nullcontext()
    with optional_import():
        from server.hooks import config, runner  # noqa: PLC0415  (YAML and an HTTP client, which take long)

    return partial(runner.run_hooks, config.load_hooks_config(settings.hooks, environ))
