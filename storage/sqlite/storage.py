"""A database of debates in one SQLite file."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import anyio

from storage.errors import OutageError, StorageError
from storage.migrations import SELECT_APPLIED, Migration, require_release
from storage.sqlite.connections.connection import Connection
from storage.sqlite.connections.database import SqliteDatabase
from storage.sqlite.journal import PREPARE_WRITER, SqliteJournal, add_costs
from storage.sqlite.ledger import SqliteLedger
from storage.sqlite.migrations import MIGRATIONS, list_programs, migrate
from storage.sqlite.search import SqliteSearchIndex
from storage.storage import Storage

LOCK_TIMEOUT = 30.0  # seconds
CHECKPOINT_DELAY = 0.02  # seconds, for others that are asked for meanwhile


class SqliteStorage(Storage):
    database: SqliteDatabase

    def __init__(self, database: SqliteDatabase, release: int) -> None:
        journal = SqliteJournal(database, database.lock_timeout)
        super().__init__(database, journal, SqliteSearchIndex(database), SqliteLedger(database))
        self._release = release
        self._checkpoint_task: asyncio.Task[None] | None = None
        self._wants_checkpoint = False
        self._closing = anyio.Event()

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        lock_timeout: float = LOCK_TIMEOUT,
        migrations: Sequence[Migration] = MIGRATIONS,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Open or create a file, or ":memory:". Every call waits up to `lock_timeout` seconds for the lock.

        `clock`: Unix time, for leases.

        Raises:
            StorageError: it cannot be opened, is not a journal, or belongs to a newer release.
        """

        async def prepare(writer: Connection) -> None:
            await migrate(writer, migrations, str(path))
            await writer.create_function("add_costs", add_costs)
            for statement in PREPARE_WRITER:
                await writer.fetch_all(statement)

        programs = list_programs(migrations)
        database = await SqliteDatabase.open(
            str(path), prepare=prepare, lock_timeout=lock_timeout, programs=programs, clock=clock
        )
        return cls(database, migrations[-1].release)

    def check_presence(self) -> None:
        self.database.check()

    async def probe(self, seconds: float) -> None:
        self.check_presence()
        try:
            with anyio.fail_after(seconds):
                releases = await self.database.read(SELECT_APPLIED)
        except TimeoutError:
            raise OutageError(f"the database {self.database.path} did not answer in time") from None
        require_release(dict(releases), self._release, self.database.path)

    async def reopen(self, before_another: Callable[[], Awaitable[None]]) -> bool:
        is_another = await self.database.reopen(before_another)
        if is_another:
            self.journal.forget_heads()
        return is_another

    def checkpoint_soon(self) -> None:
        self._wants_checkpoint = True
        if self._checkpoint_task is None or self._checkpoint_task.done():
            self._checkpoint_task = asyncio.create_task(self._checkpoint(), name="checkpoint")

    async def _checkpoint(self) -> None:
        while self._wants_checkpoint:
            with anyio.move_on_after(CHECKPOINT_DELAY):
                await self._closing.wait()
            self._wants_checkpoint = False
            with suppress(StorageError):  # a full disk or a lock: the next one copies all of it
                await self.database.checkpoint()

    async def find_problems(self) -> list[str]:
        problems = [str(text) for (text,) in await self.database.read("pragma integrity_check(10)")]
        return [] if problems == ["ok"] else problems

    async def close(self) -> None:
        self._closing.set()
        with anyio.CancelScope(shield=True):
            await self.journal.finish_appends()
            if self._checkpoint_task:
                await asyncio.wait([self._checkpoint_task])
            self.index.tokenizer.close()
            await self.database.close()


async def upgrade(
    path: str | Path, *, lock_timeout: float = LOCK_TIMEOUT, migrations: Sequence[Migration] = MIGRATIONS
) -> list[str]:
    """Apply all migrations that are missing, those too that end older releases. Returns their names.

    Raises StorageError.
    """
    names: list[str] = []

    async def prepare(writer: Connection) -> None:
        names.extend(await migrate(writer, migrations, str(path), every=True))

    programs = list_programs(migrations)
    database = await SqliteDatabase.open(
        str(path), prepare=prepare, lock_timeout=lock_timeout, programs=programs, clock=time.time
    )
    await database.close()
    return names
