"""What a debate was promised is done: whoever gives up waiting, and whichever process was asleep."""

import sqlite3
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from server.debate.commands.requests import DebateRequest, DebaterInput
from server.debate.interventions.action import InterventionRequest
from server.engine.debates import DebateManager
from server.models.fakes.scripted import ScriptedModel
from storage.sqlite import SqliteStorage
from storage.storage import Storage
from tests.support.client_calls import call
from tests.support.engines import open_engine
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.simulation import build_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8")]

ACTOR = "test"
STEPPED = build_request(question="Ship it?", format="verdict")
OWN = build_request(question="Ship it?", format="verdict", run=True)
MINE = DebaterInput(name="Me", stance="now", model="caller")
TOGETHER = OWN.model_copy(update={"debaters": [MINE, DebaterInput(name="Bob", stance="later")]})


class Clock:
    """A process that was asleep finds that it is later than it was."""

    def __init__(self, ahead: float = 0) -> None:
        self.ahead = ahead

    def __call__(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.ahead)


async def until(holds: Callable[[], Any]) -> None:
    with anyio.fail_after(PATIENCE):
        while not holds():
            await wait_before_next_poll()


async def until_it_has_turns(running: DebateManager, debate_id: str, count: int) -> None:
    with anyio.fail_after(PATIENCE):
        while len((await running.load(debate_id)).debate.turns) < count:
            await wait_before_next_poll()


@pytest.mark.full
async def test_a_process_that_was_asleep_asks_for_nothing_that_another_is_asking_for(database: str) -> None:
    asleep, awake, clock = Gate(), Gate(), Clock()
    async with (
        open_engine(database, asleep.model, clock=clock) as one,
        open_engine(database, awake.model, clock=Clock(ahead=60)) as two,
    ):
        snapshot = await one.start(OWN, actor=ACTOR)
        await asleep.wait_for_call()
        await two.follow(snapshot.id, wait=0)
        await awake.wait_for_call()

        clock.ahead = 61  # it wakes up, and its answer has come
        asleep.release.set()
        await until_it_has_turns(one, snapshot.id, 1)
        awake.release.set()
        await one.follow(snapshot.id, wait=PATIENCE)

        assert [request.seat for request in asleep.model.requests] == ["Proponent"]
        assert len((await two.load(snapshot.id)).debate.turns) == 4


Act = Callable[[DebateManager, str], Awaitable[Any]]

PROMISES: list[tuple[DebateRequest, int, Act]] = [
    (OWN, 0, lambda manager, _: manager.start(OWN, actor=ACTOR)),
    (
        STEPPED,
        1,
        lambda manager, name: manager.intervene(name, "conclude", InterventionRequest(), actor=ACTOR),
    ),
    (TOGETHER, 0, lambda manager, name: manager.submit(name, "Me", "I say so.", actor=ACTOR)),
]


@pytest.mark.parametrize(("debate_request", "rounds", "act"), PROMISES)
async def test_what_was_asked_for_goes_on_though_who_asked_gave_up_while_it_was_written(
    database: str, debate_request: DebateRequest, rounds: int, act: Act
) -> None:
    model = ScriptedModel()
    async with open_engine(database, model) as running, anyio.create_task_group() as tasks:
        snapshot = await running.start(
            debate_request.model_copy(update={"run": debate_request is TOGETHER}), actor=ACTOR
        )
        for _ in range(rounds):
            await running.step(snapshot.id, wait=PATIENCE)
        await until(lambda: not running.is_working(snapshot.id))
        asked = len(model.requests)
        with sqlite3.connect(database, isolation_level=None) as other:
            other.execute("begin immediate")
            request = anyio.CancelScope()
            tasks.start_soon(asking, request, act, running, snapshot.id)
            await until(lambda: is_writing(running.store.storage))
            request.cancel()
            await anyio.lowlevel.checkpoint()
            other.execute("rollback")
        await until(lambda: len(model.requests) > asked)
        tasks.cancel_scope.cancel()


async def asking(request: anyio.CancelScope, act: Act, running: DebateManager, debate_id: str) -> None:
    with request:
        await act(running, debate_id)


def is_writing(storage: Storage) -> bool:
    assert isinstance(storage, SqliteStorage)
    journal = storage.journal
    return bool(journal._commit_task and not journal._commit_task.done() and not journal._pending)


async def test_of_calls_to_conclude_that_are_made_at_once_one_is_recorded(open_modern: Any) -> None:
    refused: list[bool] = []
    async with open_modern() as client:
        step = await call(client, "start_debate", question="Ship?", format="verdict")
        await call(client, "step_round", debate_id=step["debate_id"])

        async def conclude() -> None:
            this = {"debate_id": step["debate_id"], "action": "conclude"}
            refused.append((await client.call_tool("intervene", this)).is_error)

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(conclude)
        found = await call(client, "get_verdict", debate_id=step["debate_id"])
        steered = await call(client, "read_debate", debate_id=step["debate_id"], view="interventions")

    assert sorted(refused) == [False, True, True]
    assert (found["status"], found["reason"]) == ("concluded", "request: concluded on request")
    assert [row["action"] for row in steered["data"]["log"]] == ["conclude"]


async def test_what_was_to_be_decided_is_decided_for_whoever_looks_after_a_crash(database: str) -> None:
    gate, judge = Gate(), ScriptedModel()
    async with open_engine(database, gate.model) as running:
        snapshot = await running.start(STEPPED, actor=ACTOR)
        gate.release.set()
        await running.step(snapshot.id, wait=PATIENCE)
        gate.release = anyio.Event()
        await running.intervene(snapshot.id, "conclude", InterventionRequest(), actor=ACTOR)
        await until(lambda: len(gate.model.requests) == 4)

    async with open_engine(database, judge) as running:
        snapshot = await running.follow(snapshot.id, wait=PATIENCE)

    assert (snapshot.status, len(judge.requests)) == ("concluded", 2)
