"""Where in a document something stands, as people say it: page and section, where the document has them."""

import re
from bisect import bisect_right
from functools import lru_cache

MAX_SECTION_LENGTH = 80

_PAGE = re.compile(r"^\[page (\d{1,5})\]$", re.MULTILINE)
"""The line that a page begins with, in the text of a document that has pages."""

_SECTION = re.compile(r"^(?:#{1,6}[ \t]+(\S.*)|((?:\d+\.)+\d*[ \t]+[^\W\d_].{0,100}))$", re.MULTILINE)
"""A heading in Markdown, or a line that begins with the number of a section."""


def describe_place(text: str, position: int) -> str:
    """Such as "page 212, section 4.2 Costs"; "" where the document has neither."""
    pages, sections = find_pages(text), find_sections(text)
    parts = []
    if page := _find_last(pages, position):
        parts.append(f"page {page}")
    if section := _find_last(sections, position):
        parts.append(f"section {section}")
    return ", ".join(parts)


@lru_cache(maxsize=16)
def find_pages(text: str) -> tuple[tuple[int, str], ...]:
    """(where a page begins, its number), in order."""
    return tuple((found.start(), found[1]) for found in _PAGE.finditer(text))


@lru_cache(maxsize=16)
def find_sections(text: str) -> tuple[tuple[int, str], ...]:
    """(where a section begins, its heading), in order."""
    return tuple(
        (found.start(), (found[1] or found[2]).strip()[:MAX_SECTION_LENGTH])
        for found in _SECTION.finditer(text)
    )


def _find_last(rows: tuple[tuple[int, str], ...], position: int) -> str:
    index = bisect_right(rows, position, key=lambda row: row[0])
    return rows[index - 1][1] if index else ""
