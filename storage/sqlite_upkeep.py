"""What is derived from entries in the journal's SQLite file: comparing it with them, and writing it again."""

import json
from contextlib import suppress

from storage.chain import encode_summary
from storage.connection import ReadOnlyError
from storage.database import Database
from storage.journal import StorageError, StreamSummary
from storage.sqlite_leases import parse_amount

SELECT_ALL_STREAMS = """
select name from (
    select name, number from stream
    union all
    select distinct stream, 0 from journal where stream not in (select name from stream)
) order by number
"""

SELECT_SUMMARY = """
select title, status, details, (select text from words where words.rowid = stream.number)
from stream where name = ?
"""

UPDATE_SUMMARY = """
update stream set title = ?, status = ?, details = ? where name = ? and seq = ? returning number
"""

CHECK_INDEX = "insert into words (words) values ('integrity-check')"
REBUILD_INDEX = "insert into words (words) values ('rebuild')"


class SqliteUpkeep:
    _db: Database

    async def find_file_problems(self) -> list[str]:
        problems = [str(text) for (text,) in await self._db.reader.fetch_all("pragma integrity_check(10)")]
        if problems != ["ok"]:
            return problems
        try:
            await self._db.writer.fetch_all(CHECK_INDEX)
        except ReadOnlyError:  # the check is a statement that writes
            return []
        except StorageError:
            with suppress(StorageError):
                await self._db.writer.fetch_all(REBUILD_INDEX)
            return ["the search index did not fit its texts"]
        return []

    async def find_all_streams(self) -> list[str]:
        return [name for (name,) in await self._db.reader.fetch_all(SELECT_ALL_STREAMS)]

    async def read_summary(self, stream: str) -> StreamSummary:
        rows = await self._db.reader.fetch_all(SELECT_SUMMARY, stream)
        title, status, text, words = rows[0] if rows else ("", "", "", None)
        details = {}
        with suppress(ValueError):
            details = json.loads(text)
        days = "select day, calls, cost from spending where stream = ?"
        spending = {
            day: parse_amount(calls, cost)
            for day, calls, cost in await self._db.reader.fetch_all(days, stream)
        }
        return StreamSummary(title, status, details, words, spending)

    async def rewrite_summary(self, stream: str, version: int, summary: StreamSummary) -> bool:
        title, status, details, words, _ = encode_summary(summary)
        async with self._db.writer.transaction() as db:
            found = list(await db.execute_fetchall(UPDATE_SUMMARY, [title, status, details, stream, version]))
            if found:
                replace_words = "insert or replace into words (rowid, text) values (?, ?)"
                await db.execute_fetchall(replace_words, [found[0][0], words])
                await db.execute_fetchall("delete from spending where stream = ?", [stream])
                rows = [
                    (day, stream, spent.requests, f"{spent.cost:f}")
                    for day, spent in summary.spending.items()
                ]
                await db.executemany("insert into spending values (?, ?, ?, ?)", rows)
        return bool(found)
