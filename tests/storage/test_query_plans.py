"""What a statement goes through must not grow with the database, however it is filled."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from storage.ledger import LedgerRow
from storage.outbox import OutboxItem
from storage.sqlite import SqliteStorage
from storage.streams import Amount, Entry, OpeningKey, Reservation, StreamFilter, StreamSummary
from tests.contract.journal_helpers import AT, append_entries, open_storage

pytestmark = [pytest.mark.asyncio, pytest.mark.requirement("D20")]

Use = Callable[[SqliteStorage], Awaitable[None]]

DAY = "2026-03-01"
SMALL = (
    "json_each",
    "sqlite_sequence",
    "lease",
    "outbox",
    "reader",
    "(subquery-",
    *("SCAN member", "SCAN claimed", "SCAN item"),  # subqueries
    "CONSTANT ROW",
    "new_day",
    "excluded",
    "appended",
)
"""What holds only what goes on now, or what was passed."""

SORTING = (
    *("select distinct owner, stream, item", "name in", "position > ", "outbox", "where stream = "),
    "family = '",
)
"""Statements that may sort: twenty items, the streams that were given, the entries that are new, queues, the rows of
one stream, the streams of one family."""

LAZY = ("words VIRTUAL TABLE INDEX",)
"""Read row by row in the order that is wanted, up to the limit."""


@asynccontextmanager
async def watch_statements(storage: SqliteStorage) -> AsyncIterator[Callable[[], list[str]]]:
    """Gives the statements that were run on the journal's connections, with their values."""
    run: dict[str, None] = {}
    for connection in (storage.database.reader, storage.database.writer):
        await connection._db.set_trace_callback(run.setdefault)
    yield lambda: [sql for sql in run if not sql.startswith("--") and "'words_" not in sql]
    for connection in (storage.database.reader, storage.database.writer):
        await connection._db.set_trace_callback(None)  # type: ignore[arg-type]


async def use_lists(storage: SqliteStorage) -> None:
    for owner, query in product((None, "local", "ann"), ("", "cats", "cats do", "gpt-4")):
        find = partial(storage.lists.find, query, owner=owner)
        await find(before=7)
        for is_final in (True, False):
            await find(StreamFilter("concluded", is_final=is_final), before=7)
        await find(StreamFilter(values=["tag a", "model b"]), before=7)
        for inside in (True, False):
            await find(StreamFilter("running", streams=["s0"], inside=inside, changed_since=AT))
        await storage.lists.find_by_prefix("s", owner=owner)
    for owner in (None, "local"):
        await storage.lists.find_family("s0", owner=owner)
    await storage.texts.find_many(["s0"], "receipt")
    await storage.lists.find_owners(["s0"])
    await storage.journal.find_changes(-1)
    await storage.journal.find_changes(5)
    await storage.journal.read("s0")
    await storage.journal.head("s0")


async def use_sums(storage: SqliteStorage) -> None:
    await storage.leases.acquire("s0", "me", now=100, seconds=10)
    await storage.leases.renew("me", ["s0"], now=100, seconds=10)
    await storage.leases.find_holders(now=100)
    await storage.leases.find_holders(now=100, owner="local")
    await storage.spending.reserve("s0", "me", day=DAY, now=100, grant=lambda *_: Amount(1))
    await storage.spending.find(DAY, now=100)
    await storage.spending.find(DAY, now=100, owner="local")
    for read in (storage.ledger.find_position, storage.ledger.sum_beliefs):
        await read(owner="local")
    await storage.ledger.sum_judges(["m"], owner="local")
    await storage.spending.settle("s0", Reservation("me", Amount()))
    await storage.leases.release("s0", "me")


async def use_appends(storage: SqliteStorage) -> None:
    heading = StreamSummary("t", "running", {}, "cats", {DAY: Amount(1, Decimal("0.1"))})
    version, *_ = await storage.journal.head("s0")
    await append_entries(storage, "s0", version, {}, summary=heading)
    key = OpeningKey("asked", AT, 100)
    await storage.journal.append(
        "opened", after=0, at=AT, actor="a", bodies=[{}] * 70, key=key, summary=heading,
        reserved=Reservation("me", Amount(1)),
    )  # fmt: skip
    await storage.journal.restore("restored", await build_entries(), heading)
    await storage.summaries.read("s0")


async def build_entries() -> list[Entry]:
    async with open_storage(":memory:") as other:
        return await append_entries(other, "restored", 0, {}, {})


async def use_outbox(storage: SqliteStorage) -> None:
    await storage.outbox.register("hook")
    await storage.outbox.find_entries(3, limit=10)
    item = OutboxItem("id", "hook", 0, "s0", 1, 9, "opened", 100)
    await storage.outbox.put(["hook"], 9, [item])
    await storage.outbox.find_due_queues(100)
    await storage.outbox.find_queues("s0")
    await storage.outbox.find_first("hook", 0, 100)
    await storage.outbox.reschedule(item)
    await storage.outbox.complete(item)
    await storage.outbox.delete_overdue(50)


async def use_ledger(storage: SqliteStorage) -> None:
    await storage.ledger.find_position(owner="local")
    await storage.ledger.sum_judges(["m1", "m2"], owner="local")
    await storage.ledger.sum_answers(["m1", "m2"], "law", owner="local")
    await storage.ledger.sum_pairs(["m1", "m2"], owner="local")
    await storage.ledger.count_items(["m1", "m2"], 20, owner="local")
    row = LedgerRow("i1", "m1", "judge", {}, percent=90)
    heading = StreamSummary("t", "running", {}, "cats", judgments=[row, replace(row, judge="m2")])
    await append_entries(storage, "judged", 0, {}, summary=heading)
    await append_entries(storage, "judged", 1, {}, summary=heading)


@pytest.mark.parametrize("use", [use_lists, use_sums, use_appends, use_outbox, use_ledger])
async def test_no_statement_goes_through_a_whole_table(tmp_path: Path, use: Use) -> None:
    async with open_storage(tmp_path / "a.db") as storage:
        for number in range(3):
            heading = StreamSummary("t", "running", {}, "cats", {DAY: Amount(1)})
            await append_entries(storage, f"s{number}", 0, {}, summary=heading)
        async with watch_statements(storage) as get_statements:
            await use(storage)
        plans = {
            sql: [
                str(row[-1]) for row in await storage.database.writer.fetch_all(f"explain query plan {sql}")
            ]
            for sql in get_statements()
            if sql.split(maxsplit=1)[0] not in ("begin", "commit", "BEGIN", "COMMIT", "ROLLBACK")
        }
    assert len(plans) >= 6
    scans = {
        (line, sql)
        for sql, lines in plans.items()
        for line in lines
        if line.startswith("SCAN") and not any(name in line for name in (*SMALL, *LAZY))
    }
    assert scans == set()
    sorts = {sql for sql, lines in plans.items() if any("TEMP B-TREE" in line for line in lines)}
    assert {sql for sql in sorts if not any(part in sql for part in SORTING)} == set()
