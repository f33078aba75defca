import asyncio
import sqlite3
from collections import UserList
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from storage.errors import StorageError
from storage.migrations import Migration
from storage.sqlite import upgrade
from storage.sqlite.migrations import MIGRATIONS
from tests.contract.journal_helpers import append_entries, open_storage
from tests.support.patience import PATIENCE

NAMES = [one.name for one in MIGRATIONS]
OWN = MIGRATIONS[-1].release

pytestmark = [pytest.mark.asyncio, pytest.mark.requirement("M3", "N14")]

CREATE_LATER = "create table later (what text) strict"
WORKS = Migration(OWN + 1, "works", (CREATE_LATER, "insert into later values ('applied')"))
FAILS = Migration(OWN + 1, "fails", (CREATE_LATER, "insert into nowhere values (1)"))
FOLLOWS = Migration(OWN + 2, "follows", ("alter table later add column more text",))
ENDS = Migration(OWN + 2, "ends", ("drop table later",), oldest_release=OWN + 2)


async def migrated(path: Path, *more: Migration) -> None:
    await migrated_by(path, [*MIGRATIONS, *more])


async def migrated_by(path: Path, migrations: Sequence[Migration]) -> None:
    async with open_storage(path, migrations=migrations):
        pass


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def names(path: Path) -> list[object]:
    return [name for (name,) in rows(path, "select name from migration order by release")]


async def test_each_migration_is_applied_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await migrated(path)
    await migrated(path, WORKS)
    await migrated(path, WORKS, FOLLOWS)
    await migrated(path, WORKS, FOLLOWS)

    assert names(path) == [*NAMES, "works", "follows"]
    assert rows(path, "select * from later") == [("applied", None)]


async def test_a_failing_migration_leaves_nothing_and_stays_pending(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await migrated(path)
    with pytest.raises(StorageError, match="no such table: nowhere"):
        await migrated(path, FAILS, FOLLOWS)

    assert names(path) == NAMES
    assert rows(path, "select name from sqlite_master where name = 'later'") == []

    await migrated(path, WORKS, FOLLOWS)
    assert names(path) == [*NAMES, "works", "follows"]


async def test_an_older_release_goes_on_beside_what_a_newer_one_added(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with open_storage(path) as old, open_storage(path, migrations=[*MIGRATIONS, WORKS]) as new:
        await append_entries(old, "s", 0, {})
        await append_entries(new, "s", 1, {})
        async with open_storage(path) as started_again:
            await append_entries(started_again, "s", 2, {})
        assert len(await new.journal.read("s")) == 3


async def test_what_would_stop_an_older_release_waits_for_the_upgrade(tmp_path: Path) -> None:
    path, newer = tmp_path / "a.db", [*MIGRATIONS, WORKS, ENDS]
    await migrated(path)
    await migrated_by(path, newer)
    assert names(path) == [*NAMES, "works"]
    async with open_storage(path) as old:
        await old.probe(PATIENCE)
        assert await upgrade(path, migrations=newer) == ["ends"]
        with pytest.raises(StorageError, match=f"its schema {OWN + 2} is the oldest that may run"):
            await old.probe(PATIENCE)

    assert await upgrade(path, migrations=newer) == []
    with pytest.raises(
        StorageError, match=rf"its schema {OWN + 2} is the oldest that may run, this is {OWN}"
    ):
        await migrated(path)
    await migrated_by(path, newer)


async def test_many_that_open_a_new_database_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(migrated(path, WORKS) for _ in range(8)))

    assert names(path) == [*NAMES, "works"]
    assert rows(path, "select what from later") == [("applied",)]


async def test_who_waited_for_anothers_migration_does_not_repeat_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await migrated(path)
    seen = asyncio.Event()

    class Watched(UserList[Migration]):
        """Tells when it is gone through, after the releases in the database were read."""

        def __iter__(self) -> Iterator[Migration]:
            seen.set()
            return super().__iter__()

    with closing(sqlite3.connect(path, isolation_level=None)) as first:
        first.execute("begin immediate")
        record = "insert into migration (release, name, oldest_release) values (?, 'works', 1)"
        for statement in WORKS.statements:
            first.execute(statement)
        first.execute(record, [WORKS.release])
        second = asyncio.create_task(migrated_by(path, Watched([*MIGRATIONS, WORKS])))
        async with asyncio.timeout(PATIENCE):
            await seen.wait()
            first.execute("commit")
            await second

    assert names(path) == [*NAMES, "works"]
    assert rows(path, "select what from later") == [("applied",)]
