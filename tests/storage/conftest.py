from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from storage.sqlite import SqliteJournal
from tests.contract.journal_helpers import open_journal


@pytest_asyncio.fixture(params=["a.db", ":memory:"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqliteJournal]:
    async with open_journal(request.param if request.param == ":memory:" else tmp_path / "a.db") as journal:
        yield journal
