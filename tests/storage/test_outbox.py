import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from storage.contract.outbox import Outbox, ReaderPosition
from storage.sqlite import SqliteJournal
from tests.contract.journal_helpers import open_journal
from tests.contract.outbox import OutboxContract, build_item, take_all
from tests.support.patience import PATIENCE


@pytest_asyncio.fixture
async def outbox(journal: SqliteJournal) -> Outbox:
    return journal.outbox


class TestEveryDatabase(OutboxContract):
    pass


@pytest.mark.requirement("D6")
@pytest.mark.asyncio
class TestAcrossProcesses:
    async def test_what_is_put_is_there_after_it_is_opened_again(self, tmp_path: Path) -> None:
        async with open_journal(tmp_path / "a.db") as journal:
            await journal.outbox.register("r")
            await journal.outbox.put(["r"], 3, [build_item(1), build_item(3)])

        async with open_journal(tmp_path / "a.db") as journal:
            assert await journal.outbox.register("r") == ReaderPosition(0, 3)
            assert await take_all(journal.outbox) == ["r-1-0e", "r-3-0e"]

    async def test_two_connections_share_one_outbox(self, tmp_path: Path) -> None:
        async with open_journal(tmp_path / "a.db") as one, open_journal(tmp_path / "a.db") as two:
            for journal in (one, two):
                await journal.outbox.register("r")
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(
                    one.outbox.put(["r"], 3, [build_item(1), build_item(2), build_item(3)]),
                    two.outbox.put(["r"], 2, [build_item(1), build_item(2)]),
                )
            assert await take_all(two.outbox) == ["r-1-0e", "r-2-0e", "r-3-0e"]
            assert await one.outbox.due_queues(100) == []
