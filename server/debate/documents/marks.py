"""The server's marks after quotes: [checked], [checked, words left out], [not found in doc 1].

Nobody else can write them.

They follow from the facts and are added whenever a text is shown; the record keeps what was said.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from server.debate.arguments.sources import Source, find_source
from server.debate.documents.quotes import Quote, Span, find_quote, find_quotes, is_long_enough
from server.debate.state.debate import Debate

CHECKED, CHECKED_WITH_GAPS = "[checked]", "[checked, words left out]"

_BRACKETS = re.compile(r"[\[［【〔⟦❲⁅]([^\[\]［］【】〔〕⟦⟧]{0,80})[\]］】〕⟧❳⁆]")
_MARK_WORDS = re.compile("checked|notfound|foundindoc")
_LOOKALIKES = str.maketrans("сһеԁкпотοεκτυνςոօսհфᴄʜᴇᴅᴋᴏɴᴜᴛ", "chedknotoektuncnouhfchedkonut")
_PREFILTER = re.compile(r"[\[［【〔⟦❲⁅]")
_SHOWN = re.compile(r"\s?\[(?:checked(?:, words left out)?|not found in doc \d{1,4})\]")


@dataclass(frozen=True, slots=True)
class CheckedQuote:
    """A quotation in a text, and its position in the source."""

    quote: Quote
    source: Source | None  # None: no source has this number
    span: Span | None

    @property
    def mark(self) -> str:
        if self.span is None:
            return f"[not found in doc {self.quote.document}]"
        return CHECKED_WITH_GAPS if self.span.omits_words else CHECKED


def check_quotes(debate: Debate, text: str, version: int) -> list[CheckedQuote]:
    """The quotations in a text, looked up. `version`: that of the debate which its author had seen.

    A short one counts only where it is found together with what an earlier mark opens, as in “a” and “b” (doc 1).
    """
    checked_quotes = []
    for quote in find_quotes(text):
        source = find_source(debate, quote.document, version)
        span = find_quote(quote, source.text) if source else None
        if span or is_long_enough(quote.text):
            checked_quotes.append(CheckedQuote(quote, source, span))
    return checked_quotes


def mark_quotes(
    debate: Debate,
    text: str,
    version: int,
    rewrite: Callable[[str], str],
    start: int = 0,
    end: int | None = None,
) -> str:
    """The text with a mark after each quotation. `rewrite`: changes the text's own words.

    `start`, `end`: of the part to show, such as a point. Quotes are searched in the whole text.
    """
    marked_text, position = "", start
    end = len(text) if end is None else end
    for quote in check_quotes(debate, text, version):
        if position < quote.quote.end <= end:
            marked_text += f"{disarm_marks(rewrite(text[position : quote.quote.end]))} {quote.mark}"
            position = quote.quote.end
    return marked_text + disarm_marks(rewrite(text[position:end]))


def drop_marks(words: str) -> str:
    """Words copied from a shown text without the server's marks, which the text itself does not contain."""
    return _SHOWN.sub("", words)


def disarm_marks(text: str) -> str:
    """The text with round brackets in place of square ones where it looks like a mark."""
    return _BRACKETS.sub(_disarm, text) if _PREFILTER.search(text) else text


def _disarm(match: re.Match[str]) -> str:
    words = unicodedata.normalize("NFKD", match[1]).casefold().translate(_LOOKALIKES)
    letters = "".join(filter(str.isalpha, words))
    return f"({match[1]})" if _MARK_WORDS.search(letters) else match[0]
