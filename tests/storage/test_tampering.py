"""Whoever has the file can change it. A read must notice, and say which entry is the first that is wrong."""

import asyncio
import contextlib
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.chain import (
    ADDED,
    CHANGED,
    MISSING,
    MOVED,
    NOT_LAST,
    UNREADABLE,
    encode_tombstone,
    parse_tombstone,
)
from storage.errors import DamagedStreamError, StorageError
from storage.streams import Entry, Tombstone
from tests.contract.journal_helpers import append_entries, open_storage
from tests.support.searches import search_briefly

pytestmark = pytest.mark.requirement("M3")


def at(seq: int, change: str) -> str:
    return f"update journal set {change} where stream = 's' and seq = {seq}"  # noqa: S608  (it is an attack)


TAMPERINGS = {
    "a word of an entry": (at(3, "entry = replace(entry, 'third', 'thirt')"), 3, CHANGED),
    "its actor": (at(3, "entry = replace(entry, 'alice', 'alicf')"), 3, CHANGED),
    "its time": (at(3, "entry = replace(entry, '2026', '2025')"), 3, CHANGED),
    "its spelling": (at(3, "entry = replace(entry, ':', ': ')"), 3, CHANGED),
    "its hash": (at(3, "hash = zeroblob(32)"), 3, CHANGED),
    "its number inside": (at(3, "entry = replace(entry, '\"seq\":3', '\"seq\":4')"), 3, MOVED),
    "an entry and the chain from there": (at(1, "entry = replace(entry, 'first', 'firsT')"), 1, CHANGED),
    "bytes that are no text": (at(3, "entry = cast(x'7bff7d' as text)"), 3, UNREADABLE),
    "bytes that are no hash": (at(3, "hash = x'ff'"), 3, CHANGED),
    "text that is no JSON": (at(3, "entry = substr(entry, 2)"), 3, UNREADABLE),
    "JSON that is no entry": (at(3, "entry = '{}'"), 3, UNREADABLE),
    "JSON that is no object": (at(3, "entry = '3'"), 3, UNREADABLE),
    "JSON without a bottom": (at(3, f"entry = '{'[' * 100_000}'"), 3, UNREADABLE),
    "a number that skips": (at(3, "seq = 77"), 3, MISSING),
    "a number below one": (at(3, "seq = 0"), 3, MISSING),
    "the first entry": ("delete from journal where stream = 's' and seq = 1", 1, MISSING),
    "an entry between": ("delete from journal where stream = 's' and seq = 3", 3, MISSING),
    "the last entry": ("delete from journal where stream = 's' and seq = 5", 5, MISSING),
    "all entries": ("delete from journal where stream = 's'", 1, MISSING),
    "the last entry and the count": (
        "delete from journal where stream = 's' and seq = 5; update stream set seq = 4 where name = 's'",
        4,
        NOT_LAST,
    ),
    "all entries and the count": (
        "delete from journal where stream = 's'; update stream set seq = 0 where name = 's'",
        1,
        NOT_LAST,
    ),
    "two entries swapped": (";".join([at(2, "seq = 99"), at(3, "seq = 2"), at(99, "seq = 3")]), 2, MOVED),
    "one entry more": (
        (
            "insert into journal (stream, seq, entry, hash, restored)"
            " select stream, 6, entry, hash, 0 from journal where stream = 's' and seq = 5"
        ),
        6,
        ADDED,
    ),
    "the count": ("update stream set seq = 4 where name = 's'", 5, ADDED),
    "the end": ("update stream set head = zeroblob(32) where name = 's'", 5, NOT_LAST),
    "the stream": ("delete from stream where name = 's'", 1, ADDED),
    "another stream's entries": (
        (
            "delete from journal where stream = 's';"
            "update journal set stream = 's' where stream = 't';"
            "update stream set (seq, head) = (select seq, head from stream where name = 't') where name = 's'"
        ),
        1,
        CHANGED,
    ),
}


async def written(path: Path) -> list[Entry]:
    async with open_storage(path) as storage:
        await append_entries(storage, "t", 0, {"text": "elsewhere"})
        await append_entries(storage, "s", 0, {"text": "the first"}, {"text": "the second"})
        for n, text in enumerate(("the third", "the fourth", "the fifth"), start=2):
            await append_entries(storage, "s", n, {"text": text})
        return await storage.journal.read("s")


async def read(path: Path) -> list[Entry]:
    async with open_storage(path) as storage:
        return await storage.journal.read("s")


def tamper(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("drop trigger journal_no_update")
        db.execute("drop trigger journal_no_delete")
        for statement in sql.split(";"):
            db.execute(statement, values)


@cache
def original() -> tuple[bytes, list[Entry]]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.db"
        entries = asyncio.run(written(path))
        return path.read_bytes(), entries


def read_after(content: bytes) -> list[Entry]:
    """What a read of a changed file gives."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.db"
        path.write_bytes(content)
        return asyncio.run(read(path))


@pytest.mark.asyncio
@pytest.mark.parametrize(("sql", "seq", "why"), TAMPERINGS.values(), ids=TAMPERINGS.keys())
async def test_tampering_is_noticed_at_the_entry_it_hit(tmp_path: Path, sql: str, seq: int, why: str) -> None:
    await written(tmp_path / "a.db")
    tamper(tmp_path / "a.db", sql)

    with pytest.raises(DamagedStreamError) as caught:
        await read(tmp_path / "a.db")
    assert (caught.value.stream, caught.value.seq, caught.value.reason) == ("s", seq, why)
    assert str(caught.value) == f"entry {seq} of s {why}"
    async with open_storage(tmp_path / "a.db") as storage:
        found = (await storage.journal.read_many(["s", "t"]))["s"]
    assert isinstance(found, DamagedStreamError)
    assert str(found) == str(caught.value)


@search_briefly(3)
@given(st.data())
def test_any_other_byte_in_an_entry_is_noticed(data: st.DataObject) -> None:
    seq = data.draw(st.integers(1, 5))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.db"
        path.write_bytes(original()[0])
        with closing(sqlite3.connect(path)) as db:
            query = "select cast(entry as blob) from journal where stream = 's' and seq = ?"
            entry = bytearray(db.execute(query, (seq,)).fetchone()[0])
        where = data.draw(st.integers(0, len(entry) - 1))
        entry[where] = data.draw(st.integers(0, 255).filter(lambda byte: byte != entry[where]))
        tamper(path, at(seq, "entry = cast(? as text)"), bytes(entry))

        with pytest.raises(DamagedStreamError) as caught:
            asyncio.run(read(path))
    assert caught.value.seq == seq


@search_briefly(3)
@given(st.data())
def test_a_byte_changed_anywhere_in_the_file_never_makes_a_read_wrong(data: st.DataObject) -> None:
    content, entries = original()
    broken = bytearray(content)
    broken[data.draw(st.integers(0, len(broken) - 1))] ^= data.draw(st.integers(1, 255))

    with contextlib.suppress(StorageError):  # Noticed, which is as good.
        assert read_after(bytes(broken)) == entries


def test_a_file_that_was_cut_short_is_reported_in_plain_words() -> None:
    content, _ = original()
    with pytest.raises(StorageError, match="is damaged, restore it from a backup"):
        read_after(content[: len(content) // 8192 * 4096])


GRAVE = Tombstone("s", 2, "ab" * 32, "2026-11-28T10:00:00.000Z", "bob")


@pytest.mark.parametrize(
    "text",
    [
        *("", "3", "{}", b"\xff", '{"seq": 0}', '{"seq": 0, "body": {"kind": "deleted"}}', "[" * 100_000),
        encode_tombstone(GRAVE).replace(b'"deleted"', b'"opened"'),
        encode_tombstone(GRAVE).replace(b'"seq":0', b'"seq":1'),
    ],
)
def test_what_stands_in_the_place_of_a_tombstone_and_is_none_is_not_read_as_one(text: str | bytes) -> None:
    assert parse_tombstone("s", text) is None
