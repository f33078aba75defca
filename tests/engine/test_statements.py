"""How many statements a request takes: a fixed number, whatever the number of seats and candidates."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from server.debate.analysis.judgments import Judgment, Reading
from server.debate.commands.requests import ChangesInput
from server.engine.database.ledger import import_judgments
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import compare_family, load_family, mark_family
from server.models.fakes.scripted import ScriptedModel
from server.web.record import load_family_data
from storage.storage import Storage
from storage.streams import Amount, StreamSummary
from tests.support.engines import open_engine, run_debate, start_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D20")]

MANY = tuple(f"vendor{number % 9}/model{number}" for number in range(200))


@asynccontextmanager
async def count_statements(manager: DebateManager, database: str) -> AsyncIterator[list[str]]:
    """The statements that reach the connections, of triggers and of what looks for changes now and then left out."""
    run: list[str] = []
    storage: Any = manager.store.storage
    if database.startswith("postgresql"):
        opened = [holder._con for holder in storage.database._pool._holders if holder._con]

        def log(record: Any) -> None:
            run.append(record.query)

        for connection in opened:
            connection.add_query_logger(log)
        yield run
        for connection in opened:
            connection.remove_query_logger(log)
        return
    connections = (storage.database.reader, storage.database.writer)
    for connection in connections:
        await connection._db.set_trace_callback(run.append)
    yield run
    for connection in connections:
        await connection._db.set_trace_callback(None)
    run[:] = [sql for sql in run if not sql.startswith("--")]


async def teach(manager: DebateManager) -> None:
    """Have a ledger in which five models judged each item."""
    votes = Reading(1, "a"), Reading(2, "a")
    panels = [(f"item {number}", MANY[number % 200 : number % 200 + 5]) for number in range(0, 800, 5)]
    judgments = [Judgment(f"{item}", name, "a", votes) for item, panel in panels for name in panel]
    await import_judgments(manager.store.storage.ledger, judgments, manager.store.name_ledger())


async def count_start(manager: DebateManager, database: str, seats: int, candidates: int) -> int:
    debaters = [{"name": f"D{number}", "stance": f"stance {number}"} for number in range(seats)]
    team = {"candidates": list(MANY[:candidates])}
    async with count_statements(manager, database) as run:
        await start_debate(manager, debaters=debaters, options={"team": team})
    return len(run)


@pytest.mark.both_databases
async def test_opening_a_debate_takes_as_many_statements_whatever_seats_and_candidates_there_are(
    database: str,
) -> None:
    models: dict[str, Any] = {name: ScriptedModel(name=name) for name in (*MANY, "mine")}
    async with open_engine(database, models) as manager:
        await teach(manager)
        few = max(
            [await count_start(manager, database, 2, 4) for _ in range(5)]
        )  # on connections that are open
        assert 5 <= few < 40
        assert await count_start(manager, database, 26, 4) <= few + 1
        assert await count_start(manager, database, 2, 200) <= few + 1
        assert await count_start(manager, database, 26, 200) <= few + 1


@pytest.mark.both_databases
async def test_the_receipt_of_a_debate_that_was_recorded_here_is_not_read_with_it(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        ended = await run_debate(manager)
        manager.store.recent.clear()
        async with count_statements(manager, database) as run:
            await manager.load(ended.id)
    assert run
    assert not [sql for sql in run if "from kept_text" in sql]  # it may still be written


@pytest.mark.both_databases
@pytest.mark.full
async def test_the_budget_of_a_day_takes_as_many_statements_however_many_debates_spent(database: str) -> None:
    async with open_engine(database, daily_calls=10**6, owner_daily_calls=10**6) as manager:
        budget, storage = manager.daily_budget, manager.store.storage
        counts = set[tuple[int, ...]]()
        for begin, end in pairwise((0, 10, 1_000)):
            await fill_day(storage, budget.day, range(begin, end))
            await budget.leases.acquire("spent0000000")
            counts.add(await count_budget(manager, database, spent=end))
        assert len(counts) == 1
        looked, reserved, settled = counts.pop()
        assert (looked, settled) == (2, 1)  # of all owners, and of this one
        assert reserved < 8  # with the begin and the end of its transaction


async def fill_day(storage: Storage, day: str, numbers: range) -> None:
    """Streams of three owners, each of which spent one request and a cent on a day."""

    async def write(number: int) -> None:
        owner, spent = ("local", "ann", "ben")[number % 3], {day: Amount(1, Decimal("0.01"))}
        summary = StreamSummary("t", "concluded", {}, is_final=True, spending=spent, owner=owner)
        at = f"{day}T00:00:00.000Z"
        await storage.journal.append(
            f"spent{number:07}", after=0, at=at, actor="x", bodies=[{}], summary=summary
        )

    for start in range(numbers.start, numbers.stop, 500):
        await asyncio.gather(*map(write, range(start, min(start + 500, numbers.stop))))


async def count_budget(manager: DebateManager, database: str, *, spent: int) -> tuple[int, ...]:
    """The statements that tell what is left of the day, reserve of it, and give back; `spent`: calls of the day."""
    budget, taken = manager.daily_budget, list[tuple[int, ...]]()
    left = 0

    def choose(most: int) -> Amount:
        nonlocal left
        left = most
        return Amount(1)

    for _ in range(3):  # another process looks for changes now and then
        async with count_statements(manager, database) as looked:
            remaining, _ = await budget.find_remaining("local")
        async with count_statements(manager, database) as reserved:
            await budget.reserve("spent0000000", Decimal(0), choose)
        async with count_statements(manager, database) as settled:
            await budget.settle("spent0000000", budget.build_reservation(()))
        assert remaining.calls == left == 10**6 - spent
        taken.append((len(looked), len(reserved), len(settled)))
    return tuple(map(min, *taken))


@pytest.mark.both_databases
@pytest.mark.full
@pytest.mark.parametrize("is_known", [False, True])
async def test_a_family_takes_as_many_statements_however_many_forks_it_has_and_however_deep(
    database: str, is_known: bool
) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        parent = await run_debate(manager)
        end = first = await run_debate(manager)
        counts, made = set[tuple[int, ...]](), 0
        for forks in (1, 20):
            for _ in range(forks - made):
                await manager.fork(parent.id, 1, ChangesInput(), actor="test")
            made = forks
            assert len(await manager.store.find_family(parent)) == forks + 1
            counts.add(await count_family(manager, database, parent, is_known=is_known))
        for _ in range(5):
            end = await manager.fork(end.id, 1, ChangesInput(), actor="test")
        assert len((await load_family(manager, end, limit=60)).members) == 6
        for debate in (first, end):
            counts.add(await count_family(manager, database, debate, is_known=is_known))
        assert len(counts) == 1
        assert max(counts.pop()) < 10


async def count_family(
    manager: DebateManager, database: str, debate: DebateSnapshot, *, is_known: bool
) -> tuple[int, ...]:
    """The statements of each way to read a family: comparisons, all of it, its mark, and a page of all."""
    counts = []
    for read in (
        lambda: compare_family(manager, debate),
        lambda: load_family(manager, debate, 24),
        lambda: mark_family(manager, debate, 24),
        lambda: load_family_data(manager, debate.id),
    ):
        taken = []
        for _ in range(3):  # another process looks for changes now and then
            if not is_known:
                manager.store.recent.clear()
            async with count_statements(manager, database) as run:
                await read()
            taken.append(len(run))
        counts.append(min(taken))
    return tuple(counts)
