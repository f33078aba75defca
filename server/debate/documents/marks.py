"""The marks of the server behind quotes: [checked], [checked, words left out], [not found in doc 1].

Nobody else can write them.

They follow from the facts, and are set whenever a text is shown: the record keeps what was said.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from server.debate.arguments.sources import Source, find_source
from server.debate.documents.quotes import Quote, Span, find_quote, find_quotes
from server.debate.state.debate import Debate

CHECKED, CHECKED_WITH_GAPS = "[checked]", "[checked, words left out]"

_BRACKETS = re.compile(r"[\[［【〔⟦❲⁅]([^\[\]［］【】〔〕⟦⟧]{0,80})[\]］】〕⟧❳⁆]")
_MARK_WORDS = re.compile("checked|notfound|foundindoc")
_LOOKALIKES = str.maketrans("сһеԁкпотοεκτυνςոօսհфᴄʜᴇᴅᴋᴏɴᴜᴛ", "chedknotoektuncnouhfchedkonut")
_PREFILTER = re.compile(r"[\[［【〔⟦❲⁅]")
_SHOWN = re.compile(r"\s?\[(?:checked(?:, words left out)?|not found in doc \d{1,4})\]")


@dataclass(frozen=True, slots=True)
class CheckedQuote:
    """A quotation of a text, and where its source holds it."""

    quote: Quote
    source: Source | None  # None: there is none of this number
    span: Span | None

    @property
    def mark(self) -> str:
        if self.span is None:
            return f"[not found in doc {self.quote.document}]"
        return CHECKED_WITH_GAPS if self.span.omits_words else CHECKED


def check_quotes(debate: Debate, text: str, seen: int) -> list[CheckedQuote]:
    """The quotations of a text whose author had seen this version of the debate, each looked up."""
    checked = []
    for quote in find_quotes(text):
        source = find_source(debate, quote.document, seen)
        checked.append(CheckedQuote(quote, source, find_quote(quote, source.text) if source else None))
    return checked


def mark_quotes(
    debate: Debate,
    text: str,
    seen: int,
    rewrite: Callable[[str], str],
    start: int = 0,
    end: int | None = None,
) -> str:
    """The text as it is shown, with a mark after each quotation. `rewrite`: how its own words are shown.

    `start`, `end`: of the part that is shown, such as a point. Quotes are those of the whole.
    """
    shown, last = "", start
    end = len(text) if end is None else end
    for checked in check_quotes(debate, text, seen):
        if last < checked.quote.end <= end:
            shown += f"{disarm_marks(rewrite(text[last : checked.quote.end]))} {checked.mark}"
            last = checked.quote.end
    return shown + disarm_marks(rewrite(text[last:end]))


def drop_marks(words: str) -> str:
    """Words copied from a text as it was shown, without the marks, which the text itself does not have."""
    return _SHOWN.sub("", words)


def disarm_marks(text: str) -> str:
    """The text with round brackets where it could pass for a mark."""
    return _BRACKETS.sub(_disarm, text) if _PREFILTER.search(text) else text


def _disarm(match: re.Match[str]) -> str:
    words = unicodedata.normalize("NFKD", match[1]).casefold().translate(_LOOKALIKES)
    letters = "".join(filter(str.isalpha, words))
    return f"({match[1]})" if _MARK_WORDS.search(letters) else match[0]
