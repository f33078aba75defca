"""The search index in SQLite: a table of FTS5 without the texts."""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from storage.columns import encode_words, list_marks
from storage.database import Session
from storage.search import LISTING_COLUMNS, SearchIndex
from storage.similarity import MAX_SHARING
from storage.sqlite.connections.connection import ReadOnlyError
from storage.streams import StreamSummary
from storage.words import BEGINNING, MAX_COMPARED_LENGTH

# The rowid is the stream's number, and inserting it again adds words: with `detail = none` the index is a set of (word,
# rowid). The prefix indexes make search-as-you-type fast.
CREATE_WORDS = """
create virtual table words using fts5 (
    text, content = '', columnsize = 0, detail = none,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'", prefix = '1 2 3'
)
"""

SEARCH_LISTINGS = f"""
select {LISTING_COLUMNS}
from words cross join stream on stream.number = words.rowid
where words match $6 and words.rowid < $1 and ($2 = '' or status = $2 and (name = any($4::text[])) = $5){{own}}
order by words.rowid desc limit $3
"""

# As many of one word as of any other, so that common ones do not take all the time.
SELECT_SHARING = f"""
select {{place}}, json_group_array(rowid) from (
    select rowid from words where words match ? order by rowid desc limit {MAX_SHARING}
)
"""

# Each word by itself: a search for all of them at once would begin with the first stream that has them.
SELECT_MISSING_WORD = """
select 1 from json_each($1) as word
where not exists (
    select 1 from words
    where words match '"' || word.value || '"' and rowid = (select number from stream where name = $2)
)
limit 1
"""

CREATE_WORD_COUNT = """
create virtual table if not exists temp.word_count using fts5vocab (main, words, row)
"""


class SqliteSearchIndex(SearchIndex):
    select_titles = f"""
    select number, substr(title, 1, {MAX_COMPARED_LENGTH}) from stream where number = any($1::bigint[]){{own}}
    """

    def build_search(
        self, words: Sequence[str], wanted: Sequence[str], unwanted: Sequence[str]
    ) -> tuple[str, list[Any]]:
        parts = [f"{join_words(words)}*"] if words else []
        parts += [join_words(wanted)] if wanted else []
        return SEARCH_LISTINGS, [exclude(f"({' AND '.join(parts)})", unwanted)]

    async def find_sharing(
        self, words: Sequence[str], status: str, owner: str | None
    ) -> dict[int, list[int]]:
        wanted, unwanted = list_marks(status, owner, is_final=True)
        matches = [
            exclude(f"({join_words([*wanted, word])}{'*' if len(word) == BEGINNING else ''})", unwanted)
            for word in words
        ]
        parts = [SELECT_SHARING.format(place=place) for place in range(len(words))]
        rows = await self._database.read(" union all ".join(parts), *matches)
        return {place: json.loads(numbers) for place, numbers in rows}

    async def add(self, session: Session, number: int, text: str) -> None:
        await session.fetch("insert into words (rowid, text) values ($1, $2)", number, text)

    async def forget(self, session: Session, number: int, summary: StreamSummary | None) -> None:
        if summary and (words := encode_words(summary)):
            sql = "insert into words (words, rowid, text) values ('delete', $1, $2)"
            await session.fetch(sql, number, words)

    def split(self, summary: StreamSummary) -> frozenset[str]:
        return frozenset(self.tokenizer.split(encode_words(summary)))

    async def has(self, stream: str, words: Collection[str]) -> bool:
        return not await self._database.read(SELECT_MISSING_WORD, list(words), stream)

    async def count(self) -> Mapping[str, int]:
        with suppress(ReadOnlyError):  # the check is a statement that writes
            await self._database.write("insert into words (words) values ('integrity-check')")
        await self._database.read(CREATE_WORD_COUNT)
        return dict(await self._database.read("select term, doc from temp.word_count"))

    async def clear(self) -> None:
        await self._database.write("insert into words (words) values ('delete-all')")

    async def merge(self) -> None:
        # 50 ms with ten thousand debates.
        await self._database.write("insert into words (words) values ('optimize')")


def exclude(match: str, unwanted: Sequence[str]) -> str:
    return " NOT ".join([match, *(join_words([mark]) for mark in unwanted)])


def join_words(words: Sequence[str]) -> str:
    """An expression of FTS5 for streams with all of these words. Quoted, none is an operator."""
    return " ".join(f'"{word}"' for word in words)
