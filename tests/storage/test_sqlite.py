import asyncio
import fcntl
import os
import resource
import sqlite3
import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from storage.errors import ConflictError, StorageError
from storage.sqlite import SqliteStorage
from storage.sqlite.connections.connection import require_sqlite
from storage.sqlite.connections.database_file import is_missing
from storage.streams import Amount, StreamSummary
from tests.contract.journal_helpers import (
    append_entries,
    find_streams,
    get_listing,
    open_storage,
)
from tests.support.held_databases import hold_database
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll


async def writer(path: Path, stream: str, count: int, by: str) -> asyncio.subprocess.Process:
    arguments = ("-m", "tests.support.processes.journal_writer", str(path), stream, str(count), by)
    return await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )


def commits(log: Path) -> int:
    """How many transactions are in a write-ahead log: the last frame of each tells the size of the file."""
    content = log.read_bytes()
    page_size, header = int.from_bytes(content[8:12], "big"), 24
    frames = range(32, len(content), header + page_size)
    return sum(any(content[frame + 4 : frame + 8]) for frame in frames)


@pytest.mark.requirement("M3")
@pytest.mark.asyncio
class TestSurviving:
    async def test_everything_is_there_after_it_is_opened_again(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        async with open_storage(path) as storage:
            entries = await append_entries(
                storage, "s", 0, {"n": 1}, summary=StreamSummary("t", "running", {"k": 1}, "cats")
            )
            listed = await get_listing(storage, "s")
            changes = await storage.journal.find_changes(0)
            await storage.leases.acquire("s", "me", now=100, seconds=10)

        async with open_storage(path) as storage:
            assert await storage.journal.read("s") == entries
            assert await storage.lists.find("cats") == [listed]
            assert await storage.journal.find_changes(0) == changes
            assert await storage.leases.acquire("s", "you", now=101, seconds=10) == "me"
            await append_entries(storage, "s", 1, {"n": 2})

    @pytest.mark.requirement("N8")
    async def test_every_acknowledged_entry_outlives_a_kill(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        async with asyncio.timeout(PATIENCE):
            child = await writer(path, "s", 0, "child")
            assert child.stdout
            for _ in range(25):
                await child.stdout.readline()
            child.kill()
            rest = (await child.stdout.read()).decode()
            await child.wait()

        acknowledged = 25 + len(rest.splitlines()) - (not rest.endswith("\n") if rest else 0)
        async with open_storage(path) as storage:
            entries = await storage.journal.read("s")
            assert [e.body["n"] for e in entries] == list(range(len(entries)))
            assert acknowledged <= len(entries) <= acknowledged + 1
            await append_entries(storage, "s", len(entries), {"n": "next"})

    async def test_what_waits_is_written_before_it_closes(self, tmp_path: Path) -> None:
        storage = await SqliteStorage.open(tmp_path / "a.db")
        appends = [asyncio.create_task(append_entries(storage, f"s{n}", 0, {})) for n in range(5)]
        await checkpoint()
        await storage.close()
        await asyncio.gather(*appends)

        async with open_storage(tmp_path / "a.db") as storage:
            assert len(await storage.lists.find()) == 5

    async def test_appends_at_the_same_time_share_a_transaction(self, tmp_path: Path) -> None:
        async with open_storage(tmp_path / "a.db") as storage:
            before = commits(tmp_path / "a.db-wal")
            await append_entries(storage, "alone", 0, {})
            assert commits(tmp_path / "a.db-wal") == before + 1
            await asyncio.gather(*(append_entries(storage, f"s{n}", 0, {}) for n in range(200)))
            assert commits(tmp_path / "a.db-wal") == before + 2

    async def test_a_usual_append_is_one_statement(self, tmp_path: Path) -> None:
        async with open_storage(tmp_path / "a.db") as storage:
            run: list[str] = []
            await storage.database.writer._db.set_trace_callback(run.append)
            await append_entries(storage, "s", 0, {}, summary=StreamSummary("t", "running", {}, "words"))
            await append_entries(storage, "s", 1, {}, {}, summary=StreamSummary("t", "concluded", {}))
            await asyncio.gather(
                *(append_entries(storage, stream, n, {}) for stream, n in (("s", 3), ("t", 0)))
            )

        # Pythons differ in what they tell of a trigger: nothing, a comment, or the statement once more.
        # The full-text index adds statements of its own.
        foreign = ("'words_", "data_version")
        told = [sql for sql in run if not sql.startswith("--") and not any(part in sql for part in foreign)]
        ours = {sql.split(" (")[0] for sql in told}
        assert ours == {"insert into appended"}


@pytest.mark.requirement("N8")
@pytest.mark.asyncio
class TestSharing:
    async def test_two_journals_see_each_others_writes_conflicts_and_leases(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        async with open_storage(path) as one, open_storage(path) as two:
            position, _ = await two.journal.find_changes(-1)
            entries = await append_entries(one, "s", 0, {}, summary=StreamSummary("t", "running", {}, "cats"))

            assert await two.journal.read("s") == entries
            assert (await two.journal.head("s"))[0] == 1
            assert await find_streams(two, "cats") == ["s"]
            assert await two.journal.find_changes(position) == (position + 1, ["s"])
            with pytest.raises(ConflictError):
                await append_entries(two, "s", 0, {})
            await append_entries(two, "s", 1, {})
            with pytest.raises(ConflictError):
                await append_entries(one, "s", 1, {})
            assert await one.leases.acquire("s", "one", now=100, seconds=10) == "one"
            assert await two.leases.acquire("s", "two", now=100, seconds=10) == "one"

    async def test_what_another_wrote_meanwhile_fails_only_who_is_late(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        async with open_storage(path) as one, open_storage(path) as two:
            for stream in ("late", "first", "on"):
                await append_entries(
                    one, stream, 0, {}, summary=StreamSummary(stream, "running", {}, "early")
                )
            await append_entries(two, "late", 1, {}, summary=StreamSummary("late", "running", {}, "theirs"))
            await append_entries(two, "on", 1, {})
            position, _ = await two.journal.find_changes(-1)

            outcomes = await asyncio.gather(
                append_entries(
                    one, "first", 1, {}, {}, summary=StreamSummary("first", "running", {}, "ours")
                ),
                append_entries(one, "late", 1, {}, summary=StreamSummary("late", "running", {}, "ours")),
                append_entries(one, "on", 2, {}),
                append_entries(one, "new", 0, {}, summary=StreamSummary("new", "running", {}, "ours")),
                return_exceptions=True,
            )

            assert [type(outcome) for outcome in outcomes] == [list, ConflictError, list, list]
            assert await two.journal.find_changes(position) == (position + 4, ["first", "on", "new"])
            assert [len(await two.journal.read(s)) for s in ("late", "first", "on", "new")] == [2, 3, 3, 1]
            assert await find_streams(two, "ours") == ["new", "first"]
            assert await find_streams(two, "theirs") == ["late"]
            assert [listed.number for listed in await two.lists.find()] == [4, 3, 2, 1]

    async def test_who_finds_the_file_locked_writes_before_those_who_ask_later(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        async with open_storage(path) as early, open_storage(path) as late:

            async def write_without_pause() -> None:
                for n in range(50):
                    await append_entries(late, "late", n, {})

            attempts: list[str] = []
            await early.database.writer._db.set_trace_callback(attempts.append)
            with hold_database(str(path)):
                appends: list[asyncio.Task[object]] = [
                    asyncio.create_task(append_entries(early, "early", 0, {}))
                ]
                while len(attempts) < 5:
                    await wait_before_next_poll()
                appends.append(asyncio.create_task(write_without_pause()))
                await wait_before_next_poll()
            await asyncio.gather(*appends)

            (first,) = await early.database.read("select stream from journal order by position limit 1")
            assert first == ("early",)

    async def test_who_waits_and_never_writes_holds_up_the_others_for_a_moment_only(
        self, tmp_path: Path
    ) -> None:
        async with open_storage(tmp_path / "a.db") as storage:
            with (tmp_path / "a.db-wal").open() as log:  # as a process that was stopped while it waited
                fcntl.flock(log, fcntl.LOCK_EX)
                await append_entries(storage, "s", 0, {})

    @pytest.mark.full
    async def test_two_processes_on_a_new_file_lose_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "a.db"
        async with asyncio.timeout(2 * PATIENCE):
            children = [await writer(path, "shared", 100, by) for by in ("one", "two")]
            outputs = [(await child.communicate())[0].split() for child in children]

        assert sorted(int(seq) for output in outputs for seq in output) == list(range(1, 201))
        async with open_storage(path) as storage:
            entries = await storage.journal.read("shared")
        for by, output in zip(("one", "two"), outputs, strict=True):
            assert [e.seq for e in entries if e.body["by"] == by] == [int(seq) for seq in output]
            assert [e.body["n"] for e in entries if e.body["by"] == by] == list(range(100))


@pytest.mark.requirement("M3")
@pytest.mark.asyncio
class TestRefusing:
    async def test_it_makes_its_directory_for_this_user_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "deep" / "down" / "a.db"
        async with open_storage(path) as storage:
            await append_entries(storage, "s", 0, {})
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.stat().st_mode & 0o077 == 0

    async def test_a_file_that_is_no_database_is_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "letter.txt"
        path.write_text("Dear Sir or Madam, " * 100)
        with pytest.raises(StorageError, match=r"letter\.txt is not an SQLite database"):
            await SqliteStorage.open(path)
        assert path.read_text() == "Dear Sir or Madam, " * 100

    async def test_a_directory_is_no_database(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match=r"cannot be opened, name another .*: it is not a file"):
            await SqliteStorage.open(tmp_path)

    async def test_a_directory_that_cannot_be_made_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(StorageError, match=r"file/a\.db cannot be opened, name another .*: File exists"):
            await SqliteStorage.open(tmp_path / "file" / "a.db")

    async def test_a_read_only_database_can_be_read_and_says_that_it_is(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        async with open_storage(path) as storage:
            entries = await append_entries(storage, "s", 0, {})
        # A write version that SQLite does not know makes it read-only, for root too.
        content = bytearray(path.read_bytes())
        content[18] = 3
        path.write_bytes(content)

        async with open_storage(path) as storage:
            assert await storage.journal.read("s") == entries
            with pytest.raises(StorageError, match="is read-only"):
                await append_entries(storage, "s", 1, {})
            with pytest.raises(StorageError, match="is read-only"):
                await storage.leases.acquire("s", "me", now=0, seconds=1)

    async def test_a_locked_database_fails_all_who_wait_and_works_later(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        async with open_storage(path, lock_timeout=0.05) as storage:
            with closing(sqlite3.connect(path)) as other:
                other.execute("begin immediate")
                outcomes = await asyncio.gather(
                    append_entries(storage, "a", 0, {}),
                    append_entries(storage, "b", 0, {}),
                    return_exceptions=True,
                )
                assert await storage.journal.read("a") == []

            assert [isinstance(outcome, StorageError) for outcome in outcomes] == [True, True]
            assert all("is locked by another program" in str(outcome) for outcome in outcomes)
            await append_entries(storage, "a", 0, {})

    async def test_a_new_database_that_stays_locked_is_not_waited_for_for_ever(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        with closing(sqlite3.connect(path)) as other:
            other.execute("begin exclusive")
            with pytest.raises(StorageError, match="is locked by another program"):
                await SqliteStorage.open(path, lock_timeout=0.1)

    async def test_a_full_disk_loses_only_what_does_not_fit(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        files = [path, tmp_path / "a.db-wal", tmp_path / "a.db-shm"]
        async with open_storage(path) as storage:
            entries = await append_entries(storage, "s", 0, {})
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            largest = max(file.stat().st_size for file in files)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, limits[1]))
            try:
                with pytest.raises(StorageError, match="disk"):
                    await append_entries(storage, "s", 1, {"big": "x" * 100_000})
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)

            assert await storage.journal.read("s") == entries
            await append_entries(storage, "s", 1, {"big": "x" * 100_000})

    async def test_a_closed_journal_says_so_and_closes_twice(self, tmp_path: Path) -> None:
        storage = await SqliteStorage.open(tmp_path / "a.db")
        await storage.close()
        await storage.close()
        with pytest.raises(StorageError, match="was closed"):
            await storage.journal.read("s")
        with pytest.raises(StorageError, match="was closed"):
            await append_entries(storage, "s", 0, {})

    async def test_an_opening_that_is_cancelled_leaves_nothing_open(self, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / "a.db")) as other:
            other.execute("begin exclusive")
            with anyio.move_on_after(0.05) as scope:
                await SqliteStorage.open(tmp_path / "a.db")
            assert scope.cancelled_caught
        async with open_storage(tmp_path / "a.db") as storage:
            await append_entries(storage, "s", 0, {})

    @pytest.mark.parametrize("statement", ["update journal set entry = '{}'", "delete from journal"])
    async def test_the_database_itself_refuses_to_change_entries(
        self, tmp_path: Path, statement: str
    ) -> None:
        async with open_storage(tmp_path / "a.db") as storage:
            entries = await append_entries(storage, "s", 0, {})
            with (
                closing(sqlite3.connect(tmp_path / "a.db")) as other,
                pytest.raises(sqlite3.IntegrityError, match="entries are written once"),
            ):
                other.execute(statement)
            assert await storage.journal.read("s") == entries

    @pytest.mark.parametrize(
        "damage", ["details = '{'", "details = '[]'", "details = cast(X'FF' as text)", "details = ''"]
    )
    async def test_a_broken_heading_says_so_and_hides_no_other(self, tmp_path: Path, damage: str) -> None:
        async with open_storage(tmp_path / "a.db") as storage:
            await append_entries(storage, "s", 0, {}, summary=StreamSummary("whole", "open", {}))
            await append_entries(storage, "t", 0, {}, summary=StreamSummary("hurt", "open", {}))
            with closing(sqlite3.connect(tmp_path / "a.db")) as other, other:
                other.execute(f"update stream set {damage} where name = 't'")  # noqa: S608  (our own words)
            hurt, whole = await storage.lists.find()
        assert (whole.title, whole.details) == ("whole", {})
        assert (hurt.stream, hurt.title, hurt.details) == ("t", "(damaged summary) hurt", {})

    async def test_a_broken_cost_counts_as_nothing_and_stops_no_append(self, tmp_path: Path) -> None:
        heading = StreamSummary("t", "open", {}, spending={"2026-01-01": Amount(1, Decimal("0.5"))})
        async with open_storage(tmp_path / "a.db") as storage:
            await append_entries(storage, "s", 0, {}, summary=heading)
            for table in ("spending", "daily_spending"):
                with closing(sqlite3.connect(tmp_path / "a.db")) as other, other:
                    other.execute(f"update {table} set cost = 'half'")  # noqa: S608  (our own words)
            assert await storage.spending.find("2026-01-01", now=0) == (Amount(1), Amount())
            await append_entries(storage, "s", 1, {}, summary=heading)
            assert await storage.spending.find("2026-01-01", now=0) == (Amount(1, Decimal("0.5")), Amount())

    async def test_a_title_that_is_no_text_any_more_is_shown_as_far_as_it_can_be(
        self, tmp_path: Path
    ) -> None:
        async with open_storage(tmp_path / "a.db") as storage:
            await append_entries(storage, "s", 0, {}, summary=StreamSummary("whole", "open", {}))
            with closing(sqlite3.connect(tmp_path / "a.db")) as other, other:
                other.execute("update stream set title = cast(X'6F6BFF' as text)")
            assert [row.title for row in await storage.lists.find()] == ["ok\ufffd"]


@pytest.mark.requirement("M3")
@pytest.mark.parametrize(
    ("version", "module", "message"),
    [
        ((3, 31, 1), "fts5", r"has SQLite 3\.31\.1, and 3\.37\.0 or newer is needed"),
        ((3, 37, 0), "json_each", "FTS5"),
    ],
)
def test_what_an_sqlite_lacks_is_named(version: tuple[int, ...], module: str, message: str) -> None:
    with pytest.raises(StorageError, match=message):
        require_sqlite(version, [module])


@pytest.mark.requirement("M3")
@pytest.mark.anyio
async def test_a_database_is_missing_until_something_is_stored_in_the_file_or_its_log(tmp_path: Path) -> None:
    path = tmp_path / "debates.db"
    assert is_missing(path)
    path.touch()
    assert is_missing(path)
    async with open_storage(str(path)) as storage:
        await append_entries(storage, "s", 0, {})
        assert not is_missing(path)
    os.truncate(path, 0)
    assert is_missing(path)
    (tmp_path / "debates.db-wal").write_bytes(b"x")
    assert not is_missing(path)
