"""What a debate was promised is done: whoever gives up waiting, and whichever process was asleep."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from server.debate.commands.intervene import Wish
from server.debate.commands.requests import DebaterAsked, Proposal
from server.engine.debates import Hall
from server.models import Model
from server.models.fakes.scripted import ScriptedModel
from server.models.registry import Models
from storage.sqlite import SqliteJournal
from tests.support.calling import call
from tests.support.gate import Gate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8")]

ACTOR = "test"
STEPPED = Proposal(question="Ship it?", format="verdict")
OWN = Proposal(question="Ship it?", format="verdict", run=True)
MINE = DebaterAsked(name="Me", stance="now", model="caller")
TOGETHER = OWN.model_copy(update={"debaters": [MINE, DebaterAsked(name="Bob", stance="later")]})


class Clock:
    """A process that was asleep finds that it is later than it was."""

    def __init__(self, ahead: float = 0) -> None:
        self.ahead = ahead

    def __call__(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.ahead)


REAL = Clock()


@asynccontextmanager
async def hall(database: str, models: Mapping[str, Model], clock: Clock = REAL) -> AsyncIterator[Hall]:
    journal = await SqliteJournal.open(database)
    try:
        async with Hall.open(
            journal, Models(models), configured=("mine",), environ={}, clock=clock
        ) as opened:
            yield opened
    finally:
        await journal.close()


async def until(holds: Callable[[], Any]) -> None:
    with anyio.fail_after(5):
        while not holds():
            await anyio.lowlevel.checkpoint()


async def until_it_has_turns(running: Hall, debate_id: str, count: int) -> None:
    with anyio.fail_after(5):
        while len((await running.case(debate_id)).debate.turns) < count:
            await anyio.lowlevel.checkpoint()


async def test_a_process_that_was_asleep_asks_for_nothing_that_another_is_asking_for(database: str) -> None:
    asleep, awake, clock = Gate(), Gate(), Clock()
    async with (
        hall(database, {"mine": asleep.model}, clock) as one,
        hall(database, {"mine": awake.model}, Clock(ahead=60)) as two,
    ):
        case = await one.start(OWN, actor=ACTOR)
        with anyio.fail_after(5):
            await asleep.asked.wait()
        await two.follow(case.id, wait=0)
        with anyio.fail_after(5):
            await awake.asked.wait()

        clock.ahead = 61  # it wakes up, and its answer has come
        asleep.open.set()
        await until_it_has_turns(one, case.id, 1)
        await until(lambda: one.driving.working[case.id].driving is None)

        assert [request.seat for request in asleep.model.asked] == ["Proponent"]
        awake.open.set()
        await until_it_has_turns(two, case.id, 4)


Act = Callable[[Hall, str], Awaitable[Any]]

PROMISES: list[tuple[Proposal, int, Act]] = [
    (OWN, 0, lambda hall, _: hall.start(OWN, actor=ACTOR)),
    (STEPPED, 1, lambda hall, name: hall.conclude(name, actor=ACTOR)),
    (STEPPED, 1, lambda hall, name: hall.intervene(name, "conclude", Wish(), actor=ACTOR)),
    (TOGETHER, 0, lambda hall, name: hall.submit(name, "Me", "I say so.", actor=ACTOR)),
]


@pytest.mark.parametrize(("proposal", "rounds", "act"), PROMISES)
async def test_what_was_asked_for_goes_on_though_who_asked_gave_up_while_it_was_written(
    database: str, proposal: Proposal, rounds: int, act: Act
) -> None:
    model = ScriptedModel()
    async with hall(database, {"mine": model}) as running, anyio.create_task_group() as tasks:
        case = await running.start(proposal.model_copy(update={"run": proposal is TOGETHER}), actor=ACTOR)
        for _ in range(rounds):
            await running.step(case.id, wait=5)
        await until(lambda: not running.driving.working)
        asked = len(model.asked)
        with sqlite3.connect(database, isolation_level=None) as other:
            other.execute("begin immediate")
            request = anyio.CancelScope()
            tasks.start_soon(asking, request, act, running, case.id)
            await until(lambda: is_writing(running))
            request.cancel()
            await anyio.lowlevel.checkpoint()
            other.execute("rollback")
        await until(lambda: len(model.asked) > asked)
        tasks.cancel_scope.cancel()


async def asking(request: anyio.CancelScope, act: Act, running: Hall, debate_id: str) -> None:
    with request:
        await act(running, debate_id)


def is_writing(running: Hall) -> bool:
    journal = running.journal
    assert isinstance(journal, SqliteJournal)
    return bool(journal._committing and not journal._committing.done() and not journal._waiting)


async def test_a_call_to_conclude_that_is_made_twice_at_once_is_answered_twice(
    connected: Any,
) -> None:
    found: list[dict[str, Any]] = []
    async with connected() as client:
        step = await call(client, "start_debate", question="Ship?", format="verdict")
        await call(client, "step_round", debate_id=step["debate_id"])

        async def conclude() -> None:
            found.append(await call(client, "get_verdict", debate_id=step["debate_id"], conclude=True))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(conclude)
        steered = await call(client, "read_debate", debate_id=step["debate_id"], view="interventions")

    assert [(verdict["status"], verdict["reason"]) for verdict in found] == [
        ("concluded", "concluded on request")
    ] * 3
    assert [row["action"] for row in steered["data"]["log"]] == ["conclude"]


async def test_what_was_to_be_decided_is_decided_for_whoever_looks_after_a_crash(database: str) -> None:
    gate, judge = Gate(), ScriptedModel()
    async with hall(database, {"mine": gate.model}) as running:
        case = await running.start(STEPPED, actor=ACTOR)
        gate.open.set()
        await running.step(case.id, wait=5)
        gate.open = anyio.Event()
        await running.conclude(case.id, actor=ACTOR)
        await until(lambda: len(gate.model.asked) == 3)

    async with hall(database, {"mine": judge}) as running:
        case = await running.follow(case.id, wait=5)

    assert (case.status, len(judge.asked)) == ("concluded", 1)
