"""The words of the search index: of texts, of queries, and the marks that stand for what does not change any more."""

import sqlite3
from collections.abc import Sequence

from storage.chain import FINAL_MARK, mark_status

MAX_QUERY_LENGTH = 4_000  # characters
MAX_QUERY_WORDS = 32

# With the tokenizer of the table `words`.
CREATE_TABLES = """
create virtual table given using fts5 (
    text, content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2'
);
create virtual table word using fts5vocab (given, instance);
"""


class Tokenizer:
    """Splits texts into words as the search index does.

    SQLite does it, in a database in memory: which characters belong to a word depends on its version.
    """

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = None

    def split(self, text: str) -> list[str]:
        """The words of a text in order."""
        if self._db is None:
            self._db = sqlite3.connect(":memory:", isolation_level=None)
            self._db.executescript(CREATE_TABLES)
        whole = text.encode(errors="replace").decode()  # half of a surrogate pair is in no word
        self._db.execute("insert into given (rowid, text) values (1, ?)", [whole])
        words = [word for (word,) in self._db.execute("select term from word order by offset")]
        self._db.execute("insert into given (given) values ('delete-all')")
        return words

    def close(self) -> None:
        if self._db:
            self._db.close()
            self._db = None


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
