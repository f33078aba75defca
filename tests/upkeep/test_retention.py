"""Retention by a server that runs: old debates go, by one process at a time, and running ones stay."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from server.engine.debates import DebateManager
from server.models.fakes.scripted import ScriptedModel
from server.upkeep.prune import DELAY, LEASE, Retention, prune_debates
from tests.support.engines import alter_entries, open_engine, run_debate, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N27")]

THEN = datetime.now(UTC) - timedelta(days=10)


@asynccontextmanager
async def open_retaining(database: str, days: int = 9) -> AsyncIterator[DebateManager]:
    """A manager that removes debates which ended so many days ago, and looks for them all the time."""
    async with open_engine(database) as manager:
        manager.start_task(lambda: Retention(manager, days).run(delay=0, interval=0.01))
        yield manager


async def make_old(database: str, count: int = 1) -> list[str]:
    async with open_engine(database, ScriptedModel(), clock=lambda: THEN) as manager:
        return [(await run_debate(manager, question=f"Old {number}?")).id for number in range(count)]


async def wait_until(is_so: Callable[[int], bool], manager: DebateManager) -> None:
    with anyio.fail_after(PATIENCE):
        while not is_so(len(await manager.store.storage.journal.list_streams())):
            await wait_before_next_poll()


async def test_a_server_removes_what_ended_long_ago_and_leaves_what_runs(database: str) -> None:
    [old] = await make_old(database)
    gate = Gate()
    async with open_engine(database, gate.model, clock=lambda: THEN) as running:
        started = await start_debate(running, run=True)
        await gate.wait_for_call()
        async with open_retaining(database) as manager:
            await wait_until(lambda count: count == 1, manager)
            tombstone = await manager.store.storage.tombstones.find(old)
            assert tombstone
            assert (tombstone.actor, [*tombstone.texts]) == ("counterpoint", ["receipt"])
        gate.release.set()
        with anyio.fail_after(PATIENCE):
            assert (await running.follow(started.id, wait=PATIENCE)).status in ("concluded", "paused")


async def test_one_process_at_a_time_removes_debates(database: str) -> None:
    old = await make_old(database, 3)
    async with open_engine(database) as other:
        assert await other.leases.acquire(LEASE, 60)
        async with open_engine(database) as manager:
            await Retention(manager, 9).prune()
            assert await manager.store.storage.journal.list_streams() == old
            await other.leases.release(LEASE)
            await Retention(manager, 9).prune()
            assert await manager.store.storage.journal.list_streams() == []
            assert LEASE not in await manager.leases.find_holders()


async def test_it_ends_as_soon_as_it_may_not_go_on(database: str) -> None:
    first, second = await make_old(database, 2)
    answers = [True, False]

    async def may_go_on() -> bool:
        return answers.pop(0)

    async with open_engine(database) as manager:
        result = await prune_debates(manager, 9, actor="test", may_go_on=may_go_on)
        assert result.debate_ids == [first]
        assert await manager.store.storage.journal.list_streams() == [second]


async def test_owners_have_days_of_their_own(database: str) -> None:
    mine, alice, bob, eve = await make_old(database, 4)
    for debate_id, owner in ((alice, "alice"), (bob, "bob"), (eve, "eve")):
        run_raw(database, "update stream set owner = ? where name = ?", owner, debate_id)
    async with open_engine(database) as manager:
        left = manager.store.storage.journal.list_streams
        await Retention(manager, 0, {"alice": 9}).prune()
        assert await left() == [mine, bob, eve]
        await Retention(manager, 9, {"bob": 0, "eve": 30}).prune()
        assert await left() == [bob, eve]


async def test_what_cannot_be_removed_is_said_and_the_server_goes_on(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = await make_old(database, 2)
    alter_entries(database, "Old 0?", "Cold?")
    with caplog.at_level(logging.INFO):
        async with open_retaining(database) as manager:
            await wait_until(lambda count: count == 1, manager)
            with anyio.fail_after(PATIENCE):
                while "Removed 1 debates" not in caplog.text:
                    await wait_before_next_poll()
            assert await manager.store.storage.tombstones.find(second)
    assert f"Debate {first} stays: The record of debate {first} was altered" in caplog.text


async def test_the_setting_is_in_days_and_nothing_is_removed_without_it(database: str) -> None:
    old, *_ = await make_old(database, 1)
    for days, is_left in ((0, True), (11, True), (9, False)):
        async with open_engine(database, recover=True, retention_days=days) as manager:
            with anyio.move_on_after(4 if days == 9 else DELAY + 0.5):
                while not await manager.store.storage.tombstones.find(old):
                    await wait_before_next_poll()
            assert (await manager.store.storage.tombstones.find(old) is None) == is_left
