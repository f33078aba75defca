"""`counterpoint db copy`: hooks go on in the copy, and repeated requests find their debates there."""

from typing import Any

import pytest

from server.debate.views.events import event_names
from server.engine.database.repeats import TwinError
from server.engine.database.snapshots import DebateSnapshot
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from server.startup import open_storage
from server.upkeep.copy import CopyResult, copy_debates
from storage.outbox import OutboxItem
from tests.support.engines import alter_entries, open_engine, run_debate, run_round
from tests.support.hook_debates import hook, open_hooks, webhook
from tests.support.processes.webhook_receiver import WebhookReceiver, open_receiver
from tests.support.simulation import build_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "D6", "D21", "N18")]


async def copy(source: str, target: str) -> CopyResult:
    async with open_engine(source) as manager, open_storage(Settings(db=target)) as storage:
        return await copy_debates(manager, storage)


def list_events(*snapshots: DebateSnapshot) -> list[tuple[str, int, str]]:
    return [
        (snapshot.id, entry.seq, name)
        for snapshot in snapshots
        for entry in snapshot.entries
        for name in event_names(snapshot.debate, entry.event)
    ]


def read_key(posted: Any) -> tuple[str, int, str]:
    event = posted.json["event"]
    return posted.json["debate"]["id"], event["seq"], event["names"][0]


async def hold(
    database: str, receiver: WebhookReceiver, count: int, *, refused: bool = False
) -> DebateSnapshot:
    """Hold a debate with a hook that posts all events, until so many posts have arrived in all."""
    receiver.status_lines, before = ["503 Busy"] if refused else [], len(receiver.requests)
    async with open_hooks(database, hook("ops", "*", webhook(receiver.url))) as manager:
        snapshot = await run_debate(manager)
        await receiver.wait_for(count or before + len(list_events(snapshot)))
        return snapshot


async def deliver(database: str, receiver: WebhookReceiver, count: int) -> None:
    """Run the hook until so many posts have arrived in all."""
    receiver.status_lines = []
    async with open_hooks(database, hook("ops", "*", webhook(receiver.url))):
        await receiver.wait_for(count)


@pytest.mark.parametrize("is_copied_before", [False, True])
async def test_nothing_is_posted_twice_or_lost(database: str, other: str, *, is_copied_before: bool) -> None:
    async with open_receiver() as receiver:
        async with open_engine(database, ScriptedModel()) as manager:
            older = await run_round(manager, format="verdict", max_rounds=3)
        posted = await hold(database, receiver, 0)
        waiting = await hold(database, receiver, len(list_events(posted)) + 1, refused=True)
        expected = list_events(posted, waiting)
        if is_copied_before:
            await copy(database, other)
            await deliver(database, receiver, len(expected) + 1)
        async with open_engine(
            database, ScriptedModel()
        ) as manager:  # without hooks: nobody reads what it records
            await manager.step(older.id, wait=5)  # older than the hook, which ignores it
            unread = await run_debate(manager)
        expected += list_events(unread)

        assert (await copy(database, other)).problems == []
        assert not any((vars(await copy(database, other)) | {"debate_count": 0}).values())
        await deliver(other, receiver, len(expected) + 1)
        last = await hold(other, receiver, 0)
        expected += list_events(last)
        assert len(receiver.requests) == len(expected) + 1
        arrived = [read_key(one) for one in receiver.requests]
        del arrived[len(list_events(posted))]  # the one that was refused
        assert arrived == expected

        assert (await copy(other, database)).problems == []
        once_more = await hold(database, receiver, 0)
        assert [read_key(one) for one in receiver.requests[len(expected) + 1 :]] == list_events(once_more)


async def test_what_hooks_have_reached_is_written_once(database: str, other: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        outbox = manager.store.storage.outbox
        await outbox.register("early")
        first = await run_debate(manager)
        middle = await outbox.find_position(first.id, 5)
        await outbox.put(["early"], middle, [])
        await outbox.register("late")
        await run_debate(manager)
    for _ in range(2):
        await copy(database, other)
        async with open_storage(Settings(db=other)) as storage:
            readers = await storage.outbox.find_readers()
            unread = await storage.outbox.find_entries(readers["early"].position, limit=1)
            assert [(one.stream, one.seq) for one in unread] == [(first.id, 6)]
            assert (readers["early"].start, readers["late"].start) == (0, first.debate.version)


async def test_what_was_delivered_in_the_copy_is_not_due_there_again(database: str, other: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        outbox = manager.store.storage.outbox
        await outbox.register("ops")
        ended = await run_debate(manager)
        position = await outbox.find_position(ended.id, ended.debate.version)
        items = [OutboxItem(name, "ops", 0, ended.id, 1, 1, "debate_start", 0) for name in ("one", "two")]
        await outbox.put(["ops"], position, items)
    await copy(database, other)
    async with open_storage(Settings(db=other)) as storage:
        first, second = await storage.outbox.find_items()
        assert (first.id, second.id) == ("one", "two")
        await storage.outbox.complete(first)
    await copy(database, other)
    async with open_storage(Settings(db=other)) as storage:
        assert await storage.outbox.find_items() == [second]


async def test_a_debate_that_cannot_be_copied_holds_up_no_hook(database: str, other: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        await manager.store.storage.outbox.register("ops")
        damaged = await run_debate(manager, question="Damaged?")
        whole = await run_debate(manager, question="Whole?")
    alter_entries(database, "Damaged?", "Changed?")

    result = await copy(database, other)

    assert [problem.debate_id for problem in result.problems] == [damaged.id]
    async with open_storage(Settings(db=other)) as storage:
        unread = await storage.outbox.find_entries(0, limit=1000)
        assert [one.stream for one in unread] == [whole.id] * whole.debate.version
        assert (await storage.outbox.find_readers())["ops"].position == 0


async def test_a_repeated_request_joins_its_twin_in_the_copy(database: str, other: str) -> None:
    request = build_request(question="Twice?")
    async with open_engine(database, ScriptedModel()) as manager:
        started = await manager.start(request, actor="test", joins=True)
    await copy(database, other)
    async with open_engine(other, ScriptedModel()) as manager:
        with pytest.raises(TwinError) as raised:
            await manager.start(request, actor="test", joins=True)
        assert raised.value.debate_id == started.id
