"""A SQLite file that is not there any more, or is not what it was; and what holds up its log."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint

from storage.errors import OutageError, StorageError, StorageLostError
from storage.sqlite import SqliteStorage
from storage.streams import StreamSummary
from tests.contract.journal_helpers import append_entries, open_storage
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
    async with open_storage(directory / "a.db") as storage:
        entries = await append_entries(storage, "s", 0, {})
        make_unreachable(directory)
        for attempt in (
            storage.journal.read("s"),
            append_entries(storage, "s", 1, {}),
            storage.journal.head("s"),
        ):
            with pytest.raises(StorageLostError, match=r"a\.db could not be reached any more \(Too many"):
                await attempt
        make_reachable(directory)
        storage.check_presence()
        assert not await storage.reopen(stop)
        assert await storage.journal.read("s") == entries


async def test_a_probe_tells_a_file_that_does_not_answer_in_time_from_one_that_is_gone(
    tmp_path: Path,
) -> None:
    async with open_storage(tmp_path / "a.db") as storage:
        with pytest.raises(OutageError, match=r"a\.db did not answer in time"):
            await storage.probe(0)
        (tmp_path / "a.db").unlink()
        with pytest.raises(StorageLostError, match=r"a\.db was deleted or moved away"):
            await storage.probe(0)


async def test_while_nothing_can_be_opened_it_stays_lost_and_says_why(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    async with open_storage(directory / "a.db") as storage:
        await append_entries(storage, "s", 0, {})
        make_unreachable(directory)
        for _ in range(2):
            with pytest.raises(StorageError, match=r"a\.db"):
                await storage.reopen(stop)
            with pytest.raises(StorageLostError, match=r"a\.db"):
                storage.check_presence()
        make_reachable(directory)
        assert await storage.reopen(stop)
        storage.check_presence()
        assert len(await storage.journal.read("s")) == 1


async def test_while_another_is_opened_nothing_counts_as_present(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with open_storage(path) as storage:
        for number in range(40):
            await append_entries(storage, f"s{number}", 0, {"text": "x" * 2000})
        storage.checkpoint_soon()
        while path.stat().st_size < 80_000:
            await wait_before_next_poll()
        # In the log: closing the old file copies it to the end of that, which is as long as before then.
        await append_entries(storage, "late", 0, {"text": "x" * 20_000})
        os.truncate(path, path.stat().st_size - 8192)
        opening = asyncio.create_task(storage.reopen(stop))
        while not opening.done():
            with pytest.raises(StorageLostError):
                storage.check_presence()
            await checkpoint()
        with pytest.raises(StorageError, match=r"a\.db"):
            await opening
        with pytest.raises(StorageLostError, match=r"a\.db"):
            storage.check_presence()


async def test_what_a_lost_file_took_is_not_said_to_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with open_storage(path) as storage:
        await append_entries(storage, "s", 0, {})
        # The file goes while the statement runs.
        await storage.database.writer._db.set_trace_callback(lambda _sql: path.unlink(missing_ok=True))
        with pytest.raises(StorageLostError, match="was deleted or moved away while it was open"):
            await append_entries(storage, "s", 1, {})


async def test_an_old_log_gets_into_no_new_file_and_is_kept(tmp_path: Path) -> None:
    path, other = tmp_path / "a.db", tmp_path / "other.db"
    async with open_storage(other) as storage:
        await append_entries(storage, "other", 0, {})
    async with open_storage(path) as storage:
        for number in range(30):
            await append_entries(storage, f"s{number}", 0, {"text": "x" * 1000})
        other.replace(path)
        assert await storage.reopen(stop)
        assert [row.stream for row in await storage.lists.find()] == ["other"]
        await append_entries(storage, "new", 0, {})
    async with open_storage(path) as storage:
        assert await storage.journal.list_streams() == ["other", "new"]
        assert await storage.find_problems() == []
    kept = [name for name in os.listdir(tmp_path) if ".lost-" in name]  # noqa: PTH208
    assert sorted(name.rpartition("-")[2] for name in kept) == ["shm", "wal"]


async def test_a_reader_in_the_middle_of_the_log_holds_up_no_checkpoint_for_long(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with open_storage(path) as storage:
        await append_entries(storage, "s", 0, {})
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin")
            other.execute("select count(*) from journal").fetchone()
            await append_entries(storage, "s", 1, {})
            storage.checkpoint_soon()
            await storage.close()  # waits for the checkpoint
    async with open_storage(path) as storage:
        assert len(await storage.journal.read("s")) == 2


async def make_with_broken_index(path: Path) -> None:
    async with open_storage(path) as storage:
        await append_entries(storage, "s", 0, {}, summary=StreamSummary("title", "status", {}))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("pragma writable_schema = on")
        db.execute(
            "update sqlite_schema set sql = replace(sql, '(status', '(title') where name = 'stream_by_status'"
        )


async def test_rows_that_an_index_lacks_are_found(tmp_path: Path) -> None:
    await make_with_broken_index(tmp_path / "a.db")
    async with open_storage(tmp_path / "a.db") as storage:
        assert "stream_by_status" in " ".join(await storage.find_problems())


async def test_a_file_that_is_not_whole_does_not_take_the_place_of_a_lost_one(tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    async with open_storage(broken) as storage:
        for number in range(40):
            await append_entries(storage, f"s{number}", 0, {"text": "x" * 2000})
    with broken.open("r+b") as file:
        file.seek(-4096 * 2, os.SEEK_END)
        file.write(b"\xff" * 4096)
    async with open_storage(tmp_path / "a.db") as storage:
        broken.replace(tmp_path / "a.db")
        with pytest.raises(StorageError, match=r"a\.db is damaged, restore it from a backup"):
            await storage.reopen(stop)
        with pytest.raises(StorageError, match="is damaged"):
            storage.check_presence()


async def test_a_server_that_shares_a_deleted_log_loses_nothing_of_the_other(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with open_storage(path) as one, open_storage(path) as two:
        await append_entries(one, "one", 0, {}, {})
        await append_entries(two, "two", 0, {}, {})
        Path(f"{path}-wal").unlink()  # noqa: ASYNC240
        for storage in (one, two):
            with pytest.raises(StorageLostError, match=r"lost its file a\.db-wal"):
                await append_entries(storage, "three", 0, {})
        for storage in (one, two):
            assert not await storage.reopen(stop)
        await append_entries(one, "one", 2, {})
        await append_entries(two, "two", 2, {})
        for storage in (one, two):
            assert [len(await storage.journal.read(stream)) for stream in ("one", "two")] == [3, 3]
    async with open_storage(path) as storage:
        assert isinstance(storage, SqliteStorage)
        assert await storage.find_problems() == []
