"""A SQLite file that is not there any more, or is not what it was; and what holds up its log."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint

from storage.contract.errors import OutageError, StorageError, StorageLostError
from storage.contract.streams import StreamSummary
from storage.sqlite import SqliteJournal
from tests.contract.journal_helpers import append_entries, open_journal
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N27")]


async def stop() -> None:
    """There are no runs to be stopped."""


def make_unreachable(directory: Path) -> None:
    """Let every path into a directory end in an error that says nothing of the file."""
    directory.rename(directory.with_name("away"))
    directory.symlink_to(directory)


def make_reachable(directory: Path) -> None:
    directory.unlink()
    directory.with_name("away").rename(directory)


async def test_a_file_that_cannot_be_reached_is_lost_until_it_can(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    async with open_journal(directory / "a.db") as journal:
        entries = await append_entries(journal, "s", 0, {})
        make_unreachable(directory)
        for attempt in (journal.read("s"), append_entries(journal, "s", 1, {}), journal.head("s")):
            with pytest.raises(StorageLostError, match=r"a\.db could not be reached any more \(Too many"):
                await attempt
        make_reachable(directory)
        journal.check_presence()
        assert not await journal.reopen(stop)
        assert await journal.read("s") == entries


async def test_a_probe_tells_a_file_that_does_not_answer_in_time_from_one_that_is_gone(
    tmp_path: Path,
) -> None:
    async with open_journal(tmp_path / "a.db") as journal:
        with pytest.raises(OutageError, match=r"a\.db did not answer in time"):
            await journal.probe(0)
        (tmp_path / "a.db").unlink()
        with pytest.raises(StorageLostError, match=r"a\.db was deleted or moved away"):
            await journal.probe(0)


async def test_while_nothing_can_be_opened_it_stays_lost_and_says_why(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    async with open_journal(directory / "a.db") as journal:
        await append_entries(journal, "s", 0, {})
        make_unreachable(directory)
        for _ in range(2):
            with pytest.raises(StorageError, match=r"a\.db"):
                await journal.reopen(stop)
            with pytest.raises(StorageLostError, match=r"a\.db"):
                journal.check_presence()
        make_reachable(directory)
        assert await journal.reopen(stop)
        journal.check_presence()
        assert len(await journal.read("s")) == 1


async def test_while_another_is_opened_nothing_counts_as_present(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with open_journal(path) as journal:
        for number in range(40):
            await append_entries(journal, f"s{number}", 0, {"text": "x" * 2000})
        journal.checkpoint_soon()
        while path.stat().st_size < 80_000:
            await wait_before_next_poll()
        # In the log: closing the old file copies it to the end of that, which is as long as before then.
        await append_entries(journal, "late", 0, {"text": "x" * 20_000})
        os.truncate(path, path.stat().st_size - 8192)
        opening = asyncio.create_task(journal.reopen(stop))
        while not opening.done():
            with pytest.raises(StorageLostError):
                journal.check_presence()
            await checkpoint()
        with pytest.raises(StorageError, match=r"a\.db"):
            await opening
        with pytest.raises(StorageLostError, match=r"a\.db"):
            journal.check_presence()


async def test_what_a_lost_file_took_is_not_said_to_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with open_journal(path) as journal:
        await append_entries(journal, "s", 0, {})
        # The file goes while the statement runs.
        await journal._db.writer._db.set_trace_callback(lambda _sql: path.unlink(missing_ok=True))
        with pytest.raises(StorageLostError, match="was deleted or moved away while it was open"):
            await append_entries(journal, "s", 1, {})


async def test_an_old_log_gets_into_no_new_file_and_is_kept(tmp_path: Path) -> None:
    path, other = tmp_path / "a.db", tmp_path / "other.db"
    async with open_journal(other) as journal:
        await append_entries(journal, "other", 0, {})
    async with open_journal(path) as journal:
        for number in range(30):
            await append_entries(journal, f"s{number}", 0, {"text": "x" * 1000})
        other.replace(path)
        assert await journal.reopen(stop)
        assert [row.stream for row in await journal.find()] == ["other"]
        await append_entries(journal, "new", 0, {})
    async with open_journal(path) as journal:
        assert await journal.find_all_streams() == ["other", "new"]
        assert await journal.find_file_problems() == []
    kept = [name for name in os.listdir(tmp_path) if ".lost-" in name]  # noqa: PTH208
    assert sorted(name.rpartition("-")[2] for name in kept) == ["shm", "wal"]


async def test_a_reader_in_the_middle_of_the_log_holds_up_no_checkpoint_for_long(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with open_journal(path) as journal:
        await append_entries(journal, "s", 0, {})
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin")
            other.execute("select count(*) from journal").fetchone()
            await append_entries(journal, "s", 1, {})
            journal.checkpoint_soon()
            await journal.close()  # waits for the checkpoint
    async with open_journal(path) as journal:
        assert len(await journal.read("s")) == 2


async def make_with_broken_index(path: Path) -> None:
    async with open_journal(path) as journal:
        await append_entries(journal, "s", 0, {}, summary=StreamSummary("title", "status", {}))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("pragma writable_schema = on")
        db.execute(
            "update sqlite_schema set sql = replace(sql, '(status', '(title') where name = 'stream_by_status'"
        )


async def test_rows_that_an_index_lacks_are_found(tmp_path: Path) -> None:
    await make_with_broken_index(tmp_path / "a.db")
    async with open_journal(tmp_path / "a.db") as journal:
        assert "stream_by_status" in " ".join(await journal.find_file_problems())


async def test_a_file_that_is_not_whole_does_not_take_the_place_of_a_lost_one(tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    async with open_journal(broken) as journal:
        for number in range(40):
            await append_entries(journal, f"s{number}", 0, {"text": "x" * 2000})
    with broken.open("r+b") as file:
        file.seek(-4096 * 2, os.SEEK_END)
        file.write(b"\xff" * 4096)
    async with open_journal(tmp_path / "a.db") as journal:
        broken.replace(tmp_path / "a.db")
        with pytest.raises(StorageError, match=r"a\.db is damaged, restore it from a backup"):
            await journal.reopen(stop)
        with pytest.raises(StorageError, match="is damaged"):
            journal.check_presence()


async def test_a_server_that_shares_a_deleted_log_loses_nothing_of_the_other(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with open_journal(path) as one, open_journal(path) as two:
        await append_entries(one, "one", 0, {}, {})
        await append_entries(two, "two", 0, {}, {})
        Path(f"{path}-wal").unlink()  # noqa: ASYNC240
        for journal in (one, two):
            with pytest.raises(StorageLostError, match=r"lost its file a\.db-wal"):
                await append_entries(journal, "three", 0, {})
        for journal in (one, two):
            assert not await journal.reopen(stop)
        await append_entries(one, "one", 2, {})
        await append_entries(two, "two", 2, {})
        for journal in (one, two):
            assert [len(await journal.read(stream)) for stream in ("one", "two")] == [3, 3]
    async with open_journal(path) as journal:
        assert isinstance(journal, SqliteJournal)
        assert await journal.find_file_problems() == []
