"""Documents in pieces: pages and headings, sections that a reader digests, and passages for searches."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

MAX_SECTION_LENGTH = 80

_PAGE = re.compile(r"^\[page (\d{1,5})\]$", re.MULTILINE)
"""The line at the beginning of a page, in the text of a document with pages."""

_SECTION = re.compile(r"^(?:#{1,6}[ \t]+(\S.*)|((?:\d+\.)+\d*[ \t]+[^\W\d_].{0,100}))$", re.MULTILINE)
"""A heading in Markdown, or a line that begins with a section number."""


def describe_place(text: str, position: int) -> str:
    """For example "page 212, section 4.2 Costs"; "" if the document has neither."""
    pages, sections = list_pages(text), list_sections_of_text(text)
    parts = []
    if page := _find_last(pages, position):
        parts.append(f"page {page}")
    if section := _find_last(sections, position):
        parts.append(f"section {section}")
    return ", ".join(parts)


@lru_cache(maxsize=16)
def list_pages(text: str) -> tuple[tuple[int, str], ...]:
    """(where a page begins, its number), in order."""
    return tuple((match.start(), match[1]) for match in _PAGE.finditer(text))


@lru_cache(maxsize=16)
def list_sections_of_text(text: str) -> tuple[tuple[int, str], ...]:
    """(where a section begins, its heading), in order."""
    return tuple(
        (match.start(), (match[1] or match[2]).strip()[:MAX_SECTION_LENGTH])
        for match in _SECTION.finditer(text)
    )


def _find_last(rows: tuple[tuple[int, str], ...], position: int) -> str:
    index = bisect_right(rows, position, key=lambda row: row[0])
    return rows[index - 1][1] if index else ""


PASSAGE_LENGTH = 1_000
"""Characters of a passage, at most."""

LEAST_SHARE = 0.75
"""Of the limit, that a piece has before it may end at a break."""

_BREAKS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (r"(?=^\[page \d{1,5}\]$)", r"(?=^#{1,6} )", r"\n\s*\n", r"\n", r"(?<=[.!?。])\s", r"\s")
)
"""Where a piece may end, the best places first."""

_WORD = re.compile(r"[^\W_]+")
_PAGE_QUERY = re.compile(r"^p(?:age|\.)?\s*(\d{1,5})\b[\s,:;]*", re.IGNORECASE)


@lru_cache(maxsize=16)
def split_document(text: str, limit: int) -> tuple[tuple[int, int], ...]:
    """(start, end) of pieces of at most so many characters; they end at breaks of the text if possible."""
    return tuple(_list_pieces(text, limit))


def _list_pieces(text: str, limit: int) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > limit:
        end = _find_break(text, start + math.ceil(limit * LEAST_SHARE), start + limit)
        yield start, end
        start = end
    yield start, len(text)


def _find_break(text: str, begin: int, end: int) -> int:
    """The last of the best places for an end between two positions."""
    for pattern in _BREAKS:
        places = [match.end() for match in pattern.finditer(text, begin, end) if begin < match.end() <= end]
        if places:
            return places[-1]
    return end


def describe_section(text: str, start: int, end: int) -> str:
    """The extent of a section: "page 17 to page 24", or characters if the document has no pages."""
    first, last = describe_place(text, start), describe_place(text, max(end - 1, start))
    first, last = (place.partition(", section ")[0] for place in (first, last))
    if not (first.startswith("page") or last.startswith("page")):
        return f"characters {start:,} to {end:,}"
    return last if first in ("", last) else f"{first} to {last}"


def search_passage(text: str, query: str) -> tuple[int, int] | None:
    """The passage with the rarest words of a query, or the page that it names; None if nothing matches."""
    index = _index(text)  # first: a search for nothing prepares a text for others
    page = _PAGE_QUERY.match(query)
    words = {word.casefold() for word in _WORD.findall(query[page.end() :] if page else query)}
    if not words:
        return _find_page(text, page[1]) if page else None
    pieces = [
        (piece, words_of_piece)
        for piece, words_of_piece in zip(split_document(text, PASSAGE_LENGTH), index, strict=True)
        if page is None or _is_on_page(text, piece, int(page[1]))
    ]
    counts = {word: sum(word in words_of_piece for words_of_piece in index) for word in words}
    scores = [
        (sum(math.log(1 + len(index) / counts[word]) for word in words & words_of_piece), -piece[0], piece)
        for piece, words_of_piece in pieces
    ]
    score, _, best = max(scores, default=(0.0, 0, (0, 0)))
    return best if score else None


def _find_page(text: str, number: str) -> tuple[int, int] | None:
    pages = [*list_pages(text), (len(text), "")]
    for (start, page_number), (end, _) in pairwise(pages):
        if page_number == number:
            return start, min(end, start + PASSAGE_LENGTH)
    return None


@lru_cache(maxsize=16)
def _index(text: str) -> tuple[frozenset[str], ...]:
    """The words of each passage."""
    return tuple(
        frozenset(word.casefold() for word in _WORD.findall(text[start:end]))
        for start, end in split_document(text, PASSAGE_LENGTH)
    )


def _is_on_page(text: str, piece: tuple[int, int], page: int) -> bool:
    numbers = [int(number) for number in re.findall(r"page (\d+)", describe_section(text, *piece))]
    return bool(numbers) and numbers[0] <= page <= numbers[-1]
