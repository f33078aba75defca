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
from storage.contract.streams import Entry
from storage.sqlite import SqliteJournal
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
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
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

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        steps = [tasks.create_task(step(number)) for number in range(12)]
        await asyncio.sleep(0)
        for given_up in steps[1:9]:
            given_up.cancel()

    assert entered == [0, 9, 10, 11]
    async with asyncio.timeout(5):
        await turnstile.enter()


class CountingJournal(SqliteJournal):
    """Counts the debates that are being opened."""

    opening = most = 0

    async def read_ledger_position(self, *, owner: str | None = None) -> int:
        self.opening += 1
        self.most = max(self.most, self.opening)
        return await super().read_ledger_position(owner=owner)

    async def append(self, stream: str, **given: Any) -> list[Entry]:
        entries = await super().append(stream, **given)
        if not given["after"]:
            self.opening -= 1
        return entries


async def test_few_debates_are_opened_at_once_so_that_other_requests_find_no_queue_at_the_database() -> None:
    journal = await CountingJournal.open(":memory:")
    models = ModelRegistry({"mine": ScriptedModel()})
    async with (
        asyncio.timeout(5),
        DebateManager(journal, SetupPlanner(models, configured_models=["mine"], environ={})) as manager,
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(20):
            tasks.create_task(manager.start(build_request(format="verdict", run=False), actor="test"))
    await journal.close()
    assert journal.opening == 0
    assert journal.most == MAX_OPENING
