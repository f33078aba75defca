from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from storage.storage import Storage
from tests.contract.journal_helpers import open_any_storage


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.full)])
def any_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A path or an address of each kind of database."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_database"))
    return str(tmp_path / "a.db")


@pytest_asyncio.fixture
async def storage(any_database: str) -> AsyncIterator[Storage]:
    async with open_any_storage(any_database) as opened:
        yield opened
