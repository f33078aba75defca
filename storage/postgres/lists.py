"""Lists and searches of streams in PostgreSQL."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from anyio import to_thread

from storage.chain import parse_owners
from storage.contract.similarity import FindGroup, SimilarStream, find_family
from storage.contract.streams import ALL_STREAMS, Relative, StreamFilter, StreamListing
from storage.postgres.appends import cut_word
from storage.postgres.connections.pool import Database
from storage.similarity import MAX_SHARING, SharedWords
from storage.summaries import (
    LAST_CHARACTER,
    find_upper_bound,
    list_marks,
    mark_status,
    parse_changes,
    parse_listing,
)
from storage.words import BEGINNING, MAX_COMPARED_LENGTH, Tokenizer

_HEAD_COLUMNS = "seq, encode(head, 'hex'), owner, seal"
_LISTING_COLUMNS = (
    f"name, stream.number, title, status, details, opened_at, changed_at, family, {_HEAD_COLUMNS}"
)

# Each with a place for the condition that the streams are those of an owner, which is the last value then.
SELECT_LISTINGS = f"""
select {_LISTING_COLUMNS} from stream where number < $1{{own}} order by number desc limit $2
"""

SELECT_LISTINGS_BY_STATUS = f"""
select {_LISTING_COLUMNS} from stream
where status = $1 and number < $2 and changed_at >= $3 and name <> all($5::text[]){{own}}
order by number desc limit $4
"""

SELECT_LISTINGS_OF_STREAMS = f"""
select {_LISTING_COLUMNS} from stream
where name = any($5::text[]) and status = $1 and number < $2 and changed_at >= $3{{own}}
order by number desc limit $4
"""

# A range needs no escaping, and goes through the index for no more rows than the limit.
SELECT_BY_PREFIX = "select name from stream where name >= $1 and name < $2{own} order by name limit $3"

SELECT_OWNERS = """
select name, owner, null from stream where name = any($1::text[])
union all
select stream, null, entry from journal where seq = 0 and stream = any($1::text[])
"""

# As many of one word as of any other, so that common ones do not take all the time.
SELECT_SHARING = f"""
select given.place - 1, array(
    select distinct stream.number
    from word join word as mark on mark.number = word.number and mark.word = $3
        join stream on stream.number = word.number
    where word.word between given.first and given.last{{own}}
    order by stream.number desc limit {MAX_SHARING}
)
from unnest($1::text[], $2::text[]) with ordinality as given (first, last, place)
"""
COUNT_STATUS = "select count(*) from stream where status = $1{own}"
SELECT_TITLES = f"""
select number, sha256(convert_to(left(title, {MAX_COMPARED_LENGTH}), 'UTF8'))
from stream where number = any($1::bigint[]){{own}}
"""
"""Long titles of two thousand streams would take the event loop tens of milliseconds to read.

Not by md5, which a server in FIPS mode refuses.
"""
SELECT_NUMBERED = f"select {_LISTING_COLUMNS} from stream where number = any($1::bigint[]){{own}}"

SELECT_FAMILY = """
select name, parent from (
    select name, parent, number from stream where name = $1{own}
    union all
    select name, parent, number from stream where family = $1 and family <> '' and name <> $1{own}
) as member order by number desc
"""

SELECT_POSITION = "select value from counter where name = 'journal'"
SELECT_CHANGES = "select max(position), stream from journal where position > $1 group by stream order by 1"


class PostgresLists:
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
        names = list(only.streams)
        statement: tuple[Any, ...] = (SELECT_LISTINGS, until, limit)
        if query.strip():
            words = self._tokenizer.split_query(query)
            if not words:
                return []
            marks = list_marks(only.status, owner, is_final=only.is_final)
            search = build_search([cut_word(word) for word in words], *marks)
            statement = (search[0], until, only.status, limit, names, only.inside, *search[1])
        elif only.status:
            sql = SELECT_LISTINGS_OF_STREAMS if only.inside else SELECT_LISTINGS_BY_STATUS
            statement = (sql, only.status, until, only.changed_since, limit, names)
        return [parse_listing(row) for row in await self._db.fetch(*narrow(owner, *statement))]

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
        words = self._tokenizer.split_compared(text)
        if not words:
            return []
        last = [word + LAST_CHARACTER if len(word) == BEGINNING else word for word in words]
        found = dict(await self._db.fetch(*narrow(owner, SELECT_SHARING, words, last, mark_status(status))))
        [(total,)] = await self._db.fetch(*narrow(owner, COUNT_STATUS, status))
        numbers = [*set().union(*found.values())]
        titles = dict(await self._db.fetch(*narrow(owner, SELECT_TITLES, numbers)))
        shared = await to_thread.run_sync(SharedWords.weigh, words, found, titles, total)
        return await shared.rank(
            lambda numbers: self._db.fetch(*narrow(owner, SELECT_NUMBERED, numbers)),
            find_group,
            min_share=min_share,
            limit=limit,
        )

    async def find_by_prefix(self, prefix: str, *, limit: int = 100, owner: str | None = None) -> list[str]:
        statement = narrow(owner, SELECT_BY_PREFIX, prefix, prefix + LAST_CHARACTER, limit)
        return [name for (name,) in await self._db.fetch(*statement)]

    async def find_family(self, root: str, *, owner: str | None = None) -> list[Relative]:
        return [Relative(*row) for row in await self._db.fetch(*narrow(owner, SELECT_FAMILY, root))]

    async def find_owners(self, streams: Collection[str]) -> Mapping[str, str]:
        return dict(parse_owners(await self._db.fetch(SELECT_OWNERS, list(streams))))

    async def find_changes(self, after: int) -> tuple[int, list[str]]:
        if after < 0:
            return int((await self._db.fetch(SELECT_POSITION))[0][0]), []
        return parse_changes(await self._db.fetch(SELECT_CHANGES, after), after)


def narrow(owner: str | None, sql: str, *values: Any) -> tuple[Any, ...]:
    """A statement and its values, for the streams of an owner; for all with None."""
    if owner is None:
        return sql.format(own=""), *values
    return sql.format(own=f" and stream.owner = ${len(values) + 1}"), *values, owner


def build_search(
    words: Sequence[str], wanted: Sequence[str], unwanted: Sequence[str]
) -> tuple[str, list[str]]:
    """A statement for streams with all of these words, the last of them a prefix; and its values from $6 on.

    `wanted`, `unwanted`: marks, which are looked up in the index, too.
    """
    *whole, prefix = words
    whole = list(dict.fromkeys([*whole, *wanted]))
    values = [*whole, prefix, prefix + LAST_CHARACTER]
    joins = "".join(
        f" join word as w{place} on w{place}.number = stream.number and w{place}.word = ${place}"
        for place, _ in enumerate(whole, start=6)
    )
    begins = 6 + len(whole)
    has_mark = "exists (select 1 from word where word.number = stream.number and word.word = '{mark}')"
    without_marks = "".join(f" and not {has_mark.format(mark=mark)}" for mark in unwanted)
    sql = f"""
        select {_LISTING_COLUMNS} from stream{joins}
        where stream.number < $1 and exists (
            select 1 from word
            where word.number = stream.number and word.word >= ${begins} and word.word < ${begins + 1}
        ) and ($2 = '' or status = $2 and (name = any($4::text[])) = $5){without_marks}{{own}}
        order by stream.number desc limit $3
    """
    return sql, values
