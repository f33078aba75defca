"""Lists and searches of streams: the rows that appends keep beside the entries."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from anyio import to_thread

from storage.chain import parse_tombstone
from storage.columns import LAST_CHARACTER, find_upper_bound, list_marks, parse_listing
from storage.database import Database
from storage.search import LISTING_COLUMNS, SearchIndex
from storage.similarity import MAX_COMPARED, FindGroup, SharedWords, SimilarStream, find_family
from storage.streams import ALL_STREAMS, Relative, StreamFilter, StreamListing

# Each with a place for the condition that the streams are those of an owner, which is the last value then.
SELECT_LISTINGS = f"""
select {LISTING_COLUMNS} from stream where number < $1{{own}} order by number desc limit $2
"""

SELECT_LISTINGS_BY_STATUS = f"""
select {LISTING_COLUMNS} from stream
where status = $1 and number < $2 and changed_at >= $3 and name <> all($5::text[]){{own}}
order by number desc limit $4
"""

# Sorts no more than the streams that are given: going through all of a status, which SQLite would do without `|| ''`,
# could find none of them for long.
SELECT_LISTINGS_OF_STREAMS = f"""
select {LISTING_COLUMNS} from stream
where name = any($5::text[]) and status || '' = $1 and number < $2 and changed_at >= $3{{own}}
order by number desc limit $4
"""

# A range needs no escaping, and goes through the index for no more rows than the limit.
SELECT_BY_PREFIX = "select name from stream where name >= $1 and name < $2{own} order by name limit $3"

SELECT_OWNERS = """
select name, owner, null from stream where name = any($1::text[])
union all
select stream, null, entry from journal where seq = 0 and stream = any($1::text[])
"""

SELECT_NUMBERED = f"select {LISTING_COLUMNS} from stream where number = any($1::bigint[]){{own}}"

COUNT_COMPARED = f"""
select count(*) from (select 1 from stream where status = $1{{own}} limit {MAX_COMPARED}) as compared
"""

SELECT_FAMILY = """
select name, parent from (
    select name, parent, number from stream where name = $1{own}
    union all
    select name, parent, number from stream where family = $1 and family <> '' and name <> $1{own}
) as member order by number desc
"""


class Lists:
    """Serves lists and searches of debates, completion of their ids, and memory.

    Methods with an `owner` know only the streams of that owner, as if there were no others; None: of all.
    """

    def __init__(self, database: Database, index: SearchIndex) -> None:
        self._database, self._index = database, index

    async def find(
        self,
        query: str = "",
        only: StreamFilter = ALL_STREAMS,
        *,
        before: int = 0,
        limit: int = 20,
        owner: str | None = None,
    ) -> list[StreamListing]:
        """Streams that match every word of the query (the last word as a prefix), newest first.

        Any text is a valid query; of a long one the beginning counts. `before`: the last `number` that was seen, or 0.
        """
        bound, names = find_upper_bound(before), list(only.streams)
        statement: tuple[Any, ...] = (SELECT_LISTINGS, bound, limit)
        if query.strip() or only.values:
            words = self._index.tokenizer.split_query(query)
            if query.strip() and not words:
                return []
            marks = list_marks(only.status, owner, is_final=only.is_final, values=only.values)
            sql, values = self._index.build_search(words, *marks)
            statement = (sql, bound, only.status, limit, names, only.inside, *values)
        elif only.status:
            sql = SELECT_LISTINGS_OF_STREAMS if only.inside else SELECT_LISTINGS_BY_STATUS
            statement = (sql, only.status, bound, only.changed_since, limit, names)
        return [parse_listing(row) for row in await self._database.read(*narrow(owner, *statement))]

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
        """Streams that keep this status and share words with a text, most similar first; of two alike the newer one.

        Of each group the most similar one, of a family by default: the others, and what is in none, take no place,
        however many there are. `min_share`: what is shared at least.

        Any text is valid. A word counts the more the fewer streams of the owner have it, as in BM25, and most in a
        title; one that a thousand have does not count. Every kind of database finds the same in the same order.
        """
        words = self._index.tokenizer.split_compared(text)
        if not words:
            return []
        sharing = await self._index.find_sharing(words, status, owner)
        [(total,)] = await self._database.read(*narrow(owner, COUNT_COMPARED, status))
        numbers = [*set().union(*sharing.values())]
        titles = dict(await self._database.read(*narrow(owner, self._index.select_titles, numbers)))
        shared_words = await to_thread.run_sync(SharedWords.weigh, words, sharing, titles, total)

        async def read(numbers: Sequence[int]) -> Iterable[Sequence[Any]]:
            return await self._database.read(*narrow(owner, SELECT_NUMBERED, list(numbers)))

        return await shared_words.rank(read, find_group, min_share=min_share, limit=limit)

    async def find_by_prefix(self, prefix: str, *, limit: int = 100, owner: str | None = None) -> list[str]:
        """Streams whose name begins with the prefix, by name."""
        statement = narrow(owner, SELECT_BY_PREFIX, prefix, prefix + LAST_CHARACTER, limit)
        return [name for (name,) in await self._database.read(*statement)]

    async def find_family(self, root: str, *, owner: str | None = None) -> list[Relative]:
        """The stream of this name, if it is there, and those of its family (`StreamSummary.family`), newest first.

        In one statement, through an index, however many there are and however far they are from each other.
        """
        return [Relative(*row) for row in await self._database.read(*narrow(owner, SELECT_FAMILY, root))]

    async def find_owners(self, streams: Collection[str]) -> Mapping[str, str]:
        """Whose each of these streams is, or was before it was deleted; unknown ones are left out."""
        return dict(parse_owners(await self._database.read(SELECT_OWNERS, list(streams))))


def narrow(owner: str | None, sql: str, *values: Any) -> tuple[Any, ...]:
    """A statement and its values, for the streams of an owner; for all with None."""
    if owner is None:
        return sql.replace("{own}", ""), *values
    return sql.replace("{own}", f" and stream.owner = ${len(values) + 1}"), *values, owner


def parse_owners(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[str, str]]:
    """(stream, owner) from (stream, its owner, the entry that stands in its place), of which one is null."""
    for stream, owner, text in rows:
        if text is None:
            yield stream, owner
        elif tombstone := parse_tombstone(stream, text):
            yield stream, tombstone.owner
