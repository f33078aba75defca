"""What is derived from entries in PostgreSQL: comparing it with them, and writing it again."""

from collections.abc import Collection, Mapping

from storage.contract.streams import Amount, StreamSummary
from storage.ledger import SELECT_JUDGMENTS, parse_judgment
from storage.postgres.appends import cut_word, replace_judgments, split_words
from storage.postgres.connections.pool import UPKEEP_SECONDS, Database, Session
from storage.postgres.lists import narrow
from storage.summaries import encode_summary, encode_words, parse_summary
from storage.words import Tokenizer

SELECT_LAST_POSITION = """
select value, (select coalesce(max(position), 0) from journal) from counter where name = 'journal'
"""

SELECT_ALL_STREAMS = """
select name from (
    select name, number from stream
    union all
    select distinct stream, 0 from journal where seq > 0 and stream not in (select name from stream)
) as every order by number, name
"""

UPDATE_SUMMARY = """
update stream set title = $1, status = $2, details = $3, family = $4, parent = $5 where name = $6 and seq = $7
returning number, owner
"""

# Who writes words holds the stream.
CLEAR_WORDS = """
with held as materialized (select number from stream order by name for no key update)
delete from word where (select count(*) from held) >= 0
"""

ADD_WORDS = "insert into word (number, word) select $1, unnest($2::text[]) on conflict do nothing"

# Sums are compared and written while nobody writes others.
LOCK_DAYS = "lock table spending, daily_spending, owner_spending in share row exclusive mode"

ADD_SPENDING = "insert into spending (stream, day, calls, cost, owner) values ($1, $2, $3, $4, $5)"

DELETE_OWNERS_DAYS = "delete from owner_spending where day = any($1::text[])"

WRITE_OWNERS_DAYS = """
insert into owner_spending (day, owner, calls, cost)
select day, owner, sum(calls), sum(cost) from spending where day = any($1::text[]) group by day, owner
"""

WRITE_DAYS = """
insert into daily_spending (day, calls, cost)
select given.day, coalesce(sum(calls), 0), coalesce(sum(cost), 0)
from unnest($1::text[]) as given (day) left join spending on spending.day = given.day group by given.day
on conflict (day) do update set calls = excluded.calls, cost = excluded.cost
"""

SELECT_WRONG_DAYS = """
select day from (select day, sum(calls) as calls, sum(cost) as cost from spending group by day) as added
full join daily_spending as stored using (day)
where coalesce(added.calls, 0) <> coalesce(stored.calls, 0) or coalesce(added.cost, 0) <> coalesce(stored.cost, 0)
union
select day
from (select day, owner, sum(calls) as calls, sum(cost) as cost from spending group by day, owner) as added
full join owner_spending as stored using (day, owner)
where coalesce(added.calls, 0) <> coalesce(stored.calls, 0) or coalesce(added.cost, 0) <> coalesce(stored.cost, 0)
order by day
"""

SELECT_UNCHANGED = """
select name from stream where changed_at < $1 and status = any($2::text[]){own} order by number
"""

COUNT_FOUND = """
select count(*) from stream join word on word.number = stream.number
where stream.name = $1 and word.word = any($2::text[])
"""


class PostgresUpkeep:
    _db: Database
    _tokenizer: Tokenizer

    async def find_file_problems(self) -> list[str]:
        """The server checks its own files; here is whether the journal ends where its position says."""
        [(position, last)] = await self._db.fetch(SELECT_LAST_POSITION)
        return [] if last <= position else [f"the journal has entries after its position {position}"]

    async def find_all_streams(self) -> list[str]:
        return [name for (name,) in await self._db.fetch(SELECT_ALL_STREAMS, wait=UPKEEP_SECONDS)]

    async def read_summary(self, stream: str) -> StreamSummary:
        sql = "select title, status, details, owner, family, parent from stream where name = $1"
        found = await self._db.fetch(sql, stream)
        days = "select day, calls, cost from spending where stream = $1"
        spending = {day: Amount(calls, cost) for day, calls, cost in await self._db.fetch(days, stream)}
        rows = await self._db.fetch(f"{SELECT_JUDGMENTS} where stream = $1 order by number", stream)
        judgments = list(map(parse_judgment, rows))
        return parse_summary(found[0] if found else (), spending, judgments)

    async def rewrite_summary(self, stream: str, version: int, summary: StreamSummary) -> bool:
        columns = encode_summary(summary)
        listed = columns.title, columns.status, columns.details, columns.family, columns.parent

        async def write(session: Session) -> bool:
            await session.run(LOCK_DAYS)
            found = await session.fetch(UPDATE_SUMMARY, *listed, stream, version)
            if not found:
                return False
            [(number, owner)] = found
            if columns.words:
                await session.fetch(ADD_WORDS, number, split_words(self._tokenizer, columns.words))
            await replace_judgments(session, stream, columns.judgments or "[]")
            before = await session.fetch("delete from spending where stream = $1 returning day", stream)
            for day, spent in summary.spending.items():
                await session.fetch(ADD_SPENDING, stream, day, *spent, owner)
            await add_days_up(session, sorted({day for (day,) in before} | set(summary.spending)))
            return True

        return await self._db.transact(write)

    def split_words(self, summary: StreamSummary) -> frozenset[str]:
        return frozenset(split_words(self._tokenizer, encode_words(summary)))

    async def has_words(self, stream: str, words: Collection[str]) -> bool:
        wanted = {cut_word(word) for word in words}
        [(count,)] = await self._db.fetch(COUNT_FOUND, stream, sorted(wanted))
        return bool(count == len(wanted))

    async def count_words(self) -> Mapping[str, int]:
        sql = "select word, count(*) from word group by word"
        return dict(await self._db.fetch(sql, wait=UPKEEP_SECONDS))

    async def clear_words(self) -> None:
        await self._db.write(CLEAR_WORDS)

    async def find_unchanged(
        self, statuses: Collection[str], before: str, *, owner: str | None = None
    ) -> list[str]:
        statement = narrow(owner, SELECT_UNCHANGED, before, list(statuses))
        rows = await self._db.fetch(*statement, wait=UPKEEP_SECONDS)
        return [name for (name,) in rows]

    async def find_wrong_days(self) -> list[str]:
        return [day for (day,) in await self._db.fetch(SELECT_WRONG_DAYS, wait=UPKEEP_SECONDS)]

    async def rewrite_days(self, days: Collection[str]) -> None:
        async def write(session: Session) -> None:
            await session.run(LOCK_DAYS)
            await add_days_up(session, sorted(days))

        await self._db.transact(write)


async def add_days_up(session: Session, days: list[str]) -> None:
    """Write the sums of days anew, from what each stream spent on them."""
    await session.fetch(WRITE_DAYS, days)
    await session.fetch(DELETE_OWNERS_DAYS, days)
    await session.fetch(WRITE_OWNERS_DAYS, days)
