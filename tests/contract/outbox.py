"""What every outbox must do. A backend's tests inherit `OutboxContract`, with `journal` and `outbox`."""

import asyncio
from dataclasses import replace

import pytest

from storage.journal import Journal
from storage.outbox import EntryReference, Outbox, OutboxItem, ReaderPosition
from tests.contract.journal_helpers import TIMEOUT, append_entries


def build_item(position: int, *, reader: str = "r", queue_index: int = 0, due_at: float = 100) -> OutboxItem:
    """To be done about the entry at that position, which need not exist."""
    return OutboxItem(
        f"{reader}-{position}-{queue_index}", reader, queue_index, "s", position, position, due_at
    )


async def put_items(outbox: Outbox, *items: OutboxItem) -> None:
    await outbox.register("r")
    await outbox.put(["r"], items[-1].position, items)


async def claim_id(
    outbox: Outbox, *, owner: str = "me", reader: str = "r", queue_index: int = 0, now: float = 100
) -> str:
    """The id of what is claimed for ten seconds; "" if there is nothing."""
    found = await outbox.claim(reader, queue_index, owner, now=now, seconds=10)
    return found.id if found else ""


@pytest.mark.asyncio
class ReaderContract:
    async def test_a_new_reader_begins_at_the_end_and_stays(self, journal: Journal, outbox: Outbox) -> None:
        assert await outbox.register("early") == ReaderPosition(0, 0)
        await append_entries(journal, "s", 0, {}, {})

        assert await outbox.register("late") == ReaderPosition(2, 2)
        assert await outbox.register("early") == ReaderPosition(0, 0)

    async def test_every_entry_is_told_of_once_and_in_order(self, journal: Journal, outbox: Outbox) -> None:
        await append_entries(journal, "a", 0, {}, {})
        await append_entries(journal, "b", 0, {})
        await append_entries(journal, "a", 2, {})

        assert await outbox.entries_after(0, limit=10) == [
            EntryReference(1, "a", 1, 1),
            EntryReference(2, "a", 2, 1),
            EntryReference(3, "b", 1, 3),
            EntryReference(4, "a", 3, 1),
        ]
        assert await outbox.entries_after(1, limit=2) == [
            EntryReference(2, "a", 2, 1),
            EntryReference(3, "b", 1, 3),
        ]
        assert await outbox.entries_after(4, limit=2) == []

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
        await outbox.complete(build_item(1), "")
        await outbox.put(["r"], 3, [build_item(1), build_item(2), build_item(3)])

        assert [await claim_id(outbox) for _ in range(3)] == ["r-2-0", "r-3-0", ""]

    async def test_what_is_found_for_nobody_is_not_kept(self, outbox: Outbox) -> None:
        await outbox.put(["r"], 2, [build_item(1)])
        assert await outbox.due_queues(100) == []

    async def test_queues_do_not_mix(self, outbox: Outbox) -> None:
        for reader in ("r", "q"):
            await outbox.register(reader)
        await outbox.put(
            ["r", "q"], 1, [build_item(1), build_item(1, queue_index=1), build_item(1, reader="q")]
        )

        assert sorted(await outbox.due_queues(100)) == [("q", 0), ("r", 0), ("r", 1)]
        assert await claim_id(outbox, queue_index=1) == "r-1-1"
        assert await claim_id(outbox, queue_index=1) == ""
        assert sorted(await outbox.due_queues(100)) == [("q", 0), ("r", 0)]

    async def test_the_longest_due_comes_first_and_nothing_before_it_is_due(self, outbox: Outbox) -> None:
        await put_items(outbox, build_item(1, due_at=101), build_item(2), build_item(3))

        assert await outbox.due_queues(99) == []
        assert await claim_id(outbox, now=99) == ""
        assert [await claim_id(outbox, now=100) for _ in range(3)] == ["r-2-0", "r-3-0", ""]
        assert await claim_id(outbox, now=101) == "r-1-0"

    async def test_an_item_has_one_owner_until_its_claim_runs_out(self, outbox: Outbox) -> None:
        await put_items(outbox, build_item(1))

        assert await outbox.claim("r", 0, "me", now=100, seconds=10) == build_item(1)
        assert await claim_id(outbox, owner="you", now=109) == ""
        assert await outbox.due_queues(109) == []
        assert await outbox.due_queues(110) == [("r", 0)]
        assert await claim_id(outbox, owner="you", now=110) == "r-1-0"

    async def test_who_lost_a_claim_can_neither_end_nor_put_off(self, outbox: Outbox) -> None:
        await put_items(outbox, build_item(1))
        await claim_id(outbox)
        await claim_id(outbox, owner="you", now=110)

        await outbox.complete(build_item(1), "me")
        await outbox.reschedule(build_item(1), "me")
        assert await outbox.owners() == {"you"}
        await outbox.complete(build_item(1), "you")
        assert await outbox.owners() == set()

    async def test_what_is_put_off_comes_later_with_what_was_said_of_it(self, outbox: Outbox) -> None:
        await put_items(outbox, build_item(1))
        await claim_id(outbox)
        later = replace(build_item(1), due_at=150, attempts=3)
        await outbox.reschedule(later, "me")

        assert await outbox.due_queues(149) == []
        assert await outbox.claim("r", 0, "you", now=150, seconds=10) == later

    async def test_what_an_owner_gives_back_is_free_at_once(self, outbox: Outbox) -> None:
        await put_items(outbox, build_item(1), build_item(2))
        await claim_id(outbox)
        await claim_id(outbox, owner="you")

        assert await outbox.owners() == {"me", "you"}
        await outbox.release_claims("me")
        assert await outbox.owners() == {"you"}
        assert await claim_id(outbox, owner="third") == "r-1-0"

    async def test_what_nobody_did_for_long_is_forgotten(self, outbox: Outbox) -> None:
        await put_items(outbox, build_item(1, due_at=10), build_item(2))

        assert await outbox.delete_overdue(100) == 1
        assert [await claim_id(outbox) for _ in range(2)] == ["r-2-0", ""]

    async def test_of_many_who_claim_an_item_one_wins_it(self, journal: Journal, outbox: Outbox) -> None:
        await put_items(outbox, *map(build_item, range(1, 11)))
        async with asyncio.timeout(TIMEOUT):
            found, _, _ = await asyncio.gather(
                asyncio.gather(*(claim_id(outbox, owner=f"o{number}") for number in range(20))),
                append_entries(journal, "s", 0, {}),
                outbox.put(["r"], 11, [build_item(11, due_at=200)]),
            )

        assert sorted(filter(None, found)) == sorted(build_item(number).id for number in range(1, 11))
        assert await journal.version("s") == 1
        assert await outbox.due_queues(200) == [("r", 0)]


@pytest.mark.requirement("D6")
class OutboxContract(ReaderContract, ItemContract):
    pass
