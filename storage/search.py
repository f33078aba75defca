"""The search index: which streams have which words. The databases keep it differently; the words are the same."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from storage.database import Database, Session
from storage.streams import StreamSummary
from storage.words import Tokenizer

LISTING_COLUMNS = (
    "name, stream.number, title, status, details, opened_at, changed_at, family, seq, head, owner, seal"
)


class SearchIndex(ABC):
    """Serves lists and memory, which look up words, and `counterpoint db check`, which compares and rebuilds it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.tokenizer = Tokenizer()

    @abstractmethod
    def build_search(
        self, words: Sequence[str], wanted: Sequence[str], unwanted: Sequence[str]
    ) -> tuple[str, list[Any]]:
        """A statement that lists streams with all of these words, the last of them a prefix; and its values from $6 on.

        `wanted`, `unwanted`: marks, which are looked up in the index, too: else a search for a common word could go
        through all streams in vain. Without words some are wanted. $1: the number that those of the streams are below;
        $2: their status, if it is not ""; $3: how many; $4: names, among which they are if $5, and else are not.
        `{own}`: a place for one more condition.
        """

    @abstractmethod
    async def find_sharing(
        self, words: Sequence[str], status: str, owner: str | None
    ) -> dict[int, list[int]]:
        """The numbers of the newest streams that have a word, or one that begins so, by the place of the word."""

    select_titles: str
    """Numbers ($1) and titles of streams, or what stands for them. `{own}`: a place for one more condition."""

    @abstractmethod
    async def add(self, session: Session, number: int, text: str) -> None:
        """Add the words of a text to those of a stream."""

    @abstractmethod
    async def forget(self, session: Session, number: int, summary: StreamSummary | None) -> None:
        """Take out the words of a stream. `summary`: with all of them."""

    @abstractmethod
    def split(self, summary: StreamSummary) -> frozenset[str]:
        """The words by which the index has a stream with this summary."""

    @abstractmethod
    async def has(self, stream: str, words: Collection[str]) -> bool:
        """Whether the index has a stream by all of these words."""

    @abstractmethod
    async def count(self) -> Mapping[str, int]:
        """The words of the index, with the number of streams that have each. Raises StorageError: it is damaged."""

    @abstractmethod
    async def clear(self) -> None:
        """Empty the index, so that it can be filled again."""

    async def merge(self) -> None:  # noqa: B027  (a server does so by itself)
        """Write the index anew where it holds words that deletions took out."""
