"""Deletion of streams: what is left of each is an entry with the number 0, its tombstone."""

from collections.abc import Collection

from storage.cache import drop_cached
from storage.chain import parse_tombstone
from storage.columns import encode_summary
from storage.database import Database, Session
from storage.journal import FIND_TOMBSTONE, Journal
from storage.ledger import Ledger
from storage.search import SearchIndex
from storage.spending import INSERT_SPENDING, add_days_up, encode_amount
from storage.streams import StreamSummary, Tombstone

SELECT_DELETED = "select stream from journal where seq = 0 order by position"

LOCK_HEAD = """
select number, seq, head, owner from stream where name = $1 and coalesce($2::bigint, seq) = seq for update
"""

SELECT_KEPT = "select name, text from kept_text where stream = $1 and name = any($2::text[]) order by name"

IS_KNOWN = (
    "select 1 from stream where name = $1 union all select 1 from journal where stream = $1 and seq = 0"
)

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


class Tombstones:
    """Serves who deletes debates, and `counterpoint db copy`, which deletes in the copy what was deleted here."""

    def __init__(self, database: Database, journal: Journal, index: SearchIndex, ledger: Ledger) -> None:
        self._database, self._journal, self._index, self._ledger = database, journal, index, ledger

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
        """Delete a stream with all that is kept of it but the sums of its days, in one transaction.

        Its tombstone is a change of the stream for `Journal.find_changes`, and no entry can follow it. `summary`: with
        all the words that the search index has of it, which are taken out. `version`: only if it is the number of the
        last entry. `keep`: names of the texts that stay, with the tombstone. `keep_judgments`: the ledger keeps what
        it has of it. Returns the tombstone, that of an earlier deletion where there was one; None for an unknown
        stream, and where there is another version.
        """

        async def write(session: Session) -> Tombstone | None:
            rows = await session.fetch(LOCK_HEAD, stream, version)
            if not rows:
                return None
            number, seq, head, owner = rows[0]
            texts = dict(await session.fetch(SELECT_KEPT, stream, list(keep)))
            tombstone = Tombstone(stream, seq, head.hex(), at, actor, texts, owner)
            await self._index.forget(session, number, summary)
            judgment_statements = [] if keep_judgments else [FORGET_JUDGMENTS]
            for statement in (FORGET_KEYS, *judgment_statements, *FORGET):
                await session.fetch(statement, stream)
            await drop_cached(session, stream)
            await self._journal.bury(session, tombstone)
            return tombstone

        async with self._database.erase_freed_space():
            tombstone = await self._database.transact(write)
        self._journal.forget_heads(stream)
        return tombstone or await self.find(stream)

    async def find(self, stream: str) -> Tombstone | None:
        rows = await self._database.read(FIND_TOMBSTONE, stream)
        return parse_tombstone(stream, rows[0][0]) if rows else None

    async def list_streams(self) -> list[str]:
        """The streams that were deleted, those first that went first."""
        return [stream for (stream,) in await self._database.read(SELECT_DELETED, is_long=True)]

    async def restore(self, tombstone: Tombstone, summary: StreamSummary) -> bool:
        """Write a tombstone from another database, with the sums and the judgments of a summary.

        Returns whether it was written: not where the stream is known, deleted or not.
        """
        stream = tombstone.stream
        judgments = encode_summary(summary).judgments

        async def write(session: Session) -> bool:
            await session.lock("all sums")  # nobody begins a stream meanwhile, or restores a tombstone
            if await session.fetch(IS_KNOWN, stream):
                return False
            for day, amount in summary.spending.items():
                values = day, stream, tombstone.owner, *encode_amount(amount)
                await session.fetch(INSERT_SPENDING, *values)
            await add_days_up(session, summary.spending.keys())
            await self._ledger.add(session, stream, judgments or "[]")
            await self._journal.bury(session, tombstone)
            return True

        return await self._database.transact(write)
