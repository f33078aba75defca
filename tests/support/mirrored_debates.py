"""Debates with planted effects that are held with their mirrors, and waits for what a mirror records."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from server.debate.facts.escalation import MirrorOpened
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from tests.support.engines import open_engine, run_debate
from tests.support.patience import PATIENCE
from tests.support.planted_effects import JUDGES, STANCES, Planted, describe_debate
from tests.support.polling import wait_before_next_poll

DEBATERS = {name: f"{name.lower()}/m" for name in STANCES}
SPLIT = {JUDGES[0]: {"build it": 6.0}, JUDGES[1]: {"buy it": 6.0}}


@asynccontextmanager
async def engine(database: Path, planted: Planted, **settings: Any) -> AsyncIterator[DebateManager]:
    models = planted.build_models(DEBATERS, JUDGES)
    async with open_engine(database, models, default="ada/m", **settings) as manager:
        yield manager


async def hold(
    database: Path, planted: Planted, *, sides: int = 2, judges: list[str] | None = None, **options: Any
) -> tuple[DebateSnapshot, DebateSnapshot | None]:
    """A debate to its end, and its mirror."""
    async with engine(database, planted) as manager:
        ended = await run_debate(manager, **describe_debate(sides, judges, **options))
        opened = ended.debate.mirror_opened
        return ended, await manager.load(opened.debate_id) if opened else None


async def wait_for_mirror(manager: DebateManager, debate_id: str) -> str:
    """The mirror's id, as soon as it is opened."""
    opened = (await wait_for(manager, debate_id, MirrorOpened)).debate.mirror_opened
    assert opened
    with anyio.fail_after(PATIENCE):
        while opened.debate_id not in await find_mirrors(manager):
            await wait_before_next_poll()
    return opened.debate_id


async def find_mirrors(manager: DebateManager) -> list[str]:
    return [row.stream for row in await manager.store.find(limit=20) if row.details["mirror_of"]]


async def wait_for(manager: DebateManager, debate_id: str, kind: type) -> DebateSnapshot:
    """The debate as soon as such an event is recorded."""
    with anyio.fail_after(PATIENCE):
        async for snapshot in manager.watch_states(debate_id):
            if any(isinstance(entry.event, kind) for entry in snapshot.entries):
                return snapshot
    raise AssertionError
