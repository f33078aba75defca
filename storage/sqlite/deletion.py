"""Deleted streams in the journal's SQLite file: what is left of each is an entry with the number 0."""

import aiosqlite

from storage.chain import Head, encode_tombstone, parse_tombstone
from storage.deletion import Tombstone
from storage.journal import StreamSummary
from storage.sqlite.database import Database
from storage.summaries import encode_words

FIND_TOMBSTONE = "select entry from journal where stream = ? and seq = 0"

# It has a position of its own, so that whoever follows the changes finds it.
BURY = "insert into journal (stream, seq, entry, hash, restored) values (?, 0, ?, ?, 0)"

TAKE_WORDS_OUT = "insert into words (words, rowid, text) values ('delete', ?, ?)"

# Until they are merged the pages of the index hold what was taken out: 50 ms with ten thousand debates.
MERGE_WORDS = "insert into words (words) values ('optimize')"

FORGET = [
    "insert into removal (stream) values (?)",
    "delete from journal where stream = ? and seq > 0",
    "delete from stream where name = ?",
    "delete from judgment where stream = ?",
    "delete from kept_text where stream = ?",
    "delete from opening where stream = ?",
    "delete from outbox where stream = ?",
    "delete from lease where stream = ?",
    "delete from removal where stream = ?",
]
"""All of a stream but what it spent: the sums of its days stay true."""

REFUSE_RETURN = (
    """
    create trigger journal_no_return before insert on journal
    when new.seq = 1 and exists (select 1 from journal where stream = new.stream and seq = 0)
    begin select raise(abort, 'the stream was deleted'); end
    """,
)
"""Nothing comes after a tombstone."""


class SqliteDeletion:
    _db: Database
    _cached_heads: dict[str, Head]

    async def delete(
        self, stream: str, *, at: str, actor: str, summary: StreamSummary | None = None
    ) -> Tombstone | None:
        # What is freed is overwritten, and not only left to be used again.
        await self._db.writer.fetch_all("pragma secure_delete = on")
        try:
            async with self._db.writer.transaction() as db:
                tombstone = await bury(db, stream, at, actor, summary)
        finally:
            await self._db.writer.fetch_all("pragma secure_delete = off")
        self._cached_heads.pop(stream, None)
        return tombstone or await self.find_tombstone(stream)

    async def find_tombstone(self, stream: str) -> Tombstone | None:
        rows = await self._db.reader.fetch_all(FIND_TOMBSTONE, stream)
        return parse_tombstone(stream, rows[0][0]) if rows else None


async def bury(
    db: aiosqlite.Connection, stream: str, at: str, actor: str, summary: StreamSummary | None
) -> Tombstone | None:
    """Put a tombstone in the place of a stream; None if there is none of this name."""
    sql = "select number, seq, cast(head as blob) from stream where name = ?"
    rows = list(await db.execute_fetchall(sql, [stream]))
    if not rows:
        return None
    number, seq, head = rows[0]
    tombstone = Tombstone(stream, seq, head.hex(), at, actor)
    await db.execute_fetchall(BURY, [stream, encode_tombstone(tombstone).decode(), head])
    if summary and (words := encode_words(summary)):
        await db.execute_fetchall(TAKE_WORDS_OUT, [number, words])
        await db.execute_fetchall(MERGE_WORDS)
    for statement in FORGET:
        await db.execute_fetchall(statement, [stream])
    return tombstone
