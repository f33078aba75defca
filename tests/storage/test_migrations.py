import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from storage.connection import Connection
from storage.journal import StorageError, StreamSummary
from storage.migrations import MIGRATIONS, Migration
from storage.outbox import ReaderPosition
from tests.contract.journal_helpers import TIMEOUT, append_entries, find_streams, open_journal
from tests.support.paths import GOLDEN

OLDEST = GOLDEN / "schema_001.sql"

NAMES = [migration.__name__ for migration in MIGRATIONS]

pytestmark = pytest.mark.requirement("M3")


async def m900_works(db: Connection) -> None:
    await db.fetch_all("create table later (what text) strict")
    await db.fetch_all("insert into later values ('applied')")


async def fails(db: Connection) -> None:
    await db.fetch_all("create table later (what text) strict")
    await db.fetch_all("insert into nowhere values (1)")


fails.__name__ = "m900_works"


async def m901_follows(db: Connection) -> None:
    await db.fetch_all("alter table later add column more text")


async def migrated(path: Path, *more: Migration) -> None:
    async with open_journal(path, migrations=(*MIGRATIONS, *more)):
        pass


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def names(path: Path) -> list[object]:
    return [name for (name,) in rows(path, "select name from migration order by name")]


@pytest.mark.asyncio
async def test_the_oldest_database_loads_verifies_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(OLDEST.read_text("utf-8"))

    async with open_journal(path) as journal:
        entries = await journal.read("d-golden")
        assert [(e.seq, e.actor, e.body["kind"]) for e in entries] == [
            (1, "user", "opened"),
            (2, "model", "spoke"),
            (3, "model", "ended"),
        ]
        assert entries[1].body["text"] == 'Zażółć "gęślą" jaźń\n\U0001f9ea'
        assert await find_streams(journal, "gesla jazn") == ["d-golden"]
        listed = await journal.get_listing("d-golden")
        assert listed
        assert (listed.number, listed.title, listed.status) == (1, "Is this kept?", "concluded")
        assert await journal.acquire_lease("d-golden", "other", now=1_800_000_000, seconds=1) == "server-1"

        await append_entries(
            journal, "d-golden", 3, {"kind": "appended"}, summary=StreamSummary("new", "running", {}, "fresh")
        )
        await append_entries(journal, "d-second", 0, {})
        assert len(await journal.read("d-golden")) == 4
        assert await find_streams(journal, "fresh") == ["d-golden"]
        assert await find_streams(journal) == ["d-second", "d-golden"]
        assert await journal.find_changes(3) == (5, ["d-golden", "d-second"])
        assert await journal.outbox.register("new") == ReaderPosition(5, 5)


@pytest.mark.asyncio
async def test_the_oldest_schema_is_what_the_first_migration_makes(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as db:
        db.executescript(OLDEST.read_text("utf-8"))
    async with open_journal(tmp_path / "new.db", migrations=MIGRATIONS[:1]):
        pass

    sql = "select name, sql from sqlite_master order by name"
    assert rows(tmp_path / "old.db", sql) == rows(tmp_path / "new.db", sql)


@pytest.mark.asyncio
async def test_each_migration_is_applied_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await migrated(path)
    await migrated(path, m900_works)
    await migrated(path, m900_works, m901_follows)
    await migrated(path, m900_works, m901_follows)

    assert names(path) == [*NAMES, "m900_works", "m901_follows"]
    assert rows(path, "select * from later") == [("applied", None)]


@pytest.mark.asyncio
async def test_a_failing_migration_leaves_nothing_and_stays_pending(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(StorageError, match="no such table: nowhere"):
        await migrated(path, fails, m901_follows)

    assert names(path) == NAMES
    assert rows(path, "select name from sqlite_master where name = 'later'") == []

    await migrated(path, m900_works, m901_follows)
    assert names(path) == [*NAMES, "m900_works", "m901_follows"]


@pytest.mark.asyncio
async def test_a_database_of_a_newer_release_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await migrated(path, m900_works)

    with pytest.raises(StorageError, match=r"newer release has written this database \(m900_works\)"):
        await migrated(path)
    assert names(path) == [*NAMES, "m900_works"]


@pytest.mark.asyncio
async def test_many_that_open_a_new_database_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with asyncio.timeout(TIMEOUT):
        await asyncio.gather(*(migrated(path, m900_works) for _ in range(8)))

    assert names(path) == [*NAMES, "m900_works"]
    assert rows(path, "select what from later") == [("applied",)]


@pytest.mark.asyncio
async def test_who_waited_for_anothers_migration_does_not_repeat_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    begun, seen = asyncio.Event(), asyncio.Event()

    async def slowly(db: Connection) -> None:
        begun.set()
        await seen.wait()
        await m900_works(db)

    slowly.__name__ = "m900_works"

    class Watched(tuple[Migration, ...]):
        """Tells when it is compared with what the database has."""

        __slots__ = ()

        def __iter__(self) -> Iterator[Migration]:
            seen.set()
            return super().__iter__()

    async with asyncio.timeout(TIMEOUT):
        first = asyncio.create_task(migrated(path, slowly))
        await begun.wait()
        async with open_journal(path, migrations=Watched((*MIGRATIONS, m900_works))):
            pass
        await first

    assert names(path) == [*NAMES, "m900_works"]
    assert rows(path, "select what from later") == [("applied",)]
