"""Lists and searches of streams in the journal's SQLite file."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from anyio import to_thread

from storage.chain import parse_owners
from storage.contract.similarity import FindGroup, SimilarStream, find_family
from storage.contract.streams import ALL_STREAMS, Relative, StreamFilter, StreamListing
from storage.similarity import MAX_SHARING, SharedWords
from storage.sqlite.connections.database import Database
from storage.summaries import (
    LAST_CHARACTER,
    find_upper_bound,
    list_marks,
    parse_changes,
    parse_listing,
)
from storage.words import BEGINNING, MAX_COMPARED_LENGTH, Tokenizer

_LISTING_COLUMNS = (
    "name, number, title, status, details, opened_at, changed_at, family, seq, lower(hex(head)), owner, seal"
)
_STREAMS = "(select value from json_each(?5))"

# Each with a place for the condition that the streams are those of an owner, which is the last value then.
SEARCH_LISTINGS = f"""
select {_LISTING_COLUMNS}
from words cross join stream on stream.number = words.rowid
where words match ?1 and words.rowid < ?2 and (?3 = '' or status = ?3 and (name in {_STREAMS}) = ?6){{own}}
order by words.rowid desc limit ?4
"""

SELECT_LISTINGS = f"""
select {_LISTING_COLUMNS}
from stream where number < ?1{{own}} order by number desc limit ?2
"""

SELECT_LISTINGS_BY_STATUS = f"""
select {_LISTING_COLUMNS}
from stream where status = ?1 and number < ?2 and changed_at >= ?3 and name not in {_STREAMS}{{own}}
order by number desc limit ?4
"""

# Sorts no more than the streams that are given; going through all of a status could find none of them for long.
SELECT_LISTINGS_OF_STREAMS = f"""
select {_LISTING_COLUMNS}
from stream where name in {_STREAMS} and +status = ?1 and number < ?2 and changed_at >= ?3{{own}}
order by number desc limit ?4
"""

# A range needs no escaping, and goes through the index for no more rows than the limit.
SELECT_BY_PREFIX = "select name from stream where name >= ?1 and name < ?2{own} order by name limit ?3"

SELECT_OWNERS = """
select name, owner, null from stream where name in (select value from json_each(?1))
union all
select stream, null, entry from journal where seq = 0 and stream in (select value from json_each(?1))
"""

# As many of one word as of any other, so that common ones do not take all the time.
SELECT_SHARING = f"""
select {{place}}, json_group_array(rowid) from (
    select rowid from words where words match ? order by rowid desc limit {MAX_SHARING}
)
"""
COUNT_STATUS = "select count(*) from stream where status = ?1{own}"
SELECT_TITLES = f"""
select number, substr(title, 1, {MAX_COMPARED_LENGTH}) from stream
where number in (select value from json_each(?1)){{own}}
"""
SELECT_NUMBERED = f"""
select {_LISTING_COLUMNS} from stream where number in (select value from json_each(?1)){{own}}
"""

SELECT_FAMILY = """
select name, parent from (
    select name, parent, number from stream where name = ?1{own}
    union all
    select name, parent, number from stream where family = ?1 and family <> '' and name <> ?1{own}
) order by number desc
"""

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
        only: StreamFilter = ALL_STREAMS,
        *,
        before: int = 0,
        limit: int = 20,
        owner: str | None = None,
    ) -> list[StreamListing]:
        until = find_upper_bound(before)
        names = json.dumps(list(only.streams))
        statement: tuple[Any, ...] = (SELECT_LISTINGS, until, limit)
        if query.strip():
            words = self._tokenizer.split_query(query)
            if not words:
                return []
            match = build_match(words, *list_marks(only.status, owner, is_final=only.is_final))
            statement = (SEARCH_LISTINGS, match, until, only.status, limit, names, only.inside)
        elif only.status:
            sql = SELECT_LISTINGS_OF_STREAMS if only.inside else SELECT_LISTINGS_BY_STATUS
            statement = (sql, only.status, until, only.changed_since, limit, names)
        return [parse_listing(row) for row in await self._db.reader.fetch_all(*narrow(owner, *statement))]

    async def find_similar(
        self,
        text: str,
        *,
        status: str,
        owner: str | None = None,
        limit: int = 20,
        min_share: float = 0,
        find_group: FindGroup = find_family,
    ) -> list[SimilarStream]:
        words, reader = self._tokenizer.split_compared(text), self._db.reader
        if not words:
            return []
        wanted, unwanted = list_marks(status, owner, is_final=True)
        matches = [build_compared_match(word, wanted, unwanted) for word in words]
        parts = [SELECT_SHARING.format(place=place) for place in range(len(words))]
        rows = await reader.fetch_all(" union all ".join(parts), *matches)
        found = {place: json.loads(numbers) for place, numbers in rows}
        [(total,)] = await reader.fetch_all(*narrow(owner, COUNT_STATUS, status))
        numbers = json.dumps([*set().union(*found.values())])
        titles = dict(await reader.fetch_all(*narrow(owner, SELECT_TITLES, numbers)))
        shared = await to_thread.run_sync(SharedWords.weigh, words, found, titles, total)
        return await shared.rank(
            lambda numbers: reader.fetch_all(*narrow(owner, SELECT_NUMBERED, json.dumps(numbers))),
            find_group,
            min_share=min_share,
            limit=limit,
        )

    async def find_by_prefix(self, prefix: str, *, limit: int = 100, owner: str | None = None) -> list[str]:
        statement = (SELECT_BY_PREFIX, prefix, prefix + LAST_CHARACTER, limit)
        rows = await self._db.reader.fetch_all(*narrow(owner, *statement))
        return [name for (name,) in rows]

    async def find_family(self, root: str, *, owner: str | None = None) -> list[Relative]:
        rows = await self._db.reader.fetch_all(*narrow(owner, SELECT_FAMILY, root))
        return [Relative(*row) for row in rows]

    async def find_owners(self, streams: Collection[str]) -> Mapping[str, str]:
        rows = await self._db.reader.fetch_all(SELECT_OWNERS, json.dumps(list(streams)))
        return dict(parse_owners(rows))

    async def find_changes(self, after: int) -> tuple[int, list[str]]:
        if after < 0:
            rows = await self._db.reader.fetch_all(SELECT_POSITION)
            return rows[0][0], []
        # SQLite serialises writers, so positions become visible in order.
        return parse_changes(await self._db.reader.fetch_all(SELECT_CHANGES, after), after)


def narrow(owner: str | None, sql: str, *values: Any) -> tuple[Any, ...]:
    """A statement and its values, for the streams of an owner; for all with None."""
    if owner is None:
        return sql.format(own=""), *values
    return sql.format(own=f" and stream.owner = ?{len(values) + 1}"), *values, owner


def build_match(words: Sequence[str], wanted: Sequence[str], unwanted: Sequence[str]) -> str:
    """An expression of FTS5 for streams with all of these words, the last of them a prefix.

    `wanted`, `unwanted`: marks, which are looked up in the index, too. Else a search for a common word could go through
    all streams in vain.
    """
    match = f"({join_words(words)}*)"
    match = f"({match} AND {join_words(wanted)})" if wanted else match
    return " NOT ".join([match, *(join_words([mark]) for mark in unwanted)])


def build_compared_match(word: str, wanted: Sequence[str], unwanted: Sequence[str]) -> str:
    """As `build_match`, for streams with a word of `Tokenizer.split_compared`."""
    match = join_words([*wanted, word]) + ("*" if len(word) == BEGINNING else "")
    return " NOT ".join([f"({match})", *(join_words([mark]) for mark in unwanted)])


def join_words(words: Sequence[str]) -> str:
    """An expression for streams with all of these words. Quoted, none is an operator."""
    return " ".join(f'"{word}"' for word in words)
