"""Deleted streams in the journal's SQLite file: what is left of each is an entry with the number 0."""

import json
from collections.abc import Collection

import aiosqlite

from storage.chain import Head, encode_tombstone, parse_tombstone
from storage.contract.deletion import Tombstone
from storage.contract.streams import StreamSummary
from storage.sqlite.connections.database import Database
from storage.sqlite.ledger import write_judgments
from storage.summaries import encode_summary, encode_words

FIND_TOMBSTONE = "select entry from journal where stream = ? and seq = 0"

# It has a position of its own, so that whoever follows the changes finds it.
BURY = "insert into journal (stream, seq, entry, hash, restored) values (?, 0, ?, ?, 0)"

TAKE_WORDS_OUT = "insert into words (words, rowid, text) values ('delete', ?, ?)"

MERGE_WORDS = "insert into words (words) values ('optimize')"

SELECT_KEPT = """
select name, text from kept_text where stream = ?1 and name in (select value from json_each(?2)) order by name
"""

# The sums of the days follow by a trigger.
ADD_SPENDING = """
insert into spending (day, stream, calls, cost, owner)
select key, ?1, json_extract(value, '$[0]'), json_extract(value, '$[1]'), ?3 from json_each(?2) where true
on conflict (stream, day) do nothing
"""

SELECT_DELETED = "select stream from journal where seq = 0 order by position"

IS_KNOWN = (
    "select 1 from stream where name = ?1 union all select 1 from journal where stream = ?1 and seq = 0"
)

FORGET_JUDGMENTS = "delete from judgment where stream = ?"

FORGET = [
    "insert into removal (stream) values (?)",
    "delete from journal where stream = ? and seq > 0",
    "delete from stream where name = ?",
    "delete from kept_text where stream = ?",
    "delete from opening where stream = ?",
    "delete from outbox where stream = ?",
    "delete from lease where stream = ?",
    "delete from cached where stream = ?",
    "delete from removal where stream = ?",
]
"""All of a stream but what it spent, so that the sums of its days stay true, and its judgments."""

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
        self,
        stream: str,
        *,
        at: str,
        actor: str,
        summary: StreamSummary | None = None,
        version: int | None = None,
        keep: Collection[str] = (),
        keep_judgments: bool = False,
    ) -> Tombstone | None:
        # What is freed is overwritten, and not only left to be used again.
        await self._db.writer.fetch_all("pragma secure_delete = on")
        try:
            async with self._db.writer.transaction() as db:
                tombstone = await bury(db, stream, at, actor, version, keep)
                if tombstone:
                    await forget(db, stream, summary, keep_judgments=keep_judgments)
        finally:
            await self._db.writer.fetch_all("pragma secure_delete = off")
        self._cached_heads.pop(stream, None)
        return tombstone or await self.find_tombstone(stream)

    async def merge_words(self) -> None:
        # 50 ms with ten thousand debates.
        await self._db.writer.fetch_all(MERGE_WORDS)

    async def find_tombstone(self, stream: str) -> Tombstone | None:
        rows = await self._db.reader.fetch_all(FIND_TOMBSTONE, stream)
        return parse_tombstone(stream, rows[0][0]) if rows else None

    async def find_deleted_streams(self) -> list[str]:
        return [stream for (stream,) in await self._db.reader.fetch_all(SELECT_DELETED)]

    async def restore_tombstone(self, tombstone: Tombstone, summary: StreamSummary) -> bool:
        stream = tombstone.stream
        columns = encode_summary(summary)
        async with self._db.writer.transaction() as db:
            if await db.execute_fetchall(IS_KNOWN, [stream]):
                return False
            await write_tombstone(db, tombstone)
            await db.execute_fetchall(ADD_SPENDING, [stream, columns.spending, tombstone.owner])
            await write_judgments(db, stream, columns.judgments or "[]")
            return True


async def bury(
    db: aiosqlite.Connection, stream: str, at: str, actor: str, version: int | None, keep: Collection[str]
) -> Tombstone | None:
    """Put a tombstone in the place of a stream; None if there is none of this name at this version."""
    sql = "select seq, cast(head as blob), owner from stream where name = ?1 and coalesce(?2, seq) = seq"
    rows = list(await db.execute_fetchall(sql, [stream, version]))
    if not rows:
        return None
    seq, head, owner = rows[0]
    texts = [
        (name, text)
        for name, text in await db.execute_fetchall(SELECT_KEPT, [stream, json.dumps(list(keep))])
    ]
    tombstone = Tombstone(stream, seq, head.hex(), at, actor, dict(texts), owner)
    await write_tombstone(db, tombstone)
    return tombstone


async def write_tombstone(db: aiosqlite.Connection, tombstone: Tombstone) -> None:
    values = [tombstone.stream, encode_tombstone(tombstone).decode(), bytes.fromhex(tombstone.head)]
    await db.execute_fetchall(BURY, values)


async def forget(
    db: aiosqlite.Connection, stream: str, summary: StreamSummary | None, *, keep_judgments: bool
) -> None:
    """Delete what there is of a stream beside its tombstone."""
    if summary and (words := encode_words(summary)):
        [(number,)] = await db.execute_fetchall("select number from stream where name = ?", [stream])
        await db.execute_fetchall(TAKE_WORDS_OUT, [number, words])
    for statement in FORGET if keep_judgments else [FORGET_JUDGMENTS, *FORGET]:
        await db.execute_fetchall(statement, [stream])
