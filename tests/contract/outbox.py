"""What every outbox must do. A backend's tests inherit `OutboxContract`, with `journal` and `outbox`."""

import asyncio
from dataclasses import replace

import pytest

from storage.journal import Journal
from storage.outbox import Item, Mark, Noted, Outbox
from tests.contract.writing import PATIENCE, add


def item(number: int, *, reader: str = "r", slot: int = 0, due: float = 100) -> Item:
    """To be done about the entry at that position, which need not exist."""
    return Item(f"{reader}-{number}-{slot}", reader, slot, "s", number, number, due)


async def claimed(
    outbox: Outbox, *, owner: str = "me", reader: str = "r", slot: int = 0, now: float = 100
) -> str:
    """The id of what is claimed for ten seconds; "" if there is nothing."""
    found = await outbox.claim(reader, slot, owner, now=now, seconds=10)
    return found.id if found else ""


class Reading:
    @pytest.mark.asyncio
    async def test_a_new_reader_begins_at_the_end_and_stays_where_it_is(
        self, journal: Journal, outbox: Outbox
    ) -> None:
        assert await outbox.register("early") == Mark(0, 0)
        await add(journal, "s", 0, {}, {})

        assert await outbox.register("late") == Mark(2, 2)
        assert await outbox.register("early") == Mark(0, 0)

    @pytest.mark.asyncio
    async def test_every_entry_is_told_of_once_in_the_order_it_was_written(
        self, journal: Journal, outbox: Outbox
    ) -> None:
        await add(journal, "a", 0, {}, {})
        await add(journal, "b", 0, {})
        await add(journal, "a", 2, {})

        assert await outbox.entries(0, limit=10) == [
            Noted(1, "a", 1, 1),
            Noted(2, "a", 2, 1),
            Noted(3, "b", 1, 3),
            Noted(4, "a", 3, 1),
        ]
        assert await outbox.entries(1, limit=2) == [Noted(2, "a", 2, 1), Noted(3, "b", 1, 3)]
        assert await outbox.entries(4, limit=2) == []

    @pytest.mark.asyncio
    async def test_a_reader_moves_on_and_never_back(self, outbox: Outbox) -> None:
        for reader in ("a", "b", "c"):
            await outbox.register(reader)
        await outbox.put(["a", "b"], 7, [])
        await outbox.put(["a"], 5, [])

        assert [await outbox.register(reader) for reader in ("a", "b", "c")] == [
            Mark(0, 7),
            Mark(0, 7),
            Mark(0, 0),
        ]


class Doing:
    @pytest.mark.asyncio
    async def test_what_two_processes_find_is_kept_once(self, outbox: Outbox) -> None:
        await outbox.register("r")
        await outbox.put(["r"], 2, [item(1), item(2)])
        await outbox.done(item(1), "")
        await outbox.put(["r"], 3, [item(1), item(2), item(3)])

        assert [await claimed(outbox) for _ in range(3)] == ["r-2-0", "r-3-0", ""]

    @pytest.mark.asyncio
    async def test_what_is_found_for_nobody_is_not_kept(self, outbox: Outbox) -> None:
        await outbox.put(["r"], 2, [item(1)])
        assert await outbox.due(100) == []

    @pytest.mark.asyncio
    async def test_queues_do_not_mix(self, outbox: Outbox) -> None:
        for reader in ("r", "q"):
            await outbox.register(reader)
        await outbox.put(["r", "q"], 1, [item(1), item(1, slot=1), item(1, reader="q")])

        assert sorted(await outbox.due(100)) == [("q", 0), ("r", 0), ("r", 1)]
        assert await claimed(outbox, slot=1) == "r-1-1"
        assert await claimed(outbox, slot=1) == ""
        assert sorted(await outbox.due(100)) == [("q", 0), ("r", 0)]

    @pytest.mark.asyncio
    async def test_the_longest_due_comes_first_and_nothing_before_it_is_due(self, outbox: Outbox) -> None:
        await outbox.register("r")
        await outbox.put(["r"], 3, [item(1, due=101), item(2), item(3)])

        assert await outbox.due(99) == []
        assert await claimed(outbox, now=99) == ""
        assert [await claimed(outbox, now=100) for _ in range(3)] == ["r-2-0", "r-3-0", ""]
        assert await claimed(outbox, now=101) == "r-1-0"

    @pytest.mark.asyncio
    async def test_an_item_comes_back_as_it_was_put(self, outbox: Outbox) -> None:
        await outbox.register("r")
        await outbox.put(["r"], 1, [item(1)])
        assert await outbox.claim("r", 0, "me", now=100, seconds=10) == item(1)

    @pytest.mark.asyncio
    async def test_an_item_has_one_owner_until_its_claim_runs_out(self, outbox: Outbox) -> None:
        await outbox.register("r")
        await outbox.put(["r"], 1, [item(1)])

        assert await claimed(outbox) == "r-1-0"
        assert await claimed(outbox, owner="you", now=109) == ""
        assert await outbox.due(109) == []
        assert await outbox.due(110) == [("r", 0)]
        assert await claimed(outbox, owner="you", now=110) == "r-1-0"

    @pytest.mark.asyncio
    async def test_who_lost_a_claim_can_neither_end_nor_put_off(self, outbox: Outbox) -> None:
        await outbox.register("r")
        await outbox.put(["r"], 1, [item(1)])
        await claimed(outbox)
        await claimed(outbox, owner="you", now=110)

        await outbox.done(item(1), "me")
        await outbox.put_off(item(1), "me")
        assert await outbox.owners() == {"you"}
        await outbox.done(item(1), "you")
        assert await outbox.owners() == set()

    @pytest.mark.asyncio
    async def test_what_is_put_off_comes_later_with_what_was_said_of_it(self, outbox: Outbox) -> None:
        await outbox.register("r")
        await outbox.put(["r"], 1, [item(1)])
        await claimed(outbox)
        later = replace(item(1), due=150, attempts=3)
        await outbox.put_off(later, "me")

        assert await outbox.due(149) == []
        assert await outbox.claim("r", 0, "you", now=150, seconds=10) == later

    @pytest.mark.asyncio
    async def test_what_an_owner_gives_back_is_free_at_once(self, outbox: Outbox) -> None:
        await outbox.register("r")
        await outbox.put(["r"], 2, [item(1), item(2)])
        await claimed(outbox)
        await claimed(outbox, owner="you")

        assert await outbox.owners() == {"me", "you"}
        await outbox.release("me")
        assert await outbox.owners() == {"you"}
        assert await claimed(outbox, owner="third") == "r-1-0"

    @pytest.mark.asyncio
    async def test_what_nobody_did_for_long_is_forgotten(self, outbox: Outbox) -> None:
        await outbox.register("r")
        await outbox.put(["r"], 2, [item(1, due=10), item(2)])

        assert await outbox.forget(100) == 1
        assert [await claimed(outbox) for _ in range(2)] == ["r-2-0", ""]

    @pytest.mark.asyncio
    async def test_of_many_who_claim_one_wins_each_and_appends_are_not_disturbed(
        self, journal: Journal, outbox: Outbox
    ) -> None:
        await outbox.register("r")
        await outbox.put(["r"], 10, [item(number) for number in range(1, 11)])
        async with asyncio.timeout(PATIENCE):
            found, _, _ = await asyncio.gather(
                asyncio.gather(*(claimed(outbox, owner=f"o{number}") for number in range(20))),
                add(journal, "s", 0, {}),
                outbox.put(["r"], 11, [item(11, due=200)]),
            )

        assert sorted(filter(None, found)) == sorted(item(number).id for number in range(1, 11))
        assert await journal.version("s") == 1
        assert await outbox.due(200) == [("r", 0)]


@pytest.mark.requirement("D6")
class OutboxContract(Reading, Doing):
    pass
