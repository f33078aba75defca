from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from storage.migrations import MIGRATIONS, Migration
from storage.sqlite import SqliteJournal
from tests.contract.journal_helpers import TIMEOUT


@asynccontextmanager
async def open_journal(
    path: str | Path, *, lock_timeout: float = TIMEOUT, migrations: Sequence[Migration] = MIGRATIONS
) -> AsyncIterator[SqliteJournal]:
    """A journal that is closed whatever happens: one left open would keep the test run alive."""
    journal = await SqliteJournal.open(path, lock_timeout=lock_timeout, migrations=migrations)
    try:
        yield journal
    finally:
        await journal.close()
