"""The documents of a set-up, and the seat that reads those too long for the others."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from server.debate.facts.fact import Count, Fact


def check_date(text: str) -> str:
    if not re.fullmatch(r"(\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?)?", text):
        raise ValueError(f"a date is 2026, 2026-05 or 2026-05-31, not {text[:40]!r}")
    return text


Reliability = Literal["high", "medium", "low", "unknown"]
PublicationDate = Annotated[str, AfterValidator(check_date)]
"""A day, a month or a year in ISO 8601; "" where unknown."""


class Document(Fact):
    title: str
    text: str
    url: str = ""
    published: PublicationDate = ""
    reliability: Reliability = "unknown"  # of where it comes from, as the caller declares it
    after_round: Count = 0  # the last round of the parent, where a fork added it


class Section(Fact):
    """A part of a document, in characters."""

    document: Annotated[int, Field(ge=1)]  # its place among the documents of the set-up
    start: Count
    end: Count


class Reader(Fact):
    """The seat that reads documents too long for the windows of the others, and digests them by sections."""

    model: str
    sections: tuple[Section, ...]  # each document that is digested as a whole, in order
    words: Annotated[int, Field(ge=1)]  # of the digest of a section, at most
    passage_characters: Count  # that all passages together may have

    def has_digest(self, document: int) -> bool:
        return any(section.document == document for section in self.sections)
