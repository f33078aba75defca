"""Quotes of documents in a text: “…” (doc 1), or code (doc 1). Whether the document holds them, and where.

A quote is found only if the document contains all of it, word for word, apart from typography (`folding`). It may leave
out words at an ellipsis; then each part must follow soon after the one before. Left-out words may change the meaning.
The server does not judge that, in any language, but it says that words were left out.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from server.debate.documents.folding import (
    FoldedText,
    drop_tight_dashes,
    fold,
    fold_document,
    fold_without_dashes,
    is_division_of,
)

FEWEST_WORDS = 4
"""Shorter quotes are not looked up: they are terms, or found everywhere."""

LONGEST_GAP = 2_000
"""Characters that an ellipsis may replace."""

MOST_QUOTES = 200
"""Of one text; further ones are not looked up."""

MOST_KNOWN = 4096
"""Quotes of a document whose positions are cached."""

REFERENCE = re.compile(
    r"[(\[（［【]\s*"
    r"(?:docs?|documents?|dokumente?|dok|documentos?|documenti|документ|док|文档|文檔|文件|文書|資料|문서)"
    r"\.?\s*(?:no\.?|nr\.?|#|№)?\s*(?P<number>\d{1,4})(?!\d)"
    r"[^()\[\]（）［］【】\n]{0,60}[)\]）］】]",
    re.IGNORECASE,
)

_OPENERS = {
    "''": ("``",),
    "”": ("“", "„", "‟", "〝", "”"),
    "“": ("„",),
    '"': ('"',),
    "＂": ("＂",),
    "»": ("«", "»"),
    "«": ("»",),
    "›": ("‹", "›"),
    "‹": ("›",),
    "’": ("‘", "‚"),
    "‘": ("‚",),
    "'": ("'",),
    "」": ("「",),
    "』": ("『",),
    "｣": ("｢",),
    "〞": ("〝",),
    "〟": ("〝",),
}
"""Closing marks of quotations, with their opening marks in the languages that use them."""

_BEFORE_REFERENCE = re.compile(r"[\s.,;:!?*_]{0,4}$")
_BEFORE_QUOTE = frozenset(" \t\n([{（—–-:/*_")
_PARAGRAPH = re.compile(r"\n\s*\n")
_ELLIPSIS = re.compile(r"\s*(?:\[\s*\.\.\.\s*\]|\(\s*\.\.\.\s*\)|\.\.\.)\s*")
_INLINE_CODE = re.compile(r"(?<!`)(`+)([^`\n]+)\1$")
_BEHIND_FENCE = re.compile(r"[\s.,;:!?*_>]{0,16}")
_FENCE = re.compile(
    r"^(?P<before>(?:[ \t>]|(?P<item>[-*+][ \t]|\d{1,9}[.)][ \t]))*)(?P<marks>`{3,}|~{3,})(?P<after>[^\n]*)",
    re.MULTILINE,
)
_QUOTE_MARKS = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation with a reference to a document: from `start`, its opening mark, to the end of the reference."""

    text: str
    document: int  # its number in the reference, from 1
    start: int
    end: int
    wider: str = ""  # the quotation if an earlier mark opens it; "" without one


@dataclass(frozen=True, slots=True)
class Span:
    """The position of a quote in a document, in characters."""

    start: int
    end: int
    omits_words: bool = False  # at an ellipsis of the quote


class _Fence(NamedTuple):
    """A block of code between lines of ``` or ~~~."""

    start: int
    code: int  # where it begins
    code_end: int
    end: int
    is_quoted: bool  # its lines begin with >

    def read(self, text: str, start: int, end: int) -> str:
        """The code in a part of the text."""
        return (_QUOTE_MARKS.sub("", text[start:end]) if self.is_quoted else text[start:end]).strip()


@lru_cache(maxsize=1024)
def find_quotes(text: str) -> tuple[Quote, ...]:
    """The quotations in a text that are followed by a reference to a document; short ones are left out."""
    quotes, position = list[Quote](), 0
    fences = list(_list_fences(text))
    for reference in REFERENCE.finditer(text):
        quote = (
            _find_fenced(text, fences, reference)
            or _find_quote(text, position, reference)
            or _find_inside(text, position, fences, reference)
        )
        position = reference.end()
        if quote and (is_long_enough(quote.text) or is_long_enough(quote.wider)):
            quotes.append(quote)
    return tuple(quotes[:MOST_QUOTES])


def is_long_enough(text: str) -> bool:
    """Whether a quote is looked up. In scripts without spaces, two characters count as one word."""
    characters = len(_UNSPACED.findall(text))
    return len(_UNSPACED.sub(" ", text).split()) + characters // 2 >= FEWEST_WORDS


def _find_quote(text: str, begin: int, reference: re.Match[str]) -> Quote | None:
    """The quotation that ends just before a reference. `begin`: the end of the previous reference."""
    before = _BEFORE_REFERENCE.sub("", text[begin : reference.start()])
    if code := _INLINE_CODE.search(before):
        return Quote(code[2].strip(), int(reference["number"]), begin + code.start(), reference.end())
    closer = next((mark for mark in _OPENERS if before.endswith(mark)), "")
    inside = before[: len(before) - len(closer)]
    openers = _list_openers(inside, closer) if closer else []
    if not openers:
        return None
    paragraph = max((gap.end() for gap in _PARAGRAPH.finditer(inside)), default=0)
    opener = _find_opener(inside, closer, paragraph)
    size = len(_OPENERS[closer][0])
    return Quote(
        text=inside[opener + size :].strip(),
        document=int(reference["number"]),
        start=begin + opener,
        end=reference.end(),
        wider=inside[openers[0] + size :].strip() if openers[0] < opener else "",
    )


def _list_fences(text: str) -> Iterator[_Fence]:
    """The blocks of code, in order; a block that is never closed continues to the end."""
    opening = None
    for line in _FENCE.finditer(text):
        if opening is None:
            opening = None if "`" in line["after"] else line  # with a backtick it is code within the line
        elif line["marks"].startswith(opening["marks"]) and not line["item"]:
            yield _build_fence(opening, line.start(), line.end("marks"))
            opening = None
    if opening:
        yield _build_fence(opening, len(text), len(text))


def _build_fence(opening: re.Match[str], code_end: int, end: int) -> _Fence:
    return _Fence(opening.start("marks"), opening.end(), code_end, end, ">" in opening["before"])


def _find_fenced(text: str, fences: list[_Fence], reference: re.Match[str]) -> Quote | None:
    """The block of code that ends just before a reference."""
    before = bisect_right(fences, reference.start(), key=lambda fence: fence.end)
    if not before:
        return None
    fence = fences[before - 1]
    if not _BEHIND_FENCE.fullmatch(text, fence.end, reference.start()):
        return None
    code = fence.read(text, fence.code, fence.code_end)
    return Quote(code, int(reference["number"]), fence.start, reference.end())


def _find_inside(text: str, begin: int, fences: list[_Fence], reference: re.Match[str]) -> Quote | None:
    """The code just before a reference at the end of its block. `begin`: the end of the previous reference."""
    place = bisect_right(fences, reference.start(), key=lambda fence: fence.end)
    fence = fences[place] if place < len(fences) else None
    if fence is None or fence.code > reference.start() or text[reference.end() : fence.code_end].strip():
        return None
    start = max(fence.code, begin)
    code = fence.read(text, start, reference.start())
    return Quote(code, int(reference["number"]), start, reference.end())


def _list_openers(text: str, closer: str) -> list[int]:
    """Where a quotation with this closing mark may begin."""
    indexes = (match.start() for mark in _OPENERS[closer] for match in re.finditer(re.escape(mark), text))
    return sorted(index for index in indexes if closer not in _OPENERS[closer] or _may_open(text, index))


def _may_open(text: str, index: int) -> bool:
    """Whether a mark that can open and close is where quotations begin. Apostrophes look the same."""
    return index == 0 or text[index] not in "\"'”»›＂" or text[index - 1] in _BEFORE_QUOTE


def _find_opener(text: str, closer: str, begin: int) -> int:
    """The first mark since `begin` that is still open at the end; otherwise the last that may open a quotation.

    The first, because words before an inner quotation must not pass for a part of what was found.
    """
    openers = _list_openers(text, closer)
    is_open = list[int]()
    for match in re.finditer("|".join(map(re.escape, (closer, *_OPENERS[closer]))), text):
        index = match.start()
        if index < begin:
            continue
        is_end = text[index:].startswith(closer) and text[index + 1 : index + 2] in ("", *" \t\n.,;:!?)]")
        if index in openers and not (is_open and is_end):
            is_open.append(index)
        elif match[0] == closer and is_open and not _is_apostrophe(text, index):
            is_open.pop()
    return is_open[0] if is_open else openers[-1]


def _is_apostrophe(text: str, index: int) -> bool:
    return text[index] in "'’" and text[index - 1].isalnum() and text[index + 1 : index + 2].isalnum()


def find_quote(quote: Quote, document: str) -> Span | None:
    """The position of a quote in a document; None if it is not there."""
    readings = (reading for reading in (quote.text, quote.wider) if is_long_enough(reading))
    return next(filter(None, (find_span(reading, document) for reading in readings)), None)


def find_span(quote: str, document: str) -> Span | None:
    """The position of these words in a document; None if they are not there."""
    cache = fold_document(document).known  # the same turns stand in prompt after prompt
    if quote not in cache:
        if len(cache) >= MOST_KNOWN:
            cache.clear()
        span = _look_up(quote, document)
        cache[quote] = (span.start, span.end, span.omits_words) if span else None
    place = cache[quote]
    return Span(*place) if place else None


def _look_up(quote: str, document: str) -> Span | None:
    folded, version = fold(quote), fold_document(document)
    # A full stop or comma before the closing mark may belong to the sentence around it.
    for candidate in dict.fromkeys((folded, folded[:-1].rstrip() if folded[-1:] in (".", ",") else folded)):
        if extent := _find_whole(candidate, version.text):
            return _build_span(version, *extent)
        if parts := _find_parts(candidate, version.text):
            return _build_span(
                version, parts[0][0], parts[-1][1], omits_words=_omits_words(parts, version.text)
            )
        if span := _find_divided(candidate, document):
            return span
    return None


def _find_divided(folded: str, document: str) -> Span | None:
    """The position of a quote in a document that divides its words at line ends."""
    version = fold_without_dashes(document)
    if version is None:
        return None
    joined_text = drop_tight_dashes(folded)
    for start in _list_places(joined_text, version.text):
        span = _build_span(version, start, start + len(joined_text))
        if is_division_of(folded, document[span.start : span.end]):
            return span
    return None


def _build_span(version: FoldedText, start: int, end: int, *, omits_words: bool = False) -> Span:
    return Span(version.find_place(start), version.find_place(end), omits_words)


def _find_whole(quote: str, document: str) -> tuple[int, int] | None:
    start = next(_list_places(quote, document), None) if quote else None
    return None if start is None else (start, start + len(quote))


def _find_parts(quote: str, document: str) -> list[tuple[int, int]]:
    """The positions of the parts of a quote with ellipses: each has enough words and follows the one before."""
    parts = [part for part in _ELLIPSIS.split(quote) if part]
    if parts == [quote] or not parts or not all(map(is_long_enough, parts)):
        return []
    for start in _list_places(parts[0], document):
        places = [(start, start + len(parts[0]))]
        for part in parts[1:]:
            end = places[-1][1]
            position = next(_list_places(part, document, end, end + LONGEST_GAP + len(part)), None)
            if position is None:
                break
            places.append((position, position + len(part)))
        else:
            return places
    return []


def _omits_words(parts: list[tuple[int, int]], document: str) -> bool:
    gaps = (document[end:start] for (_, end), (start, _) in pairwise(parts))
    return any(character.isalnum() for gap in gaps for character in gap)


def _list_places(quote: str, document: str, begin: int = 0, end: int | None = None) -> Iterator[int]:
    """The positions of a folded quote in a document, as whole words and numbers."""
    start = document.find(quote, begin, end)
    while start >= 0:
        stop = start + len(quote)
        if not (
            _is_cut(document[max(start - 2, 0) : start], quote[0])
            or _is_cut(document[stop : stop + 2][::-1], quote[-1])
        ):
            yield start
        start = document.find(quote, start + 1, end)


def _is_cut(outside: str, edge: str) -> bool:
    """Whether a word or number continues. `outside`: the two characters next to its edge, the nearest last."""
    if edge.isdigit() and outside[-1:] in (".", ",") and outside[:1].isdigit():
        return len(outside) > 1
    return outside[-1:].isalnum() and edge.isalnum() and not _UNSPACED.match(outside[-1] + edge)
