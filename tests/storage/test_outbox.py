import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from storage.outbox import Outbox, ReaderPosition
from storage.sqlite import SqliteJournal
from tests.contract.journal_helpers import TIMEOUT, open_journal
from tests.contract.outbox import OutboxContract, build_item, claim_id


@pytest_asyncio.fixture
async def outbox(journal: SqliteJournal) -> Outbox:
    return journal.outbox


class TestInAFileAndInMemory(OutboxContract):
    pass


@pytest.mark.requirement("D6")
@pytest.mark.asyncio
class TestAcrossProcesses:
    async def test_what_is_put_is_there_after_it_is_opened_again(self, tmp_path: Path) -> None:
        async with open_journal(tmp_path / "a.db") as journal:
            await journal.outbox.register("r")
            await journal.outbox.put(["r"], 3, [build_item(1), build_item(3)])
            await claim_id(journal.outbox)

        async with open_journal(tmp_path / "a.db") as journal:
            assert await journal.outbox.register("r") == ReaderPosition(0, 3)
            assert await journal.outbox.owners() == {"me"}
            assert await claim_id(journal.outbox, owner="you", now=105) == "r-3-0"

    async def test_two_connections_share_one_outbox(self, tmp_path: Path) -> None:
        async with open_journal(tmp_path / "a.db") as one, open_journal(tmp_path / "a.db") as two:
            for journal in (one, two):
                await journal.outbox.register("r")
            async with asyncio.timeout(TIMEOUT):
                await asyncio.gather(
                    one.outbox.put(["r"], 3, [build_item(1), build_item(2), build_item(3)]),
                    two.outbox.put(["r"], 2, [build_item(1), build_item(2)]),
                )
                found = await asyncio.gather(
                    *(claim_id(journal.outbox, owner=name) for journal, name in ((one, "a"), (two, "b")) * 3)
                )
        assert sorted(found) == ["", "", "", "r-1-0", "r-2-0", "r-3-0"]
