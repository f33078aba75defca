"""Whoever writes locks in one order. Two that wait for each other lose a second, after which the server ends one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from storage.errors import ConflictError
from storage.ledger import LedgerRow
from storage.outbox import OutboxItem
from storage.postgres import PostgresStorage
from storage.streams import Amount, OpeningKey, Reservation, StreamSummary, Tombstone
from tests.contract.journal_helpers import (
    AT,
    append_entries,
    hold_statement,
    open_postgres_storage,
    wait_for_locks,
)
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.postgres import Server, find_name

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N8")]

JUDGED = StreamSummary(
    "t", "running", {}, "a m z", {AT[:10]: Amount(1)}, judgments=[LedgerRow("i", "m", "judge", {})]
)
ITEM, RESTORED = (OutboxItem(name, "hook", 0, "s", 1, 1, "opened", 1) for name in ("one", "another"))
TOMBSTONE = Tombstone("gone", 1, "00", AT, "me")

Work = Callable[[PostgresStorage, PostgresStorage], Awaitable[Any]]


OTHERS = "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"


async def count_deadlocks(server: Server, address: str) -> int:
    """Those in a database that nobody uses any more: a connection reports them when it ends, at the latest."""
    async with asyncio.timeout(PATIENCE):
        while server.sql(OTHERS, database=find_name(address)):
            await wait_before_next_poll()
    return int(server.sql(DEADLOCKS, database=find_name(address)))


async def write_together(*appends: Awaitable[Any]) -> None:
    """In one batch. One of two batches about the same stream is refused."""
    outcomes = await asyncio.gather(*appends, return_exceptions=True)
    assert all(isinstance(outcome, list | ConflictError) for outcome in outcomes)


async def judge(storage: PostgresStorage) -> None:
    await write_together(append_entries(storage, "s", 1, {}, summary=JUDGED))


async def open_and_append(storage: PostgresStorage) -> None:
    await write_together(append_entries(storage, "new", 0, {}), append_entries(storage, "s", 1, {}))


def open_for(storage: PostgresStorage, key: str) -> Awaitable[Any]:
    opening = OpeningKey(key, since=AT)
    return storage.journal.append(f"for {key}", after=0, at=AT, actor="me", bodies=[{}], key=opening)


async def open_and_judge(storage: PostgresStorage) -> None:
    await write_together(open_for(storage, "k1"), append_entries(storage, "t", 1, {}, summary=JUDGED))


async def spend_on_both(storage: PostgresStorage) -> None:
    reserved = Reservation("me", Amount(1))
    await write_together(
        *(
            storage.journal.append(one, after=1, at=AT, actor="me", bodies=[{}], reserved=reserved)
            for one in "ts"
        )
    )


def renew(storage: PostgresStorage) -> Awaitable[Any]:
    return storage.leases.renew("me", ["s", "t"], seconds=9)


async def exchange_words(storage: PostgresStorage, removed: str, added: str) -> None:
    summary = StreamSummary("t", "running", {}, added, removed_text=removed)
    await write_together(append_entries(storage, "s", 1, {}, summary=summary))


STREAMS = "select 1 from stream for update"
LEDGER = "select 1 from counter where name = 'ledger' for update"
LEASE = "select 1 from lease where stream = 't' for update"
CASES: dict[str, tuple[str, Work, Work]] = {
    "words": (
        STREAMS,
        lambda _, two: exchange_words(two, "", "a"),
        lambda one, _: exchange_words(one, "a", ""),
    ),
    "judgments": (STREAMS, lambda _, two: judge(two), lambda one, _: judge(one)),
    "streams": (
        "select 1 from stream where name = 't' for update",
        lambda one, _: write_together(append_entries(one, "t", 1, {}), append_entries(one, "s", 1, {})),
        lambda _, two: write_together(append_entries(two, "s", 1, {}), append_entries(two, "t", 1, {})),
    ),
    "new streams": (STREAMS, lambda _, two: open_and_append(two), lambda one, _: open_and_append(one)),
    "a summary": (
        STREAMS,
        lambda _, two: write_together(append_entries(two, "s", 1, {})),
        lambda one, _: one.summaries.rewrite("s", 1, JUDGED),
    ),
    "a tombstone": (
        LEDGER,
        lambda _, two: judge(two),
        lambda one, _: one.tombstones.restore(TOMBSTONE, JUDGED),
    ),
    "a deletion": (
        LEDGER,
        lambda _, two: two.tombstones.delete("s", at=AT, actor="me"),
        lambda one, _: open_and_judge(one),
    ),
    "keys of a deletion": (
        "select 1 from opening where key = 'k1' for update",
        lambda _, two: two.tombstones.delete("s", at=AT, actor="me"),
        lambda one, _: write_together(open_for(one, "k0"), open_for(one, "k1")),
    ),
    "keys": (
        "select 1 from opening where key = 'k2' for update",
        lambda one, _: write_together(open_for(one, "k2"), open_for(one, "k1")),
        lambda _, two: write_together(open_for(two, "k1"), open_for(two, "k2")),
    ),
    "leases": (LEASE, lambda one, _: spend_on_both(one), lambda _, two: renew(two)),
    "renewed leases": (LEASE, lambda _, two: renew(two), lambda one, _: spend_on_both(one)),
    "the search index": (
        "select 1 from word where word = 'm' for update",
        lambda _, two: two.index.clear(),
        lambda one, _: exchange_words(one, "z", "a"),
    ),
}
"""What is held by somebody else, what then waits for it, and what comes after that.

The first journal, which wrote the streams, remembers their heads.
"""


@pytest.mark.parametrize("case", CASES)
async def test_two_that_write_do_not_wait_for_each_other(
    postgres_server: Server, postgres_database: str, case: str
) -> None:
    held, first, second = CASES[case]
    # Indexes are used, as where there are many rows.
    postgres_server.sql(f"alter database {find_name(postgres_database)} set enable_seqscan = off")
    async with (
        open_postgres_storage(postgres_database) as one,
        open_postgres_storage(postgres_database) as two,
    ):
        for stream, key in (("t", "k2"), ("s", "k1")):
            opening = OpeningKey(key, since=AT)
            await one.journal.append(
                stream, after=0, at=AT, actor="me", bodies=[{}], summary=JUDGED, key=opening
            )
            await one.leases.acquire(stream, "me", seconds=60)
        await one.keys.restore([("k0", "s", AT)])
        async with hold_statement(two, held):
            working = [asyncio.ensure_future(first(one, two))]
            await wait_for_locks(two, 1)
            working.append(asyncio.ensure_future(second(one, two)))
            await wait_for_locks(two, 2)
        await asyncio.gather(*working)
    assert await count_deadlocks(postgres_server, postgres_database) == 0


async def test_what_somebody_works_on_is_not_waited_for_where_overdue_items_go(
    postgres_database: str,
) -> None:
    items = [
        OutboxItem(name, "hook", 0, "s", 1, place, "opened", 1) for place, name in enumerate("ab", start=1)
    ]
    async with open_postgres_storage(postgres_database) as storage:
        await storage.outbox.register("hook")
        await storage.outbox.put(["hook"], 2, items)
        async with hold_statement(storage, "select 1 from outbox where id = 'a' for update"):
            assert await storage.outbox.delete_overdue(2) == 1
        assert await storage.outbox.find_first("hook", 0, 9) == items[0]
        assert await storage.outbox.delete_overdue(2) == 1
