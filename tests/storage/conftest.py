from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from storage.addresses import is_address
from storage.journal import Journal
from storage.postgres import PostgresJournal
from storage.sqlite import SqliteJournal
from tests.contract.journal_helpers import TIMEOUT


@pytest.fixture(params=["a.db", ":memory:", "postgresql"])
def any_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A path or an address of each kind of database."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_database"))
    return request.param if request.param == ":memory:" else str(tmp_path / "a.db")


@pytest_asyncio.fixture
async def journal(any_database: str) -> AsyncIterator[Journal]:
    opened: Journal = (
        await PostgresJournal.open(any_database, patience=TIMEOUT)
        if is_address(any_database)
        else await SqliteJournal.open(any_database, lock_timeout=TIMEOUT)
    )
    try:
        yield opened
    finally:
        await opened.close()
