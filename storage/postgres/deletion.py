"""Deleted streams in PostgreSQL: what is left of each is an entry with the number 0."""

from collections.abc import Collection

from storage.chain import Head, encode_tombstone, parse_tombstone
from storage.contract.deletion import Tombstone
from storage.contract.streams import StreamSummary
from storage.postgres.appends import add_judgments
from storage.postgres.cache import drop_cached
from storage.postgres.connections.pool import UPKEEP_SECONDS, Database, Session
from storage.postgres.upkeep import ADD_SPENDING, LOCK_DAYS, add_days_up
from storage.summaries import encode_summary

FIND_TOMBSTONE = "select entry from journal where stream = $1 and seq = 0"

FIND_STREAM = """
select 1 from stream where name = $1 union all select 1 from journal where stream = $1 and seq = 0
"""

SELECT_DELETED = "select stream from journal where seq = 0 order by position"

SELECT_HEAD = """
select number, seq, head, owner from stream where name = $1 and coalesce($2::bigint, seq) = seq for update
"""

SELECT_KEPT = "select name, text from kept_text where stream = $1 and name = any($2::text[]) order by name"

# It has a position of its own, so that whoever follows the changes finds it.
BURY = """
with moved as (
    update counter set value = value + 1 where name = 'journal' returning value
)
insert into journal (position, stream, seq, entry, hash, restored)
select moved.value, $1, 0, convert_from($2::bytea, 'UTF8'), $3, false from moved
"""

FORGET_JUDGMENTS = "delete from judgment where stream = $1"

FORGET_KEYS = """
delete from opening where key in (select key from opening where stream = $1 order by key for update)
"""

FORGET = [
    "insert into removal (stream) values ($1)",
    "delete from journal where stream = $1 and seq > 0",
    "delete from stream where name = $1",
    "delete from kept_text where stream = $1",
    "delete from outbox where number in (select number from outbox where stream = $1 order by number for update)",
    "delete from lease where stream = $1",
    "delete from removal where stream = $1",
]
"""All of a stream but its words, keys and judgments, and what it spent, so that the sums of its days stay true."""


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
        version: int | None = None,
        keep: Collection[str] = (),
        keep_judgments: bool = False,
    ) -> Tombstone | None:
        async def write(session: Session) -> Tombstone | None:
            rows = await session.fetch(SELECT_HEAD, stream, version)
            if not rows:
                return None
            number, seq, head, owner = rows[0]
            texts = dict(await session.fetch(SELECT_KEPT, stream, list(keep)))
            tombstone = Tombstone(stream, seq, head.hex(), at, actor, texts, owner)
            await session.fetch("delete from word where number = $1", number)
            judged = [] if keep_judgments else [FORGET_JUDGMENTS]
            for statement in (FORGET_KEYS, *judged, *FORGET):
                await session.fetch(statement, stream)
            await drop_cached(session, stream)
            await bury(session, tombstone)
            return tombstone

        tombstone = await self._db.transact(write)
        self._cached_heads.pop(stream, None)
        return tombstone or await self.find_tombstone(stream)

    async def merge_words(self) -> None:
        """The server does so by itself."""

    async def find_tombstone(self, stream: str) -> Tombstone | None:
        rows = await self._db.fetch(FIND_TOMBSTONE, stream)
        return parse_tombstone(stream, rows[0][0]) if rows else None

    async def find_deleted_streams(self) -> list[str]:
        return [stream for (stream,) in await self._db.fetch(SELECT_DELETED, wait=UPKEEP_SECONDS)]

    async def restore_tombstone(self, tombstone: Tombstone, summary: StreamSummary) -> bool:
        stream = tombstone.stream
        judgments = encode_summary(summary).judgments

        async def write(session: Session) -> bool:
            await session.run(LOCK_DAYS)  # nobody begins a stream meanwhile, or restores a tombstone
            if await session.fetch(FIND_STREAM, stream):
                return False
            for day, spent in summary.spending.items():
                await session.fetch(ADD_SPENDING, stream, day, *spent, tombstone.owner)
            await add_days_up(session, sorted(summary.spending))
            await add_judgments(session, stream, judgments or "[]")
            await bury(session, tombstone)
            return True

        return await self._db.transact(write)


async def bury(session: Session, tombstone: Tombstone) -> None:
    """Put a tombstone in the place of a stream."""
    await session.fetch(BURY, tombstone.stream, encode_tombstone(tombstone), bytes.fromhex(tombstone.head))
