"""A database of debates in PostgreSQL."""

from collections.abc import Sequence
from typing import Self

import anyio

from storage.migrations import SELECT_APPLIED, Migration, require_release
from storage.postgres.connections.pool import Password, PostgresDatabase
from storage.postgres.journal import PostgresJournal
from storage.postgres.ledger import PostgresLedger
from storage.postgres.migrations import MIGRATIONS, apply_migrations, check_server, prepare
from storage.postgres.search import PostgresSearchIndex
from storage.storage import Storage

PATIENCE = 30.0  # seconds

SELECT_LAST_POSITION = """
select value, (select coalesce(max(position), 0) from journal) from counter where name = 'journal'
"""


class PostgresStorage(Storage):
    database: PostgresDatabase

    def __init__(self, database: PostgresDatabase, release: int) -> None:
        index, ledger = PostgresSearchIndex(database), PostgresLedger(database)
        super().__init__(database, PostgresJournal(database, index, ledger), index, ledger)
        self._release = release

    @classmethod
    async def open(
        cls,
        address: str,
        *,
        password: Password | None = None,
        patience: float = PATIENCE,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> Self:
        """Use the database of an address. Every call waits up to `patience` seconds for the server, and for locks.

        Raises:
            StorageError: it cannot be used, is not one of ours, or belongs to a newer release.
        """
        database = await PostgresDatabase.open(address, password=password, patience=patience)
        try:
            database.is_read_only = await prepare(database, migrations)
            return cls(database, migrations[-1].release)
        except BaseException:
            await database.close()
            raise

    async def probe(self, seconds: float) -> None:
        releases = await self.database.fetch(SELECT_APPLIED, wait=seconds)
        require_release(dict(releases), self._release, self.database.name)

    async def find_problems(self) -> list[str]:
        """The server checks its own files; here is whether the journal ends where its position says."""
        [(position, last_entry)] = await self.database.read(SELECT_LAST_POSITION)
        return [] if last_entry <= position else [f"the journal has entries after its position {position}"]

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            await self.journal.finish_appends()
            self.index.tokenizer.close()
            await self.database.close()


async def upgrade(
    address: str,
    *,
    password: Password | None = None,
    patience: float = PATIENCE,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> list[str]:
    """Apply all migrations that are missing, those too that end older releases. Returns their names.

    Raises StorageError.
    """
    database = await PostgresDatabase.open(address, password=password, patience=patience)
    try:
        await check_server(database)
        return await apply_migrations(database, migrations, every=True)
    finally:
        await database.close()
