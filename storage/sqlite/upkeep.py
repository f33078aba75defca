"""What is derived from entries in the journal's SQLite file: comparing it with them, and writing it again."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress

import aiosqlite

from storage.contract.streams import Amount, StreamSummary
from storage.ledger import SELECT_JUDGMENTS, parse_judgment
from storage.sqlite.connections.connection import ReadOnlyError
from storage.sqlite.connections.database import Database
from storage.sqlite.ledger import write_judgments
from storage.sqlite.lists import narrow
from storage.summaries import encode_summary, encode_words, parse_amount, parse_summary
from storage.words import Tokenizer

SELECT_ALL_STREAMS = """
select name from (
    select name, number from stream
    union all
    select distinct stream, 0 from journal where seq > 0 and stream not in (select name from stream)
) order by number
"""

UPDATE_SUMMARY = """
update stream set title = ?, status = ?, details = ?, family = ?, parent = ? where name = ? and seq = ?
returning number, owner
"""

SELECT_DAYS = """
select day, owner, 0, calls, cost from spending
union all
select day, '', 0, calls, cost from spending
union all
select day, '', 1, calls, cost from daily_spending
union all
select day, owner, 1, calls, cost from owner_spending
"""

# Each word by itself: a search for all of them at once would begin with the first stream that has them.
SELECT_MISSING_WORD = """
select 1 from json_each(?1) as word
where not exists (
    select 1 from words
    where words match '"' || word.value || '"' and rowid = (select number from stream where name = ?2)
)
limit 1
"""

SELECT_UNCHANGED = """
select name from stream where changed_at < ?1 and status in (select value from json_each(?2)){own} order by number
"""

CREATE_WORD_COUNT = """
create virtual table if not exists temp.word_count using fts5vocab (main, words, row)
"""


class SqliteUpkeep:
    _db: Database
    _tokenizer: Tokenizer

    async def find_file_problems(self) -> list[str]:
        problems = [str(text) for (text,) in await self._db.reader.fetch_all("pragma integrity_check(10)")]
        return [] if problems == ["ok"] else problems

    async def find_all_streams(self) -> list[str]:
        return [name for (name,) in await self._db.reader.fetch_all(SELECT_ALL_STREAMS)]

    async def read_summary(self, stream: str) -> StreamSummary:
        sql = "select title, status, details, owner, family, parent from stream where name = ?"
        found = await self._db.reader.fetch_all(sql, stream)
        days = "select day, calls, cost from spending where stream = ?"
        spending = {
            day: parse_amount(calls, cost)
            for day, calls, cost in await self._db.reader.fetch_all(days, stream)
        }
        sql = f"{SELECT_JUDGMENTS} where stream = ? order by number"
        judgments = [parse_judgment(row) for row in await self._db.reader.fetch_all(sql, stream)]
        return parse_summary(found[0] if found else (), spending, judgments)

    async def rewrite_summary(self, stream: str, version: int, summary: StreamSummary) -> bool:
        columns = encode_summary(summary)
        listed = columns.title, columns.status, columns.details, columns.family, columns.parent
        async with self._db.writer.transaction() as db:
            found = list(await db.execute_fetchall(UPDATE_SUMMARY, [*listed, stream, version]))
            for number, owner in found:
                if columns.words:
                    add_words = "insert into words (rowid, text) values (?, ?)"
                    await db.execute_fetchall(add_words, [number, columns.words])
                await db.execute_fetchall("delete from judgment where stream = ?", [stream])
                await write_judgments(db, stream, columns.judgments or "[]")
                before = await db.execute_fetchall("select day from spending where stream = ?", [stream])
                await db.execute_fetchall("delete from spending where stream = ?", [stream])
                rows = [
                    (day, stream, spent.requests, f"{spent.cost:f}", owner)
                    for day, spent in summary.spending.items()
                ]
                add_days = "insert into spending (day, stream, calls, cost, owner) values (?, ?, ?, ?, ?)"
                await db.executemany(add_days, rows)
                await add_days_up(db, {day for (day,) in before} | set(summary.spending))
        return bool(found)

    def split_words(self, summary: StreamSummary) -> frozenset[str]:
        return frozenset(self._tokenizer.split(encode_words(summary)))

    async def has_words(self, stream: str, words: Collection[str]) -> bool:
        missing = await self._db.reader.fetch_all(SELECT_MISSING_WORD, json.dumps(list(words)), stream)
        return not missing

    async def count_words(self) -> Mapping[str, int]:
        with suppress(ReadOnlyError):  # the check is a statement that writes
            await self._db.writer.fetch_all("insert into words (words) values ('integrity-check')")
        await self._db.reader.fetch_all(CREATE_WORD_COUNT)
        return dict(await self._db.reader.fetch_all("select term, doc from temp.word_count"))

    async def clear_words(self) -> None:
        await self._db.writer.fetch_all("insert into words (words) values ('delete-all')")

    async def find_unchanged(
        self, statuses: Collection[str], before: str, *, owner: str | None = None
    ) -> list[str]:
        statement = narrow(owner, SELECT_UNCHANGED, before, json.dumps(list(statuses)))
        return [name for (name,) in await self._db.reader.fetch_all(*statement)]

    async def find_wrong_days(self) -> list[str]:
        sums: defaultdict[tuple[str, str], list[Amount]] = defaultdict(lambda: [Amount(), Amount()])
        for day, owner, kind, calls, cost in await self._db.reader.fetch_all(SELECT_DAYS):
            sums[day, owner][kind] = sums[day, owner][kind].plus(parse_amount(calls, cost))
        return sorted({day for (day, _), (added, stored) in sums.items() if added != stored})

    async def rewrite_days(self, days: Collection[str]) -> None:
        async with self._db.writer.transaction() as db:
            await add_days_up(db, days)


async def add_days_up(db: aiosqlite.Connection, days: Collection[str]) -> None:
    """Write the sums of days anew, from what each stream spent on them."""
    for day in days:
        total, sums = Amount(), dict[str, Amount]()
        sql = "select owner, calls, cost from spending where day = ?"
        for owner, calls, cost in await db.execute_fetchall(sql, [day]):
            amount = parse_amount(calls, cost)
            total, sums[owner] = total.plus(amount), sums.get(owner, Amount()).plus(amount)
        values = [day, total.requests, f"{total.cost:f}"]
        await db.execute_fetchall("insert or replace into daily_spending values (?, ?, ?)", values)
        await db.execute_fetchall("delete from owner_spending where day = ?", [day])
        rows = [(day, owner, one.requests, f"{one.cost:f}") for owner, one in sums.items()]
        await db.executemany("insert into owner_spending (day, owner, calls, cost) values (?, ?, ?, ?)", rows)
