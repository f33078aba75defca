"""Deletion of streams: what is left of each is an entry with the number 0, its tombstone.

A stream that is archived has one, too: its entries are gone, and it stays in lists and searches.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from storage.cache import drop_cached
from storage.chain import find_tombstone
from storage.columns import encode_summary, encode_words
from storage.database import Database, Session
from storage.journal import FIND_TOMBSTONE, Journal
from storage.ledger import Ledger
from storage.search import SearchIndex
from storage.spending import INSERT_SPENDING, add_days_up, encode_amount
from storage.streams import Archive, StreamSummary, Tombstone

SELECT_DELETED = """
select stream from journal where seq = 0 and stream not in (select name from stream) order by position
"""

LOCK_HEAD = """
select number, abs(seq), head, owner, seal from stream
where name = $1 and coalesce($2::bigint, seq) = seq for update
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
    "delete from journal where stream = $1",
    "delete from kept_text where stream = $1",
    "delete from outbox where number in (select number from outbox where stream = $1 order by number for update)",
    "delete from lease where stream = $1",
    "delete from removal where stream = $1",
]
"""All of a stream but its row, words, keys and judgments, and what it spent: the sums of its days stay true."""

FORGET_ROW = "delete from stream where name = $1"

MARK_ARCHIVED = "update stream set seq = -seq where name = $1"

INSERT_ARCHIVED = """
insert into stream (name, seq, head, opened_at, changed_at, seal, title, status, details, owner, family, parent)
values ($1, -$2::bigint, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
returning number
"""


class Tombstones:
    """Serves who deletes or archives debates, and `counterpoint db copy`, which does so in the copy, too."""

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
        archive: Archive | None = None,
    ) -> Tombstone | None:
        """Delete a stream with all that is kept of it but the sums of its days, in one transaction.

        Its tombstone is a change of the stream for `Journal.find_changes`, and no entry can follow it. `summary`: with
        all the words that the search index has of it, which are taken out. `version`: only if it is the number of the
        last entry. `keep`: names of the texts that stay, with the tombstone. `keep_judgments`: the ledger keeps what
        it has of it. `archive`: where its entries are now: with it, and a summary, the stream stays in lists and
        searches. Returns the tombstone, that of an earlier deletion where there was one; None for an unknown stream,
        and where there is another version.
        """

        async def write(session: Session) -> Tombstone | None:
            rows = await session.fetch(LOCK_HEAD, stream, version)
            if not rows:
                return None
            number, seq, head, owner, seal = rows[0]
            archived = parse_found(stream, await session.fetch(FIND_TOMBSTONE, stream))
            texts = archived.texts if archived else dict(await session.fetch(SELECT_KEPT, stream, list(keep)))
            tombstone = Tombstone(stream, seq, head.hex(), at, actor, texts, owner)
            if summary and archived and archived.archive:  # perhaps just now, by another process
                await self._index.forget(session, number, take_words(summary, archived.archive))
            else:
                await self._index.forget(session, number, summary)
            if archive and summary:
                tombstone = replace(tombstone, archive=replace(archive, seal=seal))
                await self._index.add(session, number, encode_words(take_words(summary, archive)))
            row_statement = MARK_ARCHIVED if tombstone.archive else FORGET_ROW
            judgment_statements = [] if keep_judgments else [FORGET_JUDGMENTS]
            for statement in (row_statement, FORGET_KEYS, *judgment_statements, *FORGET):
                await session.fetch(statement, stream)
            await drop_cached(session, stream)
            await self._journal.bury(session, tombstone)
            return tombstone

        async with self._database.erase_freed_space():
            tombstone = await self._database.transact(write)
        self._journal.forget_heads(stream)
        return tombstone or await self.find(stream)

    async def find(self, stream: str) -> Tombstone | None:
        return parse_found(stream, await self._database.read(FIND_TOMBSTONE, stream))

    async def list_streams(self) -> list[str]:
        """The streams that were deleted, those first that went first."""
        return [stream for (stream,) in await self._database.read(SELECT_DELETED, is_long=True)]

    async def restore(self, tombstone: Tombstone, summary: StreamSummary) -> bool:
        """Write a tombstone from another database, with the sums and the judgments of a summary.

        That of an archived stream comes with its row and the words of the summary. Returns whether it was written: not
        where the stream is known, deleted or not.
        """
        stream = tombstone.stream
        columns = encode_summary(summary)

        async def write(session: Session) -> bool:
            await session.lock("all sums")  # nobody begins a stream meanwhile, or restores a tombstone
            if await session.fetch(IS_KNOWN, stream):
                return False
            for day, amount in summary.spending.items():
                values = day, stream, tombstone.owner, *encode_amount(amount)
                await session.fetch(INSERT_SPENDING, *values)
            await add_days_up(session, summary.spending.keys())
            if archive := tombstone.archive:
                origin = archive.opened_at, archive.changed_at, archive.seal
                heading = columns.title, columns.status, columns.details
                family = tombstone.owner, columns.family, columns.parent
                row = stream, tombstone.seq, bytes.fromhex(tombstone.head), *origin, *heading, *family
                [(number,)] = await session.fetch(INSERT_ARCHIVED, *row)
                await self._index.add(session, number, columns.words or "")
            await self._ledger.add(session, stream, columns.judgments or "[]")
            await self._journal.bury(session, tombstone)
            return True

        return await self._database.transact(write)


def take_words(summary: StreamSummary, archive: Archive) -> StreamSummary:
    """A summary with the words that the search has of an archived stream, and no values."""
    return replace(summary, search_text=archive.words, values=())


def parse_found(stream: str, rows: Sequence[Sequence[str]]) -> Tombstone | None:
    """`rows`: what `FIND_TOMBSTONE` found."""
    return find_tombstone(stream, [text for (text,) in rows])
