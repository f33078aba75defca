"""Lists and searches of streams in PostgreSQL."""

from collections.abc import Collection
from typing import Any

from storage.journal import StreamListing
from storage.postgres.appends import cut_word
from storage.postgres.pool import Database
from storage.summaries import (
    FINAL_MARK,
    LAST_CHARACTER,
    find_upper_bound,
    mark_status,
    parse_changes,
    parse_listing,
)
from storage.words import Tokenizer

_LISTING_COLUMNS = "name, stream.number, title, status, details, opened_at, changed_at"

SELECT_LISTINGS = f"""
select {_LISTING_COLUMNS} from stream where number < $1 order by number desc limit $2
"""

SELECT_LISTINGS_BY_STATUS = f"""
select {_LISTING_COLUMNS} from stream
where status = $1 and number < $2 and changed_at >= $3 and name <> all($5::text[])
order by number desc limit $4
"""

SELECT_LISTINGS_OF_STREAMS = f"""
select {_LISTING_COLUMNS} from stream
where name = any($5::text[]) and status = $1 and number < $2 and changed_at >= $3
order by number desc limit $4
"""

# A range needs no escaping, and goes through the index for no more rows than the limit.
SELECT_BY_PREFIX = "select name from stream where name >= $1 and name < $2 order by name limit $3"

SELECT_POSITION = "select value from counter where name = 'journal'"
SELECT_CHANGES = "select max(position), stream from journal where position > $1 group by stream order by 1"


class PostgresLists:
    _db: Database
    _tokenizer: Tokenizer

    async def find(
        self,
        query: str = "",
        *,
        status: str = "",
        is_final: bool = False,
        changed_since: str = "",
        streams: Collection[str] = (),
        inside: bool = False,
        before: int = 0,
        limit: int = 20,
    ) -> list[StreamListing]:
        until = find_upper_bound(before)
        names = list(streams)
        statement: tuple[Any, ...] = (SELECT_LISTINGS, until, limit)
        if query.strip():
            words = self._tokenizer.split_query(query)
            if not words:
                return []
            search = build_search([cut_word(word) for word in words], status, is_final=is_final)
            statement = (search[0], until, status, limit, names, inside, *search[1])
        elif status:
            sql = SELECT_LISTINGS_OF_STREAMS if inside else SELECT_LISTINGS_BY_STATUS
            statement = (sql, status, until, changed_since, limit, names)
        return [parse_listing(row) for row in await self._db.fetch(*statement)]

    async def find_by_prefix(self, prefix: str, *, limit: int = 100) -> list[str]:
        rows = await self._db.fetch(SELECT_BY_PREFIX, prefix, prefix + LAST_CHARACTER, limit)
        return [name for (name,) in rows]

    async def find_changes(self, after: int) -> tuple[int, list[str]]:
        if after < 0:
            return int((await self._db.fetch(SELECT_POSITION))[0][0]), []
        return parse_changes(await self._db.fetch(SELECT_CHANGES, after), after)


def build_search(words: list[str], status: str, *, is_final: bool) -> tuple[str, list[str]]:
    """A statement for streams with all of these words, the last of them a prefix; and its values from $6 on.

    A status that streams keep is looked up in the index, too; any other one only among streams that have none of
    those.
    """
    *whole, prefix = words
    whole = list(dict.fromkeys([*whole, *([mark_status(status)] if status and is_final else [])]))
    values = [*whole, prefix, prefix + LAST_CHARACTER]
    joins = "".join(
        f" join word as w{place} on w{place}.number = stream.number and w{place}.word = ${place}"
        for place, _ in enumerate(whole, start=6)
    )
    begins = 6 + len(whole)
    has_mark = "exists (select 1 from word where word.number = stream.number and word.word = '{mark}')"
    without_mark = "" if is_final or not status else f"and not {has_mark.format(mark=FINAL_MARK)}"
    sql = f"""
        select {_LISTING_COLUMNS} from stream{joins}
        where stream.number < $1 and exists (
            select 1 from word
            where word.number = stream.number and word.word >= ${begins} and word.word < ${begins + 1}
        ) and ($2 = '' or status = $2 and (name = any($4::text[])) = $5) {without_mark}
        order by stream.number desc limit $3
    """
    return sql, values
