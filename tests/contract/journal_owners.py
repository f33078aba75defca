"""What every journal must do: tell each owner of their own streams, as if there were no others."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from storage.ledger import LedgerRow
from storage.storage import Storage
from storage.streams import Amount, Reservation, Spending, StreamHead, StreamSummary
from tests.contract.journal_helpers import AT, LATER, append_entries, find_streams
from tests.contract.journal_restore import build_entries

DAY = "2026-03-01"
NOTHING = Amount()
RIGHT = LedgerRow(
    "i1", "m1", "judge", {"gold": "a"}, asked=1, consistent=1, right=1, percent=90, likeliest_right=1
)
ANNS = replace(RIGHT, owner="ann")


async def create(
    storage: Storage,
    owner: str,
    stream: str,
    *,
    text: str = "cats",
    status: str = "running",
    spending: Mapping[str, Amount] | None = None,
    judgments: list[LedgerRow] | None = None,
) -> StreamSummary:
    """A stream with two entries, of which the first alone makes it the owner's."""
    summary = StreamSummary(
        stream,
        status,
        {},
        text,
        spending or {},
        is_final=status == "concluded",
        judgments=judgments,
        owner=owner,
    )
    await append_entries(storage, stream, 0, {}, {}, summary=summary)
    return summary


@pytest.mark.requirement("N14")
@pytest.mark.asyncio
class OwnerContract:
    async def test_a_stream_belongs_to_whom_its_first_entries_name(self, storage: Storage) -> None:
        await create(storage, "ann", "a")
        await append_entries(storage, "b", 0, {})
        await append_entries(storage, "a", 2, {}, summary=StreamSummary("a", "running", {}, owner="ben"))

        assert (await storage.journal.head("a")).owner == "ann"
        assert (await storage.journal.head("b")).owner == "local"
        assert await storage.journal.head("c") == StreamHead(0, "", "")
        assert await storage.lists.find_owners(["a", "b", "c"]) == {"a": "ann", "b": "local"}
        assert (await storage.summaries.read("a")).owner == "ann"

    async def test_a_restored_stream_belongs_to_the_owner_of_its_summary(self, storage: Storage) -> None:
        summary = StreamSummary("r", "running", {}, "cats", {DAY: Amount(1)}, judgments=[ANNS], owner="ann")
        await storage.journal.restore("r", build_entries({}, {}, {}, stream="r"), summary)

        assert (await storage.journal.head("r")).owner == "ann"
        assert await find_streams(storage, "cats", owner="ann") == ["r"]
        assert (await storage.spending.find(DAY, now=0, owner="ann")).spent == Amount(1)
        assert len(await storage.ledger.read(owner="ann")) == 1

    async def test_lists_and_searches_find_those_of_the_owner_only(self, storage: Storage) -> None:
        for number, owner in enumerate(("ann", "ben", "local", "ann", "ben")):
            await create(storage, owner, f"s{number}", status="concluded" if number > 2 else "running")

        own = {"ann": ["s3", "s0"], "ben": ["s4", "s1"], "local": ["s2"], "nobody": []}
        for owner, streams in own.items():
            for query in ("", "cats", "c"):
                assert await find_streams(storage, query, owner=owner) == streams
                running = [stream for stream in streams if stream <= "s2"]
                assert await find_streams(storage, query, status="running", owner=owner) == running
                some: dict[str, Any] = {"status": "running", "streams": ["s0", "s1"]}
                inside = [stream for stream in running if stream != "s2"]
                assert await find_streams(storage, query, **some, inside=True, owner=owner) == inside
                ended = await find_streams(storage, query, status="concluded", is_final=True, owner=owner)
                assert ended == [stream for stream in streams if stream > "s2"]
            assert await find_streams(storage, "dogs", owner=owner) == []
            assert await storage.lists.find_by_prefix("s", owner=owner) == sorted(streams)
        assert len(await find_streams(storage, "cats")) == len(await storage.lists.find_by_prefix("s")) == 5

    async def test_pages_of_one_owner_leave_none_out(self, storage: Storage) -> None:
        for number in range(9):
            await create(storage, "ben" if number % 3 else "ann", f"s{number}")
        for query in ("", "cats"):
            first = await storage.lists.find(query, limit=2, owner="ann")
            following = await find_streams(storage, query, before=first[-1].number, owner="ann")
            assert [*(listed.stream for listed in first), *following] == ["s6", "s3", "s0"]

    async def test_no_text_can_pretend_to_be_an_owners(self, storage: Storage) -> None:
        mark = " ".join(storage.index.split(StreamSummary("t", "", {}, owner="ann")))
        await create(storage, "ben", "b", text=f"cats {mark}")
        await create(storage, "local", "c", text=f"cats {mark}")

        assert await find_streams(storage, "cats", owner="ann") == []
        assert await find_streams(storage, f"cats {mark}", owner="ann") == []
        assert await find_streams(storage, "cats", owner="local") == ["c"]

    async def test_what_is_deleted_is_told_to_nobody_else(self, storage: Storage) -> None:
        summary = await create(storage, "ann", "a")
        buried = await storage.tombstones.delete("a", at=LATER, actor="x", summary=summary)

        assert buried
        assert buried.owner == "ann"
        assert await storage.tombstones.find("a") == buried
        assert await storage.lists.find_owners(["a"]) == {"a": "ann"}
        assert await find_streams(storage, "cats", owner="ann") == []

    async def test_each_owner_has_sums_of_their_own(self, storage: Storage) -> None:
        await create(storage, "ann", "a", spending={DAY: Amount(3, Decimal("0.3"))})
        await create(storage, "ben", "b", spending={DAY: Amount(4)})
        summary = await create(storage, "ann", "c", spending={DAY: Amount(1)})
        more = StreamSummary("a", "", {}, spending={DAY: Amount(5, Decimal("0.5"))}, owner="ann")
        await append_entries(storage, "a", 2, {}, summary=more)
        await storage.tombstones.delete("c", at=LATER, actor="x", summary=summary)

        async def read() -> list[Amount]:
            owners = ("ann", "ben", "local", None)
            return [(await storage.spending.find(DAY, now=0, owner=owner)).spent for owner in owners]

        sums = [Amount(6, Decimal("0.5")), Amount(4), NOTHING, Amount(10, Decimal("0.5"))]
        assert await read() == sums
        assert await storage.spending.find_wrong_days() == []
        await storage.spending.rewrite_days([DAY])
        assert await read() == sums
        assert await storage.summaries.rewrite("b", 2, StreamSummary("b", "", {}, spending={DAY: Amount(7)}))
        assert (await storage.spending.find(DAY, now=0, owner="ben")).spent == Amount(7)
        assert await storage.spending.find_wrong_days() == []

    async def test_what_is_reserved_counts_for_the_owner_of_the_stream(self, storage: Storage) -> None:
        for owner, stream in (("ann", "a"), ("ben", "b"), ("ann", "c")):
            await create(storage, owner, stream, spending={DAY: Amount(1)})
            await storage.leases.acquire(stream, "me", now=100, seconds=10)
        seen: list[tuple[Spending, Spending]] = []

        def grant(whole: Spending, own: Spending) -> Amount:
            seen.append((whole, own))
            return Amount(2)

        for stream in ("a", "b", "c"):
            assert await storage.spending.reserve(stream, "me", day=DAY, now=100, grant=grant)

        assert [(own.spent.requests, own.reserved.requests) for _, own in seen] == [(2, 0), (1, 0), (2, 2)]
        assert [(all_.spent.requests, all_.reserved.requests) for all_, _ in seen] == [(3, 0), (3, 2), (3, 4)]
        assert (await storage.spending.find(DAY, now=100, owner="ann")).reserved == Amount(4)
        await storage.spending.settle("a", Reservation("me", NOTHING))
        assert await storage.spending.find(DAY, now=100, owner="ann") == (Amount(2), Amount(2))
        assert await storage.spending.find(DAY, now=111, owner="ann") == (Amount(2), NOTHING)

    async def test_leases_of_an_owners_streams_are_told_apart(self, storage: Storage) -> None:
        for owner, stream in (("ann", "a"), ("ben", "b")):
            await create(storage, owner, stream)
            await storage.leases.acquire(stream, "me", now=100, seconds=10)
        await storage.leases.acquire("queue", "me", now=100, seconds=10)

        assert await storage.leases.find_holders(now=100, owner="ann") == {"a": "me"}
        assert await storage.leases.find_holders(now=110, owner="ann") == {}
        assert len(await storage.leases.find_holders(now=100)) == 3

    async def test_old_streams_of_an_owner_are_told_apart(self, storage: Storage) -> None:
        await create(storage, "ann", "a", status="concluded")
        await create(storage, "ben", "b", status="concluded")

        assert await storage.summaries.find_unchanged(["concluded"], LATER, owner="ann") == ["a"]
        assert await storage.summaries.find_unchanged(["concluded"], AT, owner="ann") == []
        assert await storage.summaries.find_unchanged(["concluded"], LATER) == ["a", "b"]
