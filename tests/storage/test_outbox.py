import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from storage.outbox import Outbox
from storage.sqlite import SqliteStorage
from tests.contract.journal_helpers import open_storage
from tests.contract.outbox import OutboxContract, build_item, take_all
from tests.support.patience import PATIENCE


@pytest_asyncio.fixture
async def outbox(storage: SqliteStorage) -> Outbox:
    return storage.outbox


class TestEveryDatabase(OutboxContract):
    pass


@pytest.mark.requirement("D6")
@pytest.mark.asyncio
class TestAcrossProcesses:
    async def test_two_connections_share_one_outbox(self, tmp_path: Path) -> None:
        async with open_storage(tmp_path / "a.db") as one, open_storage(tmp_path / "a.db") as two:
            for storage in (one, two):
                await storage.outbox.register("r")
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(
                    one.outbox.put(["r"], 3, [build_item(1), build_item(2), build_item(3)]),
                    two.outbox.put(["r"], 2, [build_item(1), build_item(2)]),
                )
            assert await take_all(two.outbox) == ["r-1-0e", "r-2-0e", "r-3-0e"]
            assert await one.outbox.find_due_queues(100) == []
