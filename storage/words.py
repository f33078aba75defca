"""The words of the search index: of texts and of queries, for every database the same."""

import sqlite3

from storage.columns import separate_words

MAX_QUERY_LENGTH = 4_000  # characters
MAX_QUERY_WORDS = 32

MAX_COMPARED_LENGTH = 4_000  # characters
MAX_COMPARED_WORDS = 48
FIRST_COMPARED_LENGTH = 600
"""Where so many characters have more words than that, those after them are not split: it would change nothing."""

BEGINNING = 5
"""Characters: longer words that begin alike are compared as one, so that inflected ones are found (`rewrite`,
`rewriting`). On the questions of docs/memory.md that finds as many as an English stemmer, in any language; with
four characters more unrelated ones are found, with six fewer inflected ones."""

# With the tokenizer of the table `words` of the SQLite journal.
CREATE_TABLES = """
create virtual table given using fts5 (
    text, content = '', columnsize = 0, tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
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
        """The words of a text in order; accents that belong to no letter are none."""
        if self._db is None:
            self._db = sqlite3.connect(":memory:", isolation_level=None)
            self._db.executescript(CREATE_TABLES)
        encodable = text.encode(errors="replace").decode()  # half of a surrogate pair is in no word
        self._db.execute("insert into given (rowid, text) values (1, ?)", [encodable])
        words = [
            word for (word,) in self._db.execute("select term from word where term <> '' order by offset")
        ]
        self._db.execute("insert into given (given) values ('delete-all')")
        return words

    def split_query(self, query: str) -> list[str]:
        """Its words, as many as count; the last one stands for all that begin so."""
        return self.split(separate_words(query[:MAX_QUERY_LENGTH]))[:MAX_QUERY_WORDS]

    def split_compared(self, text: str) -> list[str]:
        """The words by which a text is compared, or of long ones their beginnings, each once."""
        words = self._split_beginnings(text[:FIRST_COMPARED_LENGTH])
        if len(words) <= MAX_COMPARED_WORDS and len(text) > FIRST_COMPARED_LENGTH:
            words = self._split_beginnings(text[:MAX_COMPARED_LENGTH])
        return words[:MAX_COMPARED_WORDS]  # without the last of too many, which may be cut

    def _split_beginnings(self, text: str) -> list[str]:
        return list(dict.fromkeys(word[:BEGINNING] for word in self.split(separate_words(text))))

    def close(self) -> None:
        if self._db:
            self._db.close()
            self._db = None
