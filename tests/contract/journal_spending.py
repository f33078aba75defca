"""What every journal must do: sums of a day, and reservations that processes share."""

import asyncio
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from storage.contract.journal import Journal
from storage.contract.streams import Amount, Reservation, Spending, StreamSummary
from tests.contract.journal_helpers import AT, LATER, append_entries
from tests.support.patience import PATIENCE

DAY, OTHER_DAY = "2026-03-01", "2026-03-02"
NOTHING = Amount()


def cents(requests: int) -> Amount:
    return Amount(requests, requests * Decimal("0.01"))


async def reserve(journal: Journal, stream: str, holder: str, amount: Amount, *, now: float = 100) -> bool:
    return await journal.reserve(stream, holder, day=DAY, now=now, grant=lambda _whole, _own: amount)


@pytest.mark.requirement("N10")
@pytest.mark.asyncio
class SpendingContract:
    async def test_a_day_is_summed_up_over_all_streams(self, journal: Journal) -> None:
        assert await journal.find_spending(DAY, now=100) == (NOTHING, NOTHING)
        for stream, spending in (
            ("a", {DAY: cents(3), OTHER_DAY: cents(1)}),
            ("b", {DAY: Amount(4, Decimal("1e-7"))}),
        ):
            heading = StreamSummary("t", "running", {}, spending=spending)
            await append_entries(journal, stream, 0, {}, summary=heading)
        heading = StreamSummary("t", "running", {}, spending={DAY: cents(5)})
        await append_entries(journal, "a", 1, {}, {}, summary=heading)
        await append_entries(journal, "a", 3, {})

        assert await journal.find_spending(DAY, now=100) == (Amount(9, Decimal("0.0500001")), NOTHING)
        assert await journal.find_spending(OTHER_DAY, now=100) == (cents(1), NOTHING)

    async def test_what_is_reserved_counts_as_long_as_the_lease_does(self, journal: Journal) -> None:
        for stream, holder in (("a", "me"), ("b", "you")):
            await journal.acquire_lease(stream, holder, now=100, seconds=10)
        assert await reserve(journal, "a", "me", cents(2))
        assert await reserve(journal, "a", "me", cents(1))
        assert await reserve(journal, "b", "you", cents(4))
        assert await journal.find_spending(DAY, now=109) == (NOTHING, cents(7))

        await journal.renew_leases("me", ["a"], now=109, seconds=10)
        assert await journal.find_spending(DAY, now=110) == (NOTHING, cents(3))
        await journal.acquire_lease("b", "third", now=110, seconds=10)
        await journal.release_lease("a", "me")
        assert await journal.find_spending(DAY, now=110) == (NOTHING, NOTHING)

    async def test_what_a_stream_reserved_counts_for_itself_beyond_its_lease(self, journal: Journal) -> None:
        await journal.acquire_lease("a", "me", now=100, seconds=10)
        await reserve(journal, "a", "me", cents(2))
        seen: list[Spending] = []

        def grant(whole: Spending, _own: Spending) -> Amount:
            seen.append(whole)
            return cents(1)

        assert await journal.reserve("a", "me", day=DAY, now=120, grant=grant)
        assert seen == [Spending(NOTHING, cents(2))]
        await journal.renew_leases("me", ["a"], now=120, seconds=10)
        assert await journal.find_spending(DAY, now=120) == (NOTHING, cents(3))

    async def test_nothing_is_reserved_without_the_lease(self, journal: Journal) -> None:
        await journal.acquire_lease("a", "me", now=100, seconds=10)
        assert not await reserve(journal, "a", "you", cents(1))
        assert not await reserve(journal, "b", "me", cents(1))
        await journal.settle("a", Reservation("you", cents(1)))
        assert await journal.find_spending(DAY, now=100) == (NOTHING, NOTHING)

    async def test_what_is_recorded_is_not_reserved_any_more(self, journal: Journal) -> None:
        await journal.acquire_lease("a", "me", now=100, seconds=10)
        await reserve(journal, "a", "me", cents(5))
        heading = StreamSummary("t", "running", {}, spending={DAY: cents(2)})
        await journal.append(
            "a",
            after=0,
            at=AT,
            actor="x",
            bodies=[{}, {}],
            summary=heading,
            reserved=Reservation("me", cents(3)),
        )
        assert await journal.find_spending(DAY, now=100) == (cents(2), cents(3))

        await journal.append(
            "a", after=2, at=AT, actor="x", bodies=[{}], reserved=Reservation("you", cents(9))
        )
        assert await journal.find_spending(DAY, now=100) == (cents(2), cents(3))
        await journal.settle("a", Reservation("me", NOTHING))
        assert await journal.find_spending(DAY, now=100) == (cents(2), NOTHING)

    async def test_of_many_who_reserve_at_once_none_overlooks_another(self, journal: Journal) -> None:
        granted: list[Amount] = []

        def grant(whole: Spending, _own: Spending) -> Amount:
            left = 10 - whole.spent.requests - whole.reserved.requests
            granted.append(Amount(min(3, left)))
            return granted[-1]

        async def run(stream: str) -> None:
            await journal.acquire_lease(stream, stream, now=100, seconds=10)
            await journal.reserve(stream, stream, day=DAY, now=100, grant=grant)

        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(run(f"s{number}") for number in range(20)))

        assert sum(amount.requests for amount in granted) == 10
        assert (await journal.find_spending(DAY, now=100))[1] == Amount(10)

    async def test_a_grant_that_fails_reserves_nothing(self, journal: Journal) -> None:
        await journal.acquire_lease("a", "me", now=100, seconds=10)
        with pytest.raises(ZeroDivisionError):
            await journal.reserve("a", "me", day=DAY, now=100, grant=lambda *_: Amount(1 // 0))
        assert await journal.find_spending(DAY, now=100) == (NOTHING, NOTHING)
        await append_entries(journal, "a", 0, {})


@pytest.mark.requirement("N27")
@pytest.mark.asyncio
class UpkeepContract:
    async def test_what_is_derived_can_be_read_and_written_again(self, journal: Journal) -> None:
        first = StreamSummary("t", "running", {"n": 1}, "words", {DAY: cents(3), OTHER_DAY: cents(1)})
        second = StreamSummary("u", "ended", {"n": 2}, "other", {DAY: cents(2)})
        await append_entries(journal, "a", 0, {}, summary=first)
        await append_entries(journal, "b", 0, {}, summary=first)
        assert await journal.find_file_problems() == []
        assert await journal.find_all_streams() == ["a", "b"]
        assert await journal.read_summary("a") == replace(first, search_text="")

        assert not await journal.rewrite_summary("a", 2, second)
        assert not await journal.rewrite_summary("never", 0, second)
        assert await journal.read_summary("a") == replace(first, search_text="")
        assert await journal.rewrite_summary("a", 1, second)
        assert await journal.rewrite_summary("a", 1, replace(second, search_text=""))

        assert await journal.read_summary("a") == replace(second, search_text="")
        assert await journal.read_summary("b") == replace(first, search_text="")
        assert await journal.find_spending(DAY, now=100) == (cents(5), NOTHING)
        assert await journal.find_spending(OTHER_DAY, now=100) == (cents(1), NOTHING)
        assert [row.stream for row in await journal.find("other")] == ["a"]
        assert [row.stream for row in await journal.find("words")] == ["b", "a"]
        assert await journal.find_file_problems() == await journal.find_wrong_days() == []

    async def test_the_search_index_can_be_compared_and_filled_again(self, journal: Journal) -> None:
        one = StreamSummary("t", "ended", {}, 'Crème brûlée, "crème" 4.1', is_final=True)
        two = StreamSummary("t", "running", {}, "creme caramel " + " ".join(f"w{n}" for n in range(500)))
        words = {"a": journal.split_words(one), "b": journal.split_words(two)}
        assert {"creme", "brulee", "4", "1"} < words["a"]
        for _ in range(2):
            for stream, summary in (("a", one), ("b", two)):
                if not (await journal.head(stream))[0]:
                    await append_entries(journal, stream, 0, {}, summary=summary)
                assert await journal.rewrite_summary(stream, 1, summary)
                assert await journal.has_words(stream, words[stream])
            assert not await journal.has_words("a", ["caramel"])
            assert not await journal.has_words("b", [*words["b"], "brulee"])
            assert not await journal.has_words("never", ["creme"])
            assert await journal.count_words() == Counter([*words["a"], *words["b"]])
            await journal.clear_words()
            assert await journal.count_words() == {}
            assert await journal.find("creme") == []

    async def test_the_sum_of_a_day_follows_every_change(self, journal: Journal) -> None:
        steps = ((DAY, 3), (DAY, 5), (OTHER_DAY, 1), (DAY, 5), (DAY, 2))
        for number, (day, requests) in enumerate(steps):
            heading = StreamSummary("t", "running", {}, spending={day: cents(requests)})
            await append_entries(journal, "a", number, {}, summary=heading)
            await append_entries(journal, f"b{number}", 0, {}, summary=heading)
        assert await journal.find_spending(DAY, now=100) == (cents(2 + 3 + 5 + 5 + 2), NOTHING)
        assert await journal.find_spending(OTHER_DAY, now=100) == (cents(2), NOTHING)
        assert await journal.find_wrong_days() == []
        await journal.rewrite_days([DAY, "2020-01-01"])
        assert await journal.find_spending(DAY, now=100) == (cents(17), NOTHING)

    async def test_streams_are_found_by_their_status_and_their_age(self, journal: Journal) -> None:
        for number, status in enumerate(("ended", "running", "ended")):
            await append_entries(journal, f"s{number}", 0, {}, summary=StreamSummary("t", status, {}))

        assert await journal.find_unchanged(["ended"], LATER) == ["s0", "s2"]
        assert await journal.find_unchanged(["ended"], AT) == []

    async def test_an_unknown_stream_has_an_empty_summary(self, journal: Journal) -> None:
        assert await journal.find_all_streams() == []
        assert await journal.read_summary("never") == StreamSummary("", "", {})
