"""Lists and searches of streams in the journal's SQLite file."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from storage.journal import StreamListing
from storage.sqlite.database import Database
from storage.summaries import (
    FINAL_MARK,
    LAST_CHARACTER,
    find_upper_bound,
    mark_status,
    parse_changes,
    parse_listing,
)
from storage.words import Tokenizer

_LISTING_COLUMNS = "name, number, title, status, details, opened_at, changed_at"
_STREAMS = "(select value from json_each(?5))"

SEARCH_LISTINGS = f"""
select {_LISTING_COLUMNS}
from words cross join stream on stream.number = words.rowid
where words match ?1 and words.rowid < ?2 and (?3 = '' or status = ?3 and (name in {_STREAMS}) = ?6)
order by words.rowid desc limit ?4
"""

SELECT_LISTINGS = f"""
select {_LISTING_COLUMNS}
from stream where number < ?1 order by number desc limit ?2
"""

SELECT_LISTINGS_BY_STATUS = f"""
select {_LISTING_COLUMNS}
from stream where status = ?1 and number < ?2 and changed_at >= ?3 and name not in {_STREAMS}
order by number desc limit ?4
"""

# Sorts no more than the streams that are given; going through all of a status could find none of them for long.
SELECT_LISTINGS_OF_STREAMS = f"""
select {_LISTING_COLUMNS}
from stream where name in {_STREAMS} and +status = ?1 and number < ?2 and changed_at >= ?3
order by number desc limit ?4
"""

# A range needs no escaping, and goes through the index for no more rows than the limit.
SELECT_BY_PREFIX = "select name from stream where name >= ?1 and name < ?2 order by name limit ?3"

SELECT_POSITION = "select coalesce(max(position), 0) from journal"
SELECT_CHANGES = """
select max(position), stream from journal not indexed where position > ? group by stream order by 1
"""
"""By position: grouped by the index of streams, it would go through all entries that there are."""


class SqliteLists:
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
        names = json.dumps(list(streams))
        statement: tuple[Any, ...] = (SELECT_LISTINGS, until, limit)
        if query.strip():
            words = self._tokenizer.split_query(query)
            if not words:
                return []
            match = build_match(words, status, is_final=is_final)
            statement = (SEARCH_LISTINGS, match, until, status, limit, names, inside)
        elif status:
            sql = SELECT_LISTINGS_OF_STREAMS if inside else SELECT_LISTINGS_BY_STATUS
            statement = (sql, status, until, changed_since, limit, names)
        return [parse_listing(row) for row in await self._db.reader.fetch_all(*statement)]

    async def find_by_prefix(self, prefix: str, *, limit: int = 100) -> list[str]:
        rows = await self._db.reader.fetch_all(SELECT_BY_PREFIX, prefix, prefix + LAST_CHARACTER, limit)
        return [name for (name,) in rows]

    async def find_changes(self, after: int) -> tuple[int, list[str]]:
        if after < 0:
            rows = await self._db.reader.fetch_all(SELECT_POSITION)
            return rows[0][0], []
        # SQLite serialises writers, so positions become visible in order.
        return parse_changes(await self._db.reader.fetch_all(SELECT_CHANGES, after), after)


def build_match(words: Sequence[str], status: str = "", *, is_final: bool = False) -> str:
    """An expression of FTS5 for streams with all of these words, the last of them a prefix.

    A status that streams keep is looked up in the index, too; any other one only among streams that have none of
    those. Else a search for a common word could go through all streams in vain.
    """
    match = join_words(words) + "*"
    if status and is_final:
        return f"({match}) AND {join_words([mark_status(status)])}"
    return f"({match}) NOT {join_words([FINAL_MARK])}" if status else match


def join_words(words: Sequence[str]) -> str:
    """An expression for streams with all of these words. Quoted, none is an operator."""
    return " ".join(f'"{word}"' for word in words)
