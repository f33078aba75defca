from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from storage.migrations import MIGRATIONS, Migration
from storage.sqlite import SqliteJournal
from tests.contract.writing import PATIENCE


@asynccontextmanager
async def opened(
    path: str | Path, *, patience: float = PATIENCE, migrations: Sequence[Migration] = MIGRATIONS
) -> AsyncIterator[SqliteJournal]:
    """A journal that is closed whatever happens: one left open would keep the test run alive."""
    journal = await SqliteJournal.open(path, patience=patience, migrations=migrations)
    try:
        yield journal
    finally:
        await journal.close()
