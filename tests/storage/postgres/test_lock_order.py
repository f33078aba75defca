"""Whoever writes locks in one order. Two that wait for each other lose a second, after which the server ends one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from storage.contract.errors import ConflictError
from storage.contract.ledger import LedgerRow
from storage.contract.streams import StreamSummary
from storage.postgres import PostgresJournal
from storage.postgres.connections.pool import Session
from tests.contract.journal_helpers import TIMEOUT, append_entries, open_postgres_journal
from tests.support.polling import wait_before_next_poll
from tests.support.postgres import Server, find_name

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N8")]

BEFORE = StreamSummary("t", "running", {}, "old", judgments=[LedgerRow("i", "m", {})])
WITH_WORD = StreamSummary("t", "running", {}, "old")
WITHOUT_WORD = StreamSummary("t", "running", {}, removed_text="old")


@asynccontextmanager
async def hold(journal: PostgresJournal, statement: str) -> AsyncIterator[None]:
    """Keep what a statement locks, in a transaction of its own."""
    held, may_end = asyncio.Event(), asyncio.Event()

    async def lock(session: Session) -> None:
        await session.fetch(statement)
        held.set()
        await may_end.wait()

    holding = asyncio.create_task(journal._db.transact(lock))
    await held.wait()
    try:
        yield
    finally:
        may_end.set()
        await holding


async def wait_for_waiting(journal: PostgresJournal, number: int) -> None:
    async with asyncio.timeout(TIMEOUT):
        while (await journal._db.fetch("select count(*) from pg_locks where not granted"))[0] < (number,):
            await wait_before_next_poll()


OTHERS = "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"


async def count_deadlocks(server: Server, address: str) -> int:
    """Those in a database that nobody uses any more: a connection reports them when it ends, at the latest."""
    async with asyncio.timeout(TIMEOUT):
        while server.sql(OTHERS, database=find_name(address)):
            await wait_before_next_poll()
    return int(server.sql(DEADLOCKS, database=find_name(address)))


@pytest.mark.parametrize(("first", "second"), [(WITH_WORD, WITHOUT_WORD), (BEFORE, BEFORE)])
async def test_whoever_takes_words_or_judgments_away_locks_the_stream_first(
    postgres_server: Server, postgres_database: str, first: StreamSummary, second: StreamSummary
) -> None:
    async with (
        open_postgres_journal(postgres_database) as one,
        open_postgres_journal(postgres_database) as two,
    ):
        await append_entries(one, "s", 0, {}, summary=BEFORE)
        async with hold(two, "select 1 from stream for update"):
            writing = [asyncio.create_task(append_entries(two, "s", 1, {"n": 1}, summary=first))]
            await wait_for_waiting(two, 1)
            writing.append(asyncio.create_task(append_entries(one, "s", 1, {"n": 2}, summary=second)))
            await wait_for_waiting(two, 2)
        written, refused = await asyncio.gather(*writing, return_exceptions=True)
        assert await two.read("s", after=1) == written
        assert isinstance(refused, ConflictError)
    assert await count_deadlocks(postgres_server, postgres_database) == 0
