"""Documents in pieces: sections that a reader digests, and passages that a search finds."""

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from server.debate.documents.places import describe_place, find_pages

PASSAGE_LENGTH = 1_000
"""Characters of a passage, at most."""

_BREAKS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (r"(?=^\[page \d{1,5}\]$)", r"(?=^#{1,6} )", r"\n\s*\n", r"\n", r"(?<=[.!?。])\s", r"\s")
)
"""Where a piece may end, the best places first."""

_WORD = re.compile(r"[^\W_]+")
_PAGE_QUERY = re.compile(r"^p(?:age|\.)?\s*(\d{1,5})\b[\s,:;]*", re.IGNORECASE)


@lru_cache(maxsize=16)
def split_document(text: str, most: int, slack: float = 0.25) -> tuple[tuple[int, int], ...]:
    """(start, end) of pieces of at most so many characters, which end where the text does, as far as they can."""
    return tuple(_list_pieces(text, most, slack))


def _list_pieces(text: str, most: int, slack: float) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > most:
        end = _find_break(text, start + math.ceil(most * (1 - slack)), start + most)
        yield start, end
        start = end
    yield start, len(text)


def _find_break(text: str, first: int, last: int) -> int:
    """The last of the best places to end between two."""
    for pattern in _BREAKS:
        places = [found.end() for found in pattern.finditer(text, first, last) if first < found.end() <= last]
        if places:
            return places[-1]
    return last


def describe_section(text: str, start: int, end: int) -> str:
    """Where a section stands: "page 17 to page 24", or in characters where the document has no pages."""
    first, last = describe_place(text, start), describe_place(text, max(end - 1, start))
    first, last = (place.partition(", section ")[0] for place in (first, last))
    if not (first.startswith("page") or last.startswith("page")):
        return f"characters {start:,} to {end:,}"
    return last if first in ("", last) else f"{first} to {last}"


def search_passage(text: str, query: str) -> tuple[int, int] | None:
    """The passage that holds the rarest words of a query, or the page that it names; None where none does."""
    page = _PAGE_QUERY.match(query)
    words = {word.casefold() for word in _WORD.findall(query[page.end() :] if page else query)}
    pieces = [
        (piece, held)
        for piece, held in zip(split_document(text, PASSAGE_LENGTH), _index(text), strict=True)
        if page is None or _is_on_page(text, piece, int(page[1]))
    ]
    if page and not words:
        return _find_page(text, page[1])
    spread = {word: sum(word in held for held in _index(text)) for word in words}
    rated = [
        (sum(math.log(1 + len(_index(text)) / spread[word]) for word in words & held), -piece[0], piece)
        for piece, held in pieces
    ]
    best = max(rated, default=(0.0, 0, (0, 0)))
    return best[2] if best[0] else None


def _find_page(text: str, number: str) -> tuple[int, int] | None:
    """The beginning of a page."""
    pages = [*find_pages(text), (len(text), "")]
    for (start, found), (end, _) in pairwise(pages):
        if found == number:
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
