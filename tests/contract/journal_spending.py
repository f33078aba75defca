"""What every journal must do: sums of a day, and reservations that processes share."""

import asyncio
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from storage.storage import Storage
from storage.streams import Amount, Reservation, Spending, StreamSummary
from tests.contract.journal_helpers import AT, LATER, append_entries
from tests.support.patience import PATIENCE

DAY, OTHER_DAY = "2026-03-01", "2026-03-02"
NOTHING = Amount()


def cents(requests: int) -> Amount:
    return Amount(requests, requests * Decimal("0.01"))


async def reserve(storage: Storage, stream: str, holder: str, amount: Amount, *, now: float = 100) -> bool:
    return await storage.spending.reserve(stream, holder, day=DAY, now=now, grant=lambda _whole, _own: amount)


@pytest.mark.requirement("N10")
@pytest.mark.asyncio
class SpendingContract:
    async def test_a_day_is_summed_up_over_all_streams(self, storage: Storage) -> None:
        assert await storage.spending.find(DAY, now=100) == (NOTHING, NOTHING)
        for stream, spending in (
            ("a", {DAY: cents(3), OTHER_DAY: cents(1)}),
            ("b", {DAY: Amount(4, Decimal("1e-7"))}),
        ):
            heading = StreamSummary("t", "running", {}, spending=spending)
            await append_entries(storage, stream, 0, {}, summary=heading)
        heading = StreamSummary("t", "running", {}, spending={DAY: cents(5)})
        await append_entries(storage, "a", 1, {}, {}, summary=heading)
        await append_entries(storage, "a", 3, {})

        assert await storage.spending.find(DAY, now=100) == (Amount(9, Decimal("0.0500001")), NOTHING)
        assert await storage.spending.find(OTHER_DAY, now=100) == (cents(1), NOTHING)

    async def test_what_is_reserved_counts_as_long_as_the_lease_does(self, storage: Storage) -> None:
        for stream, holder in (("a", "me"), ("b", "you")):
            await storage.leases.acquire(stream, holder, now=100, seconds=10)
        assert await reserve(storage, "a", "me", cents(2))
        assert await reserve(storage, "a", "me", cents(1))
        assert await reserve(storage, "b", "you", cents(4))
        assert await storage.spending.find(DAY, now=109) == (NOTHING, cents(7))

        await storage.leases.renew("me", ["a"], now=109, seconds=10)
        assert await storage.spending.find(DAY, now=110) == (NOTHING, cents(3))
        await storage.leases.acquire("b", "third", now=110, seconds=10)
        await storage.leases.release("a", "me")
        assert await storage.spending.find(DAY, now=110) == (NOTHING, NOTHING)

    async def test_what_a_stream_reserved_counts_for_itself_beyond_its_lease(self, storage: Storage) -> None:
        await storage.leases.acquire("a", "me", now=100, seconds=10)
        await reserve(storage, "a", "me", cents(2))
        seen: list[Spending] = []

        def grant(whole: Spending, _own: Spending) -> Amount:
            seen.append(whole)
            return cents(1)

        assert await storage.spending.reserve("a", "me", day=DAY, now=120, grant=grant)
        assert seen == [Spending(NOTHING, cents(2))]
        await storage.leases.renew("me", ["a"], now=120, seconds=10)
        assert await storage.spending.find(DAY, now=120) == (NOTHING, cents(3))

    async def test_nothing_is_reserved_without_the_lease(self, storage: Storage) -> None:
        await storage.leases.acquire("a", "me", now=100, seconds=10)
        assert not await reserve(storage, "a", "you", cents(1))
        assert not await reserve(storage, "b", "me", cents(1))
        await storage.spending.settle("a", Reservation("you", cents(1)))
        assert await storage.spending.find(DAY, now=100) == (NOTHING, NOTHING)

    async def test_what_is_recorded_is_not_reserved_any_more(self, storage: Storage) -> None:
        await storage.leases.acquire("a", "me", now=100, seconds=10)
        await reserve(storage, "a", "me", cents(5))
        heading = StreamSummary("t", "running", {}, spending={DAY: cents(2)})
        await storage.journal.append(
            "a",
            after=0,
            at=AT,
            actor="x",
            bodies=[{}, {}],
            summary=heading,
            reserved=Reservation("me", cents(3)),
        )
        assert await storage.spending.find(DAY, now=100) == (cents(2), cents(3))

        await storage.journal.append(
            "a", after=2, at=AT, actor="x", bodies=[{}], reserved=Reservation("you", cents(9))
        )
        assert await storage.spending.find(DAY, now=100) == (cents(2), cents(3))
        await storage.spending.settle("a", Reservation("me", NOTHING))
        assert await storage.spending.find(DAY, now=100) == (cents(2), NOTHING)

    async def test_of_many_who_reserve_at_once_none_overlooks_another(self, storage: Storage) -> None:
        granted: list[Amount] = []

        def grant(whole: Spending, _own: Spending) -> Amount:
            left = 10 - whole.spent.requests - whole.reserved.requests
            granted.append(Amount(min(3, left)))
            return granted[-1]

        async def run(stream: str) -> None:
            await storage.leases.acquire(stream, stream, now=100, seconds=10)
            await storage.spending.reserve(stream, stream, day=DAY, now=100, grant=grant)

        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(run(f"s{number}") for number in range(20)))

        assert sum(amount.requests for amount in granted) == 10
        assert (await storage.spending.find(DAY, now=100))[1] == Amount(10)

    async def test_a_grant_that_fails_reserves_nothing(self, storage: Storage) -> None:
        await storage.leases.acquire("a", "me", now=100, seconds=10)
        with pytest.raises(ZeroDivisionError):
            await storage.spending.reserve("a", "me", day=DAY, now=100, grant=lambda *_: Amount(1 // 0))
        assert await storage.spending.find(DAY, now=100) == (NOTHING, NOTHING)
        await append_entries(storage, "a", 0, {})


@pytest.mark.requirement("N27")
@pytest.mark.asyncio
class UpkeepContract:
    async def test_what_is_derived_can_be_read_and_written_again(self, storage: Storage) -> None:
        first = StreamSummary("t", "running", {"n": 1}, "words", {DAY: cents(3), OTHER_DAY: cents(1)})
        second = StreamSummary("u", "ended", {"n": 2}, "other", {DAY: cents(2)})
        await append_entries(storage, "a", 0, {}, summary=first)
        await append_entries(storage, "b", 0, {}, summary=first)
        assert await storage.find_problems() == []
        assert await storage.journal.list_streams() == ["a", "b"]
        assert await storage.summaries.read("a") == replace(first, search_text="")

        assert not await storage.summaries.rewrite("a", 2, second)
        assert not await storage.summaries.rewrite("never", 0, second)
        assert await storage.summaries.read("a") == replace(first, search_text="")
        assert await storage.summaries.rewrite("a", 1, second)
        assert await storage.summaries.rewrite("a", 1, replace(second, search_text=""))

        assert await storage.summaries.read("a") == replace(second, search_text="")
        assert await storage.summaries.read("b") == replace(first, search_text="")
        assert await storage.spending.find(DAY, now=100) == (cents(5), NOTHING)
        assert await storage.spending.find(OTHER_DAY, now=100) == (cents(1), NOTHING)
        assert [row.stream for row in await storage.lists.find("other")] == ["a"]
        assert [row.stream for row in await storage.lists.find("words")] == ["b", "a"]
        assert await storage.find_problems() == await storage.spending.find_wrong_days() == []

    async def test_the_search_index_can_be_compared_and_filled_again(self, storage: Storage) -> None:
        one = StreamSummary("t", "ended", {}, 'Crème brûlée, "crème" 4.1', is_final=True)
        two = StreamSummary("t", "running", {}, "creme caramel " + " ".join(f"w{n}" for n in range(500)))
        words = {"a": storage.index.split(one), "b": storage.index.split(two)}
        assert {"creme", "brulee", "4", "1"} < words["a"]
        for _ in range(2):
            for stream, summary in (("a", one), ("b", two)):
                if not (await storage.journal.head(stream))[0]:
                    await append_entries(storage, stream, 0, {}, summary=summary)
                assert await storage.summaries.rewrite(stream, 1, summary)
                assert await storage.index.has(stream, words[stream])
            assert not await storage.index.has("a", ["caramel"])
            assert not await storage.index.has("b", [*words["b"], "brulee"])
            assert not await storage.index.has("never", ["creme"])
            assert await storage.index.count() == Counter([*words["a"], *words["b"]])
            await storage.index.clear()
            assert await storage.index.count() == {}
            assert await storage.lists.find("creme") == []

    async def test_the_sum_of_a_day_follows_every_change(self, storage: Storage) -> None:
        steps = ((DAY, 3), (DAY, 5), (OTHER_DAY, 1), (DAY, 5), (DAY, 2))
        for number, (day, requests) in enumerate(steps):
            heading = StreamSummary("t", "running", {}, spending={day: cents(requests)})
            await append_entries(storage, "a", number, {}, summary=heading)
            await append_entries(storage, f"b{number}", 0, {}, summary=heading)
        assert await storage.spending.find(DAY, now=100) == (cents(2 + 3 + 5 + 5 + 2), NOTHING)
        assert await storage.spending.find(OTHER_DAY, now=100) == (cents(2), NOTHING)
        assert await storage.spending.find_wrong_days() == []
        await storage.spending.rewrite_days([DAY, "2020-01-01"])
        assert await storage.spending.find(DAY, now=100) == (cents(17), NOTHING)

    async def test_streams_are_found_by_their_status_and_their_age(self, storage: Storage) -> None:
        for number, status in enumerate(("ended", "running", "ended")):
            await append_entries(storage, f"s{number}", 0, {}, summary=StreamSummary("t", status, {}))

        assert await storage.summaries.find_unchanged(["ended"], LATER) == ["s0", "s2"]
        assert await storage.summaries.find_unchanged(["ended"], AT) == []

    async def test_an_unknown_stream_has_an_empty_summary(self, storage: Storage) -> None:
        assert await storage.journal.list_streams() == []
        assert await storage.summaries.read("never") == StreamSummary("", "", {})
