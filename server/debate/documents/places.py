"""Places in a document as people name them: page and section, if the document has them."""

import re
from bisect import bisect_right
from functools import lru_cache

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
