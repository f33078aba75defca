"""Helpers to open a journal, write to it and query it."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from hypothesis import HealthCheck, settings

from storage.addresses import is_address
from storage.database import Session
from storage.migrations import Migration
from storage.sqlite import SqliteStorage
from storage.sqlite.migrations import MIGRATIONS
from storage.storage import Storage
from storage.streams import Entry, StreamFilter, StreamListing, StreamSummary
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

if TYPE_CHECKING:
    from storage.postgres import PostgresStorage

AT = "2026-03-01T10:00:00.000Z"
LATER = "2026-03-01T10:05:00.000Z"

READ_ONLY_FUZZ_SETTINGS = settings(
    # Examples may share a journal when they only read, and a contract is inherited by more than one class.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)


@asynccontextmanager
async def open_storage(
    path: str | Path, *, lock_timeout: float = PATIENCE, migrations: Sequence[Migration] = MIGRATIONS
) -> AsyncIterator[SqliteStorage]:
    """Open a SQLite journal and close it: one left open would keep the test run alive."""
    storage = await SqliteStorage.open(path, lock_timeout=lock_timeout, migrations=migrations)
    try:
        yield storage
    finally:
        await storage.close()


@asynccontextmanager
async def open_postgres_storage(
    address: str, *, patience: float = PATIENCE
) -> AsyncIterator["PostgresStorage"]:
    from storage.postgres import PostgresStorage  # noqa: PLC0415  (it may be missing)

    storage = await PostgresStorage.open(address, patience=patience)
    try:
        yield storage
    finally:
        await storage.close()


@asynccontextmanager
async def hold_statement(storage: "PostgresStorage", statement: str) -> AsyncIterator[None]:
    """While this is open a transaction has run this statement, and is not over."""
    held, may_end = asyncio.Event(), asyncio.Event()

    async def run(session: Session) -> None:
        await session.fetch(statement)
        held.set()
        await may_end.wait()

    holding = asyncio.create_task(storage.database.transact(run))
    await held.wait()
    try:
        yield
    finally:
        may_end.set()
        await asyncio.wait([holding])


async def wait_for_locks(storage: "PostgresStorage", number: int) -> None:
    """Until so many wait for a lock."""
    waiting = "select count(*) from pg_locks where not granted"
    async with asyncio.timeout(PATIENCE):
        while (await storage.database.fetch(waiting))[0] < (number,):
            await wait_before_next_poll()


@asynccontextmanager
async def keep_busy(storage: "PostgresStorage") -> AsyncIterator[None]:
    """While this is open the server answers, and whoever asks waits two seconds for a connection, or for none."""
    from storage.postgres.connections.pool import MAX_CONNECTIONS  # noqa: PLC0415  (likewise)

    async def ask() -> None:
        while True:
            await storage.database.fetch("select pg_sleep(0.1)", wait=60)

    async with asyncio.TaskGroup() as tasks:
        asking = [tasks.create_task(ask()) for _ in range(20 * MAX_CONNECTIONS)]
        await anyio.lowlevel.checkpoint()  # they ask first
        try:
            yield
        finally:
            for one in asking:
                one.cancel()


@asynccontextmanager
async def open_any_storage(database: str | Path) -> AsyncIterator[Storage]:
    """Open the journal of a path, or of the address of a PostgreSQL database."""
    is_postgres = is_address(str(database))
    async with open_postgres_storage(str(database)) if is_postgres else open_storage(database) as storage:
        yield storage


async def append_entries(
    storage: Storage,
    stream: str,
    after: int,
    *bodies: Mapping[str, Any],
    summary: StreamSummary | None = None,
) -> list[Entry]:
    return await storage.journal.append(
        stream, after=after, at=AT, actor="alice", bodies=bodies, summary=summary
    )


async def create_stream(storage: Storage, stream: str, search_text: str, *, status: str = "running") -> None:
    await append_entries(storage, stream, 0, {}, summary=StreamSummary(stream, status, {}, search_text))


async def find_streams(
    storage: Storage,
    query: str = "",
    *,
    before: int = 0,
    limit: int = 20,
    owner: str | None = None,
    **only: Any,
) -> list[str]:
    """`only`: the fields of `StreamFilter`."""
    found = await storage.lists.find(query, StreamFilter(**only), before=before, limit=limit, owner=owner)
    return [listed.stream for listed in found]


async def get_listing(storage: Storage, stream: str) -> StreamListing | None:
    """A stream as lists show it; None if they do not."""
    return next((listed for listed in await storage.lists.find() if listed.stream == stream), None)
