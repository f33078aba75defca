"""The search index in PostgreSQL: a table of words."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from storage.columns import LAST_CHARACTER, encode_words, mark_status
from storage.database import Session
from storage.lists import narrow
from storage.search import LISTING_COLUMNS, SearchIndex
from storage.similarity import MAX_COMPARED, MAX_HAVING, MAX_SHARING
from storage.streams import StreamSummary
from storage.words import BEGINNING, MAX_COMPARED_LENGTH

MAX_WORD_LENGTH = 500
"""Characters of a word that count: an entry of an index has less than a third of a page."""

CREATE_WORDS = (
    """
    create table word (
        number bigint not null,
        word text collate "C" not null,
        primary key (number, word)
    )
    """,
    "create index word_by_word on word (word, number)",
)

ADD_WORDS = "insert into word (number, word) select $1, unnest($2::text[]) on conflict do nothing"

DELETE_WORDS = """
delete from word using stream
where stream.name = $1 and word.number = stream.number and word.word = any($2::text[])
"""

# Who writes words holds the stream.
CLEAR_WORDS = """
with held as materialized (select number from stream order by name for no key update)
delete from word where (select count(*) from held) >= 0
"""

COUNT_FOUND = """
select count(*) from stream join word on word.number = stream.number
where stream.name = $1 and word.word = any($2::text[])
"""

# As many of one word as of any other, so that common ones do not take all the time.
SELECT_SHARING = f"""
with compared as materialized (
    select stream.number from word as mark join stream on stream.number = mark.number
    where mark.word = $3{{own}} order by mark.number desc limit {MAX_COMPARED}
)
select given.place - 1, array(
    select distinct found.number
    from (
        select word.number from word where word.word between given.first and given.last
        order by word.word desc, word.number desc limit {MAX_HAVING}
    ) as found join compared on compared.number = found.number
    order by found.number desc limit {MAX_SHARING}
)
from unnest($1::text[], $2::text[]) with ordinality as given (first, last, place)
"""


class PostgresSearchIndex(SearchIndex):
    # Long titles of two thousand streams would take the event loop tens of milliseconds to read. Not by md5, which a
    # server in FIPS mode refuses.
    select_titles = f"""
    select number, sha256(convert_to(left(title, {MAX_COMPARED_LENGTH}), 'UTF8'))
    from stream where number = any($1::bigint[]){{own}}
    """

    def build_search(
        self, words: Sequence[str], wanted: Sequence[str], unwanted: Sequence[str]
    ) -> tuple[str, list[Any]]:
        whole_words = list(dict.fromkeys([*map(cut_word, words[:-1]), *wanted]))
        prefixes = [cut_word(word) for word in words[-1:]]
        values = [*whole_words, *prefixes, *(prefix + LAST_CHARACTER for prefix in prefixes)]
        joins = "".join(
            f" join word as w{place} on w{place}.number = stream.number and w{place}.word = ${place}"
            for place, _ in enumerate(whole_words, start=6)
        )
        begins = 6 + len(whole_words)
        begin = f"word.word >= ${begins} and word.word < ${begins + 1}"
        has_prefix = f" and exists (select 1 from word where word.number = stream.number and {begin})"
        has_mark = "exists (select 1 from word where word.number = stream.number and word.word = '{mark}')"
        without_marks = "".join(f" and not {has_mark.format(mark=mark)}" for mark in unwanted)
        sql = f"""
            select {LISTING_COLUMNS} from stream{joins}
            where stream.number < $1{has_prefix if words else ""}
                and ($2 = '' or status = $2 and (name = any($4::text[])) = $5){without_marks}{{own}}
            order by stream.number desc limit $3
        """
        return sql, values

    async def find_sharing(
        self, words: Sequence[str], status: str, owner: str | None
    ) -> dict[int, list[int]]:
        upper_bounds = [word + LAST_CHARACTER if len(word) == BEGINNING else word for word in words]
        statement = narrow(owner, SELECT_SHARING, list(words), upper_bounds, mark_status(status))
        return dict(await self._database.read(*statement))

    async def add(self, session: Session, number: int, text: str) -> None:
        await session.fetch(ADD_WORDS, number, self.split_text(text))

    async def remove(self, session: Session, stream: str, text: str) -> None:
        """Take the words of a text from those of a stream."""
        await session.fetch(DELETE_WORDS, stream, self.split_text(text))

    async def forget(self, session: Session, number: int, summary: StreamSummary | None) -> None:  # noqa: ARG002
        await session.fetch("delete from word where number = $1", number)

    def split(self, summary: StreamSummary) -> frozenset[str]:
        return frozenset(self.split_text(encode_words(summary)))

    def split_text(self, text: str) -> list[str]:
        """The words of a text as the index has them, each once."""
        return sorted({cut_word(word) for word in self.tokenizer.split(text)})

    async def has(self, stream: str, words: Collection[str]) -> bool:
        wanted = {cut_word(word) for word in words}
        [(count,)] = await self._database.read(COUNT_FOUND, stream, sorted(wanted))
        return bool(count == len(wanted))

    async def count(self) -> Mapping[str, int]:
        sql = "select word, count(*) from word group by word"
        return dict(await self._database.read(sql, is_long=True))

    async def clear(self) -> None:
        await self._database.write(CLEAR_WORDS)


def cut_word(word: str) -> str:
    return word[:MAX_WORD_LENGTH]
