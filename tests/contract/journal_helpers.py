"""Helpers to open a journal, write to it and query it."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from hypothesis import HealthCheck, settings

from storage.addresses import is_address
from storage.contract.journal import Journal
from storage.contract.streams import Entry, StreamFilter, StreamListing, StreamSummary
from storage.migrations import Migration
from storage.postgres import PostgresJournal
from storage.postgres.connections.pool import MAX_CONNECTIONS
from storage.sqlite import SqliteJournal
from storage.sqlite.migrations import MIGRATIONS
from tests.support.patience import PATIENCE

AT = "2026-03-01T10:00:00.000Z"
LATER = "2026-03-01T10:05:00.000Z"

READ_ONLY_FUZZ_SETTINGS = settings(
    # Examples may share a journal when they only read, and a contract is inherited by more than one class.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)


@asynccontextmanager
async def open_journal(
    path: str | Path, *, lock_timeout: float = PATIENCE, migrations: Sequence[Migration] = MIGRATIONS
) -> AsyncIterator[SqliteJournal]:
    """Open a SQLite journal and close it: one left open would keep the test run alive."""
    journal = await SqliteJournal.open(path, lock_timeout=lock_timeout, migrations=migrations)
    try:
        yield journal
    finally:
        await journal.close()


@asynccontextmanager
async def open_postgres_journal(
    address: str, *, patience: float = PATIENCE
) -> AsyncIterator[PostgresJournal]:
    journal = await PostgresJournal.open(address, patience=patience)
    try:
        yield journal
    finally:
        await journal.close()


@asynccontextmanager
async def keep_busy(journal: PostgresJournal) -> AsyncIterator[None]:
    """While this is open the server answers, and whoever asks waits two seconds for a connection, or for none."""

    async def ask() -> None:
        while True:
            await journal._db.fetch("select pg_sleep(0.1)", wait=60)

    async with asyncio.TaskGroup() as tasks:
        asking = [tasks.create_task(ask()) for _ in range(20 * MAX_CONNECTIONS)]
        await anyio.lowlevel.checkpoint()  # they ask first
        try:
            yield
        finally:
            for one in asking:
                one.cancel()


@asynccontextmanager
async def open_any_journal(database: str | Path) -> AsyncIterator[Journal]:
    """Open the journal of a path, or of the address of a PostgreSQL database."""
    is_postgres = is_address(str(database))
    async with open_postgres_journal(str(database)) if is_postgres else open_journal(database) as journal:
        yield journal


async def append_entries(
    journal: Journal,
    stream: str,
    after: int,
    *bodies: Mapping[str, Any],
    summary: StreamSummary | None = None,
) -> list[Entry]:
    return await journal.append(stream, after=after, at=AT, actor="alice", bodies=bodies, summary=summary)


async def create_stream(journal: Journal, stream: str, search_text: str, *, status: str = "running") -> None:
    await append_entries(journal, stream, 0, {}, summary=StreamSummary(stream, status, {}, search_text))


async def find_streams(
    journal: Journal,
    query: str = "",
    *,
    before: int = 0,
    limit: int = 20,
    owner: str | None = None,
    **only: Any,
) -> list[str]:
    """`only`: the fields of `StreamFilter`."""
    found = await journal.find(query, StreamFilter(**only), before=before, limit=limit, owner=owner)
    return [listed.stream for listed in found]


async def get_listing(journal: Journal, stream: str) -> StreamListing | None:
    """A stream as lists show it; None if they do not."""
    return next((listed for listed in await journal.find() if listed.stream == stream), None)
