"""Steps of debates are spread over passes of the event loop."""

import asyncio
from typing import Any

import pytest

from server.engine.database.store import MAX_OPENING
from server.engine.debates import DebateManager
from server.engine.setups import SetupPlanner
from server.engine.turnstile import Turnstile
from server.models.fakes.scripted import ScriptedModel
from server.models.registry import ModelRegistry
from storage.sqlite import SqliteStorage
from storage.sqlite.journal import SqliteJournal
from storage.sqlite.ledger import SqliteLedger
from storage.streams import Entry
from tests.support.patience import PATIENCE
from tests.support.simulation import build_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D9")]


async def test_one_step_is_taken_in_a_pass_in_the_order_in_which_they_were_asked_for() -> None:
    turnstile, passes, order = Turnstile(), [0], list[tuple[int, int]]()

    def count_passes() -> None:
        passes[0] += 1
        asyncio.get_running_loop().call_soon(count_passes)

    async def step(number: int) -> None:
        await turnstile.enter()
        order.append((passes[0], number))

    count_passes()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for number in range(20):
            tasks.create_task(step(number))

    assert [number for _, number in order] == list(range(20))
    by_pass = [sum(at == number for at, _ in order) for number in range(passes[0] + 1)]
    assert max(by_pass) == 1


async def test_who_gives_up_waiting_holds_up_nobody() -> None:
    turnstile, entered = Turnstile(), list[int]()

    async def step(number: int) -> None:
        await turnstile.enter()
        entered.append(number)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        steps = [tasks.create_task(step(number)) for number in range(12)]
        await asyncio.sleep(0)
        for given_up in steps[1:9]:
            given_up.cancel()

    assert entered == [0, 9, 10, 11]
    async with asyncio.timeout(PATIENCE):
        await turnstile.enter()


class Counter:
    """Counts the debates that are being opened."""

    opening = most = 0


class CountingLedger(SqliteLedger):
    counter = Counter()

    async def find_position(self, *, owner: str | None = None) -> int:
        self.counter.opening += 1
        self.counter.most = max(self.counter.most, self.counter.opening)
        return await super().find_position(owner=owner)


class CountingJournal(SqliteJournal):
    counter = Counter()

    async def append(self, stream: str, **options: Any) -> list[Entry]:
        entries = await super().append(stream, **options)
        if not options["after"]:
            self.counter.opening -= 1
        return entries


async def test_few_debates_are_opened_at_once_so_that_other_requests_find_no_queue_at_the_database() -> None:
    storage = await SqliteStorage.open(":memory:")
    ledger, journal = CountingLedger(storage.database), CountingJournal(storage.database, PATIENCE)
    ledger.counter = journal.counter = counter = Counter()
    storage.ledger, storage.journal = ledger, journal
    models = ModelRegistry({"mine": ScriptedModel()})
    async with (
        asyncio.timeout(PATIENCE),
        DebateManager(storage, SetupPlanner(models, configured_models=["mine"], environ={})) as manager,
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(20):
            tasks.create_task(manager.start(build_request(format="verdict", run=False), actor="test"))
    await storage.close()
    assert counter.opening == 0
    assert counter.most == MAX_OPENING
