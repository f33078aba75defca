"""Several processes on one database: leases, conflicts, and who pays."""

import os
import subprocess
from collections.abc import AsyncIterator

import anyio
import pytest

from server.debate.commands.requests import DebateRequest
from server.engine.daily_budget import DailyBudget
from server.engine.debates import DebateManager, utc_now
from server.engine.leases import is_gone, machine_name, new_owner
from server.engine.model_calls import ModelCaller
from server.engine.runner import LeaseLostError, Run, Runner
from server.engine.store import DebateSnapshot, DebateStore
from server.models import Model
from server.models.fakes.scripted import ScriptedModel
from server.models.registry import ModelRegistry
from storage.sqlite import SqliteJournal
from tests.support.gated_model import Gate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8")]

ACTOR = "test"
STEPPED = DebateRequest(question="Ship it?", format="verdict")


def build_manager(journal: SqliteJournal, model: Model) -> DebateManager:
    return DebateManager(journal, ModelRegistry({"mine": model}), configured_models=["mine"], environ={})


def build_runner(journal: SqliteJournal, model: Model) -> Runner:
    caller = ModelCaller(ModelRegistry({"mine": model}))
    daily_budget = DailyBudget(journal, utc_now)
    return Runner(DebateStore(journal, utc_now), caller, daily_budget, lambda _debate, _seat: None)


async def always() -> bool:
    return True


async def never() -> bool:
    return False


@pytest.fixture
async def journal(database: str) -> AsyncIterator[SqliteJournal]:
    opened = await SqliteJournal.open(database)
    yield opened
    await opened.close()


async def test_an_answer_that_another_process_recorded_first_is_dropped(journal: SqliteJournal) -> None:
    gates = Gate(), Gate()
    async with build_manager(journal, ScriptedModel()) as manager:
        snapshot = await manager.start(STEPPED, actor=ACTOR)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for gate in gates:
                    runner = build_runner(journal, gate.model)
                    tasks.start_soon(runner.run, snapshot, Run(utc_now(), 1, None, always))
                    await gate.first_call.wait()
                for gate in gates:
                    gate.release.set()
        after = await manager.load(snapshot.id)

    assert sorted(turn.seat for turn in after.debate.turns) == ["Opponent", "Proponent"]


async def test_without_the_lease_no_model_is_called(journal: SqliteJournal) -> None:
    model = ScriptedModel()
    async with build_manager(journal, model) as manager:
        snapshot = await manager.start(STEPPED, actor=ACTOR)
    with pytest.raises(LeaseLostError):
        await build_runner(journal, model).run(snapshot, Run(utc_now(), 1, None, never))

    assert model.requests == []


async def test_a_verdict_is_awaited_while_another_process_runs_the_round(journal: SqliteJournal) -> None:
    gate, idle, reported = Gate(), ScriptedModel(), anyio.Event()

    async def on_change(_snapshot: DebateSnapshot) -> None:
        reported.set()

    found: list[DebateSnapshot] = []

    async def follow(debate_id: str) -> None:
        found.append(await other.follow(debate_id, wait=5, on_change=on_change))

    async with build_manager(journal, gate.model) as busy, build_manager(journal, idle) as other:
        snapshot = await busy.start(STEPPED, actor=ACTOR)
        await busy.step(snapshot.id, wait=0)
        with anyio.fail_after(5):
            await gate.first_call.wait()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, snapshot.id)
                await reported.wait()
                gate.release.set()

    assert len(found[0].debate.turns) == 2
    assert idle.requests == []


async def test_a_debate_that_nobody_runs_is_returned_at_once(journal: SqliteJournal) -> None:
    async with build_manager(journal, ScriptedModel()) as manager:
        snapshot = await manager.start(STEPPED, actor=ACTOR)
        with anyio.fail_after(5):
            assert (await manager.follow(snapshot.id, wait=60)).debate == snapshot.debate


def test_a_live_process_is_not_gone() -> None:
    assert not is_gone(new_owner())


@pytest.mark.skipif(os.name != "posix", reason="on other systems the lease expires")
def test_a_process_that_has_ended_is_gone() -> None:
    child = subprocess.Popen(["true"])
    child.wait()

    assert is_gone(f"{machine_name()}:{child.pid}:ab")


@pytest.mark.parametrize("owner", ["", "me", f"elsewhere:{2**22}:ab", f"{machine_name()}:x:ab"])
def test_an_owner_that_cannot_be_checked_is_not_gone(owner: str) -> None:
    assert not is_gone(owner)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may signal every process")
def test_a_process_of_another_user_is_not_gone() -> None:  # pragma: no cover
    assert not is_gone(f"{machine_name()}:1:ab")


def test_two_owner_names_differ_even_in_one_process() -> None:
    assert new_owner() != new_owner()
