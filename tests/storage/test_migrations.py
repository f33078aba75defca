import asyncio
import sqlite3
from collections import UserDict
from collections.abc import ItemsView, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from storage.journal import StorageError, StreamSummary
from storage.outbox import ReaderPosition
from storage.sqlite.migrations import MIGRATIONS
from tests.contract.journal_helpers import TIMEOUT, append_entries, find_streams, get_listing, open_journal
from tests.support.paths import GOLDEN

OLDEST = GOLDEN / "schema_001.sql"

NAMES = list(MIGRATIONS)

pytestmark = [pytest.mark.asyncio, pytest.mark.requirement("M3")]

WORKS = {"m900_works": ["create table later (what text) strict", "insert into later values ('applied')"]}
FAILS = {"m900_works": ["create table later (what text) strict", "insert into nowhere values (1)"]}
FOLLOWS = {"m901_follows": ["alter table later add column more text"]}


async def migrated(path: Path, *more: Mapping[str, Sequence[str]]) -> None:
    await migrated_by(path, {name: sql for one in (MIGRATIONS, *more) for name, sql in one.items()})


async def migrated_by(path: Path, migrations: Mapping[str, Sequence[str]]) -> None:
    async with open_journal(path, migrations=migrations):
        pass


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def names(path: Path) -> list[object]:
    return [name for (name,) in rows(path, "select name from migration order by name")]


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
        listed = await get_listing(journal, "d-golden")
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


async def test_the_oldest_schema_is_what_the_first_migration_makes(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as db:
        db.executescript(OLDEST.read_text("utf-8"))
    async with open_journal(tmp_path / "new.db", migrations={NAMES[0]: MIGRATIONS[NAMES[0]]}):
        pass

    sql = "select name, sql from sqlite_master order by name"
    assert rows(tmp_path / "old.db", sql) == rows(tmp_path / "new.db", sql)


async def test_each_migration_is_applied_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await migrated(path)
    await migrated(path, WORKS)
    await migrated(path, WORKS, FOLLOWS)
    await migrated(path, WORKS, FOLLOWS)

    assert names(path) == [*NAMES, "m900_works", "m901_follows"]
    assert rows(path, "select * from later") == [("applied", None)]


async def test_a_failing_migration_leaves_nothing_and_stays_pending(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(StorageError, match="no such table: nowhere"):
        await migrated(path, FAILS, FOLLOWS)

    assert names(path) == NAMES
    assert rows(path, "select name from sqlite_master where name = 'later'") == []

    await migrated(path, WORKS, FOLLOWS)
    assert names(path) == [*NAMES, "m900_works", "m901_follows"]


async def test_a_database_of_a_newer_release_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await migrated(path, WORKS)

    with pytest.raises(StorageError, match=r"newer release has written this database \(m900_works\)"):
        await migrated(path)
    assert names(path) == [*NAMES, "m900_works"]


async def test_many_that_open_a_new_database_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with asyncio.timeout(TIMEOUT):
        await asyncio.gather(*(migrated(path, WORKS) for _ in range(8)))

    assert names(path) == [*NAMES, "m900_works"]
    assert rows(path, "select what from later") == [("applied",)]


async def test_who_waited_for_anothers_migration_does_not_repeat_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await migrated(path)
    seen = asyncio.Event()

    class Watched(UserDict[str, Sequence[str]]):
        """Tells when it is gone through, after the names in the database were read."""

        def items(self) -> ItemsView[str, Sequence[str]]:
            seen.set()
            return super().items()

    with closing(sqlite3.connect(path, isolation_level=None)) as first:
        first.execute("begin immediate")
        for statement in (*WORKS["m900_works"], "insert into migration values ('m900_works', '')"):
            first.execute(statement)
        second = asyncio.create_task(migrated_by(path, Watched({**MIGRATIONS, **WORKS})))
        async with asyncio.timeout(TIMEOUT):
            await seen.wait()
            first.execute("commit")
            await second

    assert names(path) == [*NAMES, "m900_works"]
    assert rows(path, "select what from later") == [("applied",)]
