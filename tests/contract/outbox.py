"""What every outbox must do. A backend's tests inherit `OutboxContract`, with `journal` and `outbox`."""

from dataclasses import replace

import pytest

from storage.outbox import EntryReference, Outbox, OutboxItem, ReaderPosition
from storage.storage import Storage
from tests.contract.journal_helpers import append_entries


def build_item(
    position: int, *, reader: str = "r", queue_index: int = 0, event: str = "e", due_at: float = 100
) -> OutboxItem:
    """To be done about an event of the entry at that position, which need not exist."""
    key = f"{reader}-{position}-{queue_index}{event}"
    return OutboxItem(key, reader, queue_index, "s", position, position, event, due_at)


async def put_items(outbox: Outbox, *items: OutboxItem) -> None:
    await outbox.register("r")
    await outbox.put(["r"], items[-1].position, items)


async def take_all(outbox: Outbox, *, reader: str = "r", queue_index: int = 0, now: float = 100) -> list[str]:
    """Complete what is due in a queue, in order. Returns the ids."""
    done = []
    while item := await outbox.find_first(reader, queue_index, now):
        await outbox.complete(item)
        done.append(item.id)
    return done


@pytest.mark.asyncio
class ReaderContract:
    async def test_a_new_reader_begins_at_the_end_and_stays(self, storage: Storage, outbox: Outbox) -> None:
        assert await outbox.register("early") == ReaderPosition(0, 0)
        await append_entries(storage, "s", 0, {}, {})

        assert await outbox.register("late") == ReaderPosition(2, 2)
        assert await outbox.register("early") == ReaderPosition(0, 0)

    async def test_every_entry_is_told_of_once_and_in_order(self, storage: Storage, outbox: Outbox) -> None:
        await append_entries(storage, "a", 0, {}, {})
        await append_entries(storage, "b", 0, {})
        await append_entries(storage, "a", 2, {})

        assert await outbox.find_entries(0, limit=10) == [
            EntryReference(1, "a", 1, 1),
            EntryReference(2, "a", 2, 1),
            EntryReference(3, "b", 1, 3),
            EntryReference(4, "a", 3, 1),
        ]
        assert await outbox.find_entries(1, limit=2) == [
            EntryReference(2, "a", 2, 1),
            EntryReference(3, "b", 1, 3),
        ]
        assert await outbox.find_entries(4, limit=2) == []

    async def test_readers_and_positions_of_entries_are_found(self, storage: Storage, outbox: Outbox) -> None:
        assert await outbox.find_readers() == {}
        await outbox.register("early")
        await append_entries(storage, "a", 0, {}, {})
        await append_entries(storage, "b", 0, {})
        await outbox.register("late")

        assert await outbox.find_readers() == {"early": ReaderPosition(0, 0), "late": ReaderPosition(3, 3)}
        assert await outbox.find_position("b", 1) == 3
        assert await outbox.find_position("b", 2) == await outbox.find_position("c", 1) == 0

    async def test_a_reader_moves_on_and_never_back(self, outbox: Outbox) -> None:
        for reader in ("a", "b", "c"):
            await outbox.register(reader)
        await outbox.put(["a", "b"], 7, [])
        await outbox.put(["a"], 5, [])

        assert [await outbox.register(reader) for reader in ("a", "b", "c")] == [
            ReaderPosition(0, 7),
            ReaderPosition(0, 7),
            ReaderPosition(0, 0),
        ]


@pytest.mark.asyncio
class ItemContract:
    async def test_what_two_processes_find_is_kept_once(self, outbox: Outbox) -> None:
        await put_items(outbox, build_item(1), build_item(2))
        await outbox.complete(build_item(1))
        await outbox.put(["r"], 3, [build_item(1), build_item(2), build_item(3)])

        assert await take_all(outbox) == ["r-2-0e", "r-3-0e"]

    async def test_what_is_found_for_nobody_is_not_kept(self, outbox: Outbox) -> None:
        await outbox.put(["r"], 2, [build_item(1)])
        assert await outbox.find_due_queues(100) == []

    async def test_queues_do_not_mix(self, outbox: Outbox) -> None:
        for reader in ("r", "q"):
            await outbox.register(reader)
        await outbox.put(
            ["r", "q"], 1, [build_item(1), build_item(1, queue_index=1), build_item(1, reader="q")]
        )

        assert sorted(await outbox.find_due_queues(100)) == [("q", 0), ("r", 0), ("r", 1)]
        assert sorted(await outbox.find_queues("s")) == [("q", 0), ("r", 0), ("r", 1)]
        assert await outbox.find_queues("t") == []
        assert await take_all(outbox, queue_index=1) == ["r-1-1e"]
        assert sorted(await outbox.find_due_queues(100)) == [("q", 0), ("r", 0)]

    async def test_items_are_counted_until_they_are_done(self, outbox: Outbox) -> None:
        assert await outbox.count() == 0
        await put_items(outbox, build_item(1, due_at=100), build_item(2))
        assert await outbox.count() == 2
        await outbox.complete(build_item(1))
        assert await outbox.count() == 1

    async def test_items_stand_in_the_order_of_entries_and_of_their_events(self, outbox: Outbox) -> None:
        await put_items(outbox, build_item(1, due_at=100), build_item(2, event="z", due_at=50))
        await outbox.put(["r"], 3, [build_item(3, event="b"), build_item(3, event="a")])

        assert await take_all(outbox) == ["r-1-0e", "r-2-0z", "r-3-0b", "r-3-0a"]

    async def test_an_item_that_is_put_off_holds_up_those_behind_it(self, outbox: Outbox) -> None:
        await put_items(outbox, build_item(1), build_item(2))
        later = replace(build_item(1), due_at=150, attempts=3)
        await outbox.reschedule(later)

        assert await outbox.find_due_queues(149) == []
        assert await outbox.find_first("r", 0, 149) is None
        assert await outbox.find_due_queues(150) == [("r", 0)]
        assert await outbox.find_first("r", 0, 150) == later
        assert await take_all(outbox, now=150) == ["r-1-0e", "r-2-0e"]

    async def test_what_nobody_did_for_long_is_forgotten(self, outbox: Outbox) -> None:
        await put_items(outbox, build_item(1, due_at=10), build_item(2))

        assert await outbox.delete_overdue(100) == 1
        assert await take_all(outbox) == ["r-2-0e"]


@pytest.mark.requirement("D6")
class OutboxContract(ReaderContract, ItemContract):
    pass
