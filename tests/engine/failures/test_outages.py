"""A database that cannot be used for longer than a call waits for it: debates go on when it is back."""

import asyncio
import logging
from typing import Any

import anyio
import pytest

from server.engine.database.errors import StorageUnavailableError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.driver import PROGRESS_INTERVAL
from server.engine.recovery import Recovery
from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from storage.database import Database
from storage.errors import StorageError
from storage.spending import DailySpending
from tests.support.engines import open_engine, start_debate
from tests.support.gated_model import Gate
from tests.support.held_databases import hold_database
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8", "D7")]

DATABASE_PATIENCE = 0.05


async def wait_for_turns(manager: DebateManager, debate_id: str, count: int) -> None:
    with anyio.fail_after(PATIENCE):
        while len((await manager.load(debate_id)).debate.turns) < count:
            await wait_before_next_poll()


@pytest.mark.both_databases
@pytest.mark.full
async def test_a_run_that_begins_without_its_database_begins_when_it_is_back(database: str) -> None:
    model = ScriptedModel()
    async with open_engine(database, model, database_patience=DATABASE_PATIENCE) as running:
        snapshot = await start_debate(running)
        with hold_database(database):
            with pytest.raises(StorageUnavailableError):
                await running.step(snapshot.id, wait=1)
            assert running.is_working(snapshot.id)
            assert not model.requests
        await wait_for_turns(running, snapshot.id, 2)  # nobody asks
        again = await running.step(snapshot.id, expected_round=1, wait=PATIENCE)
    assert len(again.debate.turns) == len(model.requests) == 2


@pytest.mark.both_databases
async def test_who_waits_for_a_debate_is_told_when_it_begins_to_wait_for_its_database(database: str) -> None:
    told = anyio.Event()

    async def report(snapshot: DebateSnapshot) -> None:
        if running.find_holdup(snapshot) == "Waiting for the database":
            told.set()

    async with open_engine(database, ScriptedModel(), database_patience=DATABASE_PATIENCE) as running:
        snapshot = await start_debate(running)
        with hold_database(database):
            stepping = asyncio.create_task(running.step(snapshot.id, wait=PATIENCE, on_change=report))
            with anyio.fail_after(PROGRESS_INTERVAL - 1):  # when reports without news come
                await told.wait()
        snapshot = await stepping
    assert len(snapshot.debate.turns) == 2
    assert running.find_holdup(snapshot) == ""


class FailingReservations(DailySpending):
    """Fails once: at the reservation with this number, from 1."""

    def __init__(self, database: Database, failing: int) -> None:
        super().__init__(database)
        self.failing, self.count, self.failed = failing, 0, anyio.Event()

    async def reserve(self, stream: str, holder: str, **options: Any) -> bool:
        self.count += 1
        if self.count == self.failing:
            self.failed.set()
            raise StorageError("the database cannot be reached")
        return await super().reserve(stream, holder, **options)


async def test_answers_under_way_are_waited_for_where_nothing_can_be_reserved(database: str) -> None:
    released, asked = anyio.Event(), list[str]()

    async def answer(request: Request) -> str:
        asked.append(request.seat)
        if request.seat == "Opponent":
            await released.wait()
        return (
            "" if asked.count("Proponent") == 1 and request.seat == "Proponent" else build_reply_text(request)
        )

    async with open_engine(database, ScriptedModel(answer), daily_calls=100) as running:
        budget = running.daily_budget
        budget.spending = failing = FailingReservations(running.store.storage.database, 2)
        snapshot = await start_debate(running)
        await running.step(snapshot.id, wait=0)
        with anyio.fail_after(PATIENCE):
            await failing.failed.wait()
            released.set()
            snapshot = await running.step(snapshot.id, expected_round=1, wait=PATIENCE)
    assert sorted(asked) == ["Opponent", "Proponent", "Proponent"]
    assert len(snapshot.debate.turns) == 2


async def test_a_run_whose_first_calls_cannot_be_reserved_tries_again(database: str) -> None:
    model = ScriptedModel()
    async with open_engine(database, model, daily_calls=100) as running:
        budget = running.daily_budget
        budget.spending = failing = FailingReservations(running.store.storage.database, 1)
        snapshot = await start_debate(running)
        await running.step(snapshot.id, wait=0)
        with anyio.fail_after(PATIENCE):
            await failing.failed.wait()
        await wait_for_turns(running, snapshot.id, 2)
    assert len(model.requests) == 2


async def test_recovery_does_not_hold_an_outage_against_a_debate(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    async with open_engine(database, gate.model) as gone:
        snapshot = await start_debate(gone, run=True)
        await gate.wait_for_call()
    async with open_engine(database, ScriptedModel()) as idle:
        recovery = Recovery(idle, max_age_hours=24, concurrency=1)
        await idle.store.storage.close()
        with caplog.at_level(logging.INFO), anyio.fail_after(PATIENCE):
            await recovery.recover(snapshot.id, 60)
    assert not recovery.failure_counts
    assert "waits for its database" in caplog.text
