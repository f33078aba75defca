"""Deleted streams in PostgreSQL: what is left of each is an entry with the number 0."""

from storage.chain import Head, encode_tombstone, parse_tombstone
from storage.deletion import Tombstone
from storage.journal import StreamSummary
from storage.postgres.pool import Database, Session

FIND_TOMBSTONE = "select entry from journal where stream = $1 and seq = 0"

SELECT_HEAD = "select number, seq, head from stream where name = $1 for update"

# It has a position of its own, so that whoever follows the changes finds it.
BURY = """
with moved as (update counter set value = value + 1 where name = 'journal' returning value)
insert into journal (position, stream, seq, entry, hash, restored)
select moved.value, $1, 0, convert_from($2::bytea, 'UTF8'), $3, false from moved
"""

FORGET = [
    "insert into removal (stream) values ($1)",
    "delete from journal where stream = $1 and seq > 0",
    "delete from stream where name = $1",
    "delete from judgment where stream = $1",
    "delete from kept_text where stream = $1",
    "delete from opening where stream = $1",
    "delete from outbox where stream = $1",
    "delete from lease where stream = $1",
    "delete from removal where stream = $1",
]
"""All of a stream but what it spent: the sums of its days stay true."""


class PostgresDeletion:
    _db: Database
    _cached_heads: dict[str, Head]

    async def delete(
        self,
        stream: str,
        *,
        at: str,
        actor: str,
        summary: StreamSummary | None = None,  # noqa: ARG002  (the index knows its words by the stream)
    ) -> Tombstone | None:
        tombstone = await self._db.transact(lambda session: bury(session, stream, at, actor))
        self._cached_heads.pop(stream, None)
        return tombstone or await self.find_tombstone(stream)

    async def find_tombstone(self, stream: str) -> Tombstone | None:
        rows = await self._db.fetch(FIND_TOMBSTONE, stream)
        return parse_tombstone(stream, rows[0][0]) if rows else None


async def bury(session: Session, stream: str, at: str, actor: str) -> Tombstone | None:
    """Put a tombstone in the place of a stream; None if there is none of this name."""
    rows = await session.fetch(SELECT_HEAD, stream)
    if not rows:
        return None
    number, seq, head = rows[0]
    tombstone = Tombstone(stream, seq, head.hex(), at, actor)
    await session.fetch("delete from word where number = $1", number)
    for statement in FORGET:
        await session.fetch(statement, stream)
    await session.fetch(BURY, stream, encode_tombstone(tombstone), head)
    return tombstone
