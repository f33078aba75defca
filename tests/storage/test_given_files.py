"""A database file that somebody gave away runs nothing of its own when it is opened."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from storage.canonical import genesis_hash, link_hash
from storage.errors import StorageError
from storage.sqlite import upgrade
from tests.contract.journal_helpers import append_entries, open_storage
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N27", "N34")]

STEALING = """
create trigger "help" after insert on journal begin update token set owner = 'mallory'; end
"""
HOLLOW = "create trigger journal_no_update before update on journal begin select 1; end"


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        ([STEALING], "holds a trigger that is not of this release, 'help'"),
        (["create view stolen as select * from token"], "holds a view that is not of this release, 'stolen'"),
        (
            [HOLLOW],
            "trigger that is not of this release, 'journal_no_update'",
        ),
    ],
)
async def test_a_file_with_triggers_or_views_of_others_is_not_opened(
    tmp_path: Path, statements: list[str], told: str
) -> None:
    path = tmp_path / "given.db"
    async with open_storage(path) as storage:
        await append_entries(storage, "s", 0, {"n": 1})
    async with open_storage(path):
        pass  # what our own migrations made is known again
    for statement in statements:
        run_raw(str(path), statement)
    before = path.read_bytes()
    with pytest.raises(StorageError, match=told):
        async with open_storage(path):
            pass
    with pytest.raises(StorageError, match=told):
        await upgrade(path)
    assert path.read_bytes() == before


async def test_a_trigger_that_the_schema_calls_something_else_is_found(tmp_path: Path) -> None:
    path = tmp_path / "given.db"
    async with open_storage(path) as storage:
        await append_entries(storage, "s", 0, {"n": 1})
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(STEALING)
        raw.execute("pragma writable_schema = on")
        raw.execute("update sqlite_schema set type = 'TRIGGER' where name = 'help'")
    with pytest.raises(StorageError, match="holds a trigger that is not of this release, 'help'"):
        async with open_storage(path):
            pass


async def test_an_entry_that_readers_take_differently_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "given.db"
    async with open_storage(path) as storage:
        await append_entries(storage, "s", 0, {"n": 1})
    text = '{"actor":"me","at":"2026-11-01T10:00:00.000Z","body":{"n":1,"n":2},"seq":1}'
    head = link_hash(genesis_hash("s"), text.encode())
    run_raw(str(path), f"update journal set entry = ?, hash = x'{head.hex()}'", text)  # noqa: S608
    run_raw(str(path), f"update stream set head = x'{head.hex()}'")  # noqa: S608
    async with open_storage(path) as storage:
        with pytest.raises(StorageError, match="entry 1 of s cannot be read"):
            await storage.journal.read("s")
