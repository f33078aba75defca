"""Debate managers in the test's own process: two of them on one database behave like two processes."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio

from server.compose import open_manager
from server.debate.interventions.action import InterventionRequest
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager, utc_now
from server.models import Model
from server.settings import Settings
from server.startup import DATABASE_PATIENCE
from tests.support.patience import PATIENCE
from tests.support.raw_sql import run_raw
from tests.support.simulation import build_request


def open_engine(
    database: str | Path,
    models: Model | Mapping[str, Model] | None = None,
    *,
    default: str = "mine",
    recover: bool = False,
    clock: Callable[[], datetime] = utc_now,
    database_patience: float = DATABASE_PATIENCE,
    **settings: Any,
) -> AbstractAsyncContextManager[DebateManager]:
    """`models` by their names, or the one called "mine". `default`: for debates that name none."""
    named = models if isinstance(models, Mapping) or models is None else {"mine": models}
    configured = Settings(db=str(database), models=(default,) if default else (), **settings)
    return open_manager(
        configured, named, environ={}, recover=recover, clock=clock, database_patience=database_patience
    )


async def start_debate(manager: DebateManager, *, hold: bool = False, **fields: Any) -> DebateSnapshot:
    return await manager.start(build_request(**{"question": "Ship it?", **fields}), actor="test", hold=hold)


async def run_round(manager: DebateManager, **fields: Any) -> DebateSnapshot:
    """Start a debate and run its first round."""
    snapshot = await start_debate(manager, **fields)
    return await manager.step(snapshot.id, wait=PATIENCE)


async def run_debate(manager: DebateManager, **fields: Any) -> DebateSnapshot:
    """Run a debate to its end, without debaters who are never heard."""
    snapshot = await start_debate(manager, run=True, **fields)
    with anyio.fail_after(PATIENCE):
        snapshot = await manager.follow(snapshot.id, wait=PATIENCE)
        while snapshot.debate.paused and snapshot.debate.paused.cause == "unheard":
            await manager.intervene(snapshot.id, "resume", InterventionRequest(), actor="test")
            snapshot = await manager.follow(snapshot.id, wait=PATIENCE)
        return snapshot


def alter_entries(database: str, old: str, new: str) -> None:
    """Change what is recorded, as somebody with another program might."""
    run_raw(database, "update journal set entry = replace(entry, ?, ?)", old, new)
