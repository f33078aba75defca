"""Several processes on one database: leases, conflicts, and who pays."""

import sqlite3
import subprocess
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.engine.database.daily_budget import NO_LIMITS, DailyBudget, DailyLimits
from server.engine.database.leases import LEASE_SECONDS, LeaseLostError, Leases, is_gone, machine_name
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import DebateStore
from server.engine.debates import DebateManager, utc_now
from server.engine.model_calls import ModelCaller
from server.engine.runner import Run, Runner
from server.engine.setups import SetupPlanner
from server.models import Model
from server.models.concurrency import WHOLE, Share
from server.models.fakes.scripted import ScriptedModel
from server.models.registry import ModelRegistry
from server.models.resilience import Guard
from server.research import Research
from storage.sqlite import SqliteStorage
from storage.storage import Storage
from tests.contract.journal_helpers import open_any_storage
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.simulation import build_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8")]

ACTOR = "test"
STEPPED = build_request(question="Ship it?", format="verdict")


def build_manager(storage: Storage, model: Model) -> DebateManager:
    planner = SetupPlanner(ModelRegistry({"mine": model}), configured_models=["mine"], environ={})
    return DebateManager(storage, planner)


def build_runner(
    storage: Storage,
    model: Model,
    *,
    may_call: bool = True,
    leases: Leases | None = None,
    limits: DailyLimits = NO_LIMITS,
    **options: Any,
) -> Runner:
    async def has_lease(_debate: str) -> bool:
        return may_call

    store, caller = DebateStore(storage, utc_now), ModelCaller(ModelRegistry({"mine": model}), Research({}))
    daily_budget = DailyBudget(storage.spending, leases or Leases(storage.leases, utc_now), limits)
    return Runner(store, caller, daily_budget, has_lease, **options)


@pytest.fixture
async def storage(database: str) -> AsyncIterator[Storage]:
    async with open_any_storage(database) as opened:
        yield opened


@pytest.mark.both_databases
async def test_an_answer_that_another_process_recorded_first_is_dropped(storage: Storage) -> None:
    gates = Gate(), Gate()
    async with build_manager(storage, ScriptedModel()) as manager:
        snapshot = await manager.start(STEPPED, actor=ACTOR)
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for gate in gates:
                    runner = build_runner(storage, gate.model)
                    tasks.start_soon(runner.run, Run(snapshot, 1))
                    await gate.first_call.wait()
                for gate in gates:
                    gate.release.set()
        after = await manager.load(snapshot.id)

    assert sorted(turn.seat for turn in after.debate.turns) == ["Opponent", "Proponent"]


@pytest.mark.both_databases
@pytest.mark.requirement("N10")
async def test_what_a_dropped_answer_might_have_taken_is_given_back(storage: Storage) -> None:
    gate, leases = Gate(), Leases(storage.leases, utc_now)
    async with build_manager(storage, ScriptedModel()) as manager:
        snapshot = await manager.start(STEPPED, actor=ACTOR)
        await leases.acquire(snapshot.id)
        runner = build_runner(storage, gate.model, leases=leases, limits=DailyLimits(100))
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(runner.run, Run(snapshot, 1))
                await gate.first_call.wait()
                assert (await runner.daily_budget.find_spending())[1].requests > 0
                await build_runner(storage, ScriptedModel()).run(Run(snapshot, 1))
                gate.release.set()
        spent, reserved = await runner.daily_budget.find_spending()

    assert (spent.requests, reserved.requests) == (2, 0)


async def test_without_the_lease_no_model_is_called(storage: Storage) -> None:
    model = ScriptedModel()
    async with build_manager(storage, model) as manager:
        snapshot = await manager.start(STEPPED, actor=ACTOR)
    with pytest.raises(LeaseLostError):
        await build_runner(storage, model, may_call=False).run(Run(snapshot, 1))

    assert model.requests == []


async def test_a_lease_passes_to_another_process_only_when_it_has_expired(tmp_path: Path) -> None:
    now = utc_now()

    def tell_time() -> float:
        return now.timestamp()

    storage = await SqliteStorage.open(tmp_path / "a.db", clock=tell_time)
    try:
        first, second = (Leases(storage.leases, lambda: now) for _ in range(2))

        assert await first.acquire("d")
        assert not await second.acquire("d")
        assert await first.has_lease("d")

        now += timedelta(seconds=LEASE_SECONDS + 1)
        assert await second.acquire("d")
        assert not await first.has_lease("d")
        assert await second.has_lease("d")
    finally:
        await storage.close()


@pytest.mark.both_databases
async def test_a_verdict_is_awaited_while_another_process_runs_the_round(storage: Storage) -> None:
    gate, idle, reported = Gate(), ScriptedModel(), anyio.Event()

    async def on_change(_snapshot: DebateSnapshot) -> None:
        reported.set()

    found: list[DebateSnapshot] = []

    async def follow(debate_id: str) -> None:
        found.append(await other.follow(debate_id, wait=PATIENCE, on_change=on_change))

    async with build_manager(storage, gate.model) as busy, build_manager(storage, idle) as other:
        snapshot = await busy.start(STEPPED, actor=ACTOR)
        await busy.step(snapshot.id, wait=0)
        with anyio.fail_after(PATIENCE):
            await gate.first_call.wait()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, snapshot.id)
                await reported.wait()
                await other.follow(snapshot.id, wait=0.05)
                gate.release.set()

    assert len(found[0].debate.turns) == 2
    assert idle.requests == []


async def test_the_lease_of_a_process_that_has_ended_is_taken_over_at_once(storage: Storage) -> None:
    async with build_manager(storage, ScriptedModel()) as manager:
        snapshot = await manager.start(STEPPED, actor=ACTOR)
        await storage.leases.acquire(snapshot.id, ended_holder(), now=utc_now().timestamp(), seconds=60)
        with anyio.fail_after(PATIENCE):
            snapshot = await manager.step(snapshot.id, wait=60)

    assert snapshot.debate.round == 1


@pytest.mark.full
@pytest.mark.requirement("N14")
async def test_processes_that_run_debates_share_the_limits_of_providers(storage: Storage) -> None:
    gates, guards = (Gate(), Gate()), (Guard(), Guard())
    managers = [
        DebateManager(
            storage, SetupPlanner(ModelRegistry({"mine": gate.model}, guard), configured_models=["mine"])
        )
        for gate, guard in zip(gates, guards, strict=True)
    ]
    with anyio.fail_after(PATIENCE):
        async with managers[0] as one:
            first = await one.start(STEPPED, actor=ACTOR)
            one.run_to_end(first)
            await gates[0].first_call.wait()
            assert guards[0].share == WHOLE
            async with managers[1] as another:
                another.run_to_end(await another.start(STEPPED, actor=ACTOR))
                await gates[1].first_call.wait()
                while {guard.share for guard in guards} != {Share(0, 2), Share(1, 2)}:
                    await wait_before_next_poll()
            while guards[0].share != WHOLE:
                await wait_before_next_poll()


async def test_a_failing_database_costs_no_lease(storage: Storage) -> None:
    leases = Leases(storage.leases, utc_now)
    await leases.acquire("one")
    await storage.close()

    assert await leases.renew(["one"]) == {"one"}
    await leases.release("one")


async def test_an_answer_is_kept_for_as_long_as_the_database_stays_locked(database: str) -> None:
    storage = await SqliteStorage.open(database, lock_timeout=0.01)
    async with build_manager(storage, ScriptedModel()) as manager:
        snapshot = await manager.start(STEPPED, actor=ACTOR)
        gate = Gate()
        run = Run(snapshot, 1)
        runner = build_runner(storage, gate.model, retry_delays=(0.01,))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run, run)
            await gate.wait_for_call()
            other = sqlite3.connect(database, isolation_level=None)
            other.execute("begin immediate")
            gate.release.set()
            with anyio.fail_after(PATIENCE):
                while not run.trouble:
                    await wait_before_next_poll()
            assert len(gate.model.requests) == 1
            assert (await manager.load(snapshot.id)).debate.turns == ()
            other.rollback()
            other.close()
        assert len((await manager.load(snapshot.id)).debate.turns) == len(gate.model.requests) == 2
        assert run.trouble is None
    await storage.close()


async def test_a_state_that_arrives_late_replaces_no_newer_one(storage: Storage) -> None:
    async with build_manager(storage, ScriptedModel()) as manager:
        older = await manager.start(STEPPED, actor=ACTOR)
        newer = await manager.step(older.id, wait=PATIENCE)
    run = Run(newer)
    run.update(older)

    assert run.snapshot is newer


def ended_holder() -> str:
    """The holder name of a process that has ended."""
    child = subprocess.Popen(["true"])
    child.wait()
    return f"{machine_name()}:{child.pid}:ab"


@pytest.mark.parametrize(
    "holder", ["", "me", f"elsewhere:{2**22}:ab", f"{machine_name()}:x:ab", f"{machine_name()}:{2**70}:ab"]
)
def test_a_holder_that_cannot_be_checked_is_not_gone(holder: str) -> None:
    assert not is_gone(holder)


class SlowRelease:
    """A store whose releases take until `arrive` is set, as on a connection that is slower than others."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.arrive = storage, anyio.Event()

    async def acquire(self, *values: Any, **options: Any) -> str:
        return await self.storage.leases.acquire(*values, **options)

    async def release(self, *values: Any) -> None:
        await self.arrive.wait()
        await self.storage.leases.release(*values)


@pytest.mark.both_databases
async def test_a_lease_that_is_being_released_is_not_lost_by_who_asks_for_it_again(database: str) -> None:
    async with open_any_storage(database) as storage:
        slow: Any = SlowRelease(storage)
        here, elsewhere = Leases(slow, utc_now), Leases(storage.leases, utc_now)
        assert await here.acquire("d-1")
        again = list[bool]()

        async def acquire() -> None:
            again.append(await here.acquire("d-1"))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(here.release, "d-1")
                await anyio.lowlevel.checkpoint()
                tasks.start_soon(acquire)
                await anyio.lowlevel.checkpoint()
                slow.arrive.set()
        assert again == [True]
        assert not await elsewhere.acquire("d-1")
