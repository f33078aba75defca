"""What follows from the entries of a stream, beside them: reading it to compare the two, and writing it again."""

from collections.abc import Collection
from dataclasses import replace

from storage.columns import encode_summary, parse_summary
from storage.database import Database, Session
from storage.journal import FIND_TOMBSTONE
from storage.ledger import SELECT_JUDGMENTS, Ledger, parse_judgment
from storage.lists import narrow
from storage.search import SearchIndex
from storage.spending import INSERT_SPENDING, add_days_up, encode_amount, parse_amount
from storage.streams import StreamSummary
from storage.tombstones import parse_found

UPDATE_SUMMARY = """
update stream set title = $1, status = $2, details = $3, family = $4, parent = $5 where name = $6 and seq = $7
returning number, owner
"""

SELECT_UNCHANGED = """
select name from stream where changed_at < $1 and status = any($2::text[]){own} order by number
"""


class Summaries:
    """Serves `counterpoint db check`, `copy` and `prune`, and whoever adopts debates of others."""

    def __init__(self, database: Database, index: SearchIndex, ledger: Ledger) -> None:
        self._database, self._index, self._ledger = database, index, ledger

    async def read(self, stream: str) -> StreamSummary:
        """The stored summary of a stream; empty where it is missing or unreadable.

        Without its words, unless it was archived: then nothing else has them.
        """
        sql = "select title, status, details, owner, family, parent from stream where name = $1"
        rows = await self._database.read(sql, stream)
        days = "select day, calls, cost from spending where stream = $1"
        spending = {
            day: parse_amount(calls, cost) for day, calls, cost in await self._database.read(days, stream)
        }
        sql = f"{SELECT_JUDGMENTS} where stream = $1 order by number"
        judgments = list(map(parse_judgment, await self._database.read(sql, stream)))
        summary = parse_summary(rows[0] if rows else (), spending, judgments)
        tombstone = parse_found(stream, await self._database.read(FIND_TOMBSTONE, stream))
        if tombstone and tombstone.archive:
            return replace(summary, search_text=tombstone.archive.words, is_final=True)
        return summary

    async def rewrite(self, stream: str, version: int, summary: StreamSummary) -> bool:
        """Replace all of it but its owner, and add its words; False if the stream is not at this version now."""
        columns = encode_summary(summary)
        heading = columns.title, columns.status, columns.details, columns.family, columns.parent

        async def write(session: Session) -> bool:
            await session.lock("all sums")
            for number, owner in await session.fetch(UPDATE_SUMMARY, *heading, stream, version):
                if columns.words:
                    await self._index.add(session, number, columns.words)
                await self._ledger.replace(session, stream, columns.judgments or "[]")
                earlier_days = await session.fetch(
                    "delete from spending where stream = $1 returning day", stream
                )
                rows = [
                    (day, stream, owner, *encode_amount(amount)) for day, amount in summary.spending.items()
                ]
                await session.fetch_each(INSERT_SPENDING, rows)
                await add_days_up(session, {day for (day,) in earlier_days} | set(summary.spending))
                return True
            return False

        return await self._database.transact(write)

    async def find_unchanged(
        self, statuses: Collection[str], before: str, *, owner: str | None = None
    ) -> list[str]:
        """Streams with one of these statuses whose last entry is from before that time (ISO 8601), oldest first."""
        statement = narrow(owner, SELECT_UNCHANGED, before, list(statuses))
        return [name for (name,) in await self._database.read(*statement, is_long=True)]
