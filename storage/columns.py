"""What is stored beside the entries of a stream, as columns and back. Pure."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple
from unicodedata import category, normalize

from storage import LOCAL_OWNER
from storage.canonical import encode_json
from storage.ledger import LedgerRow, encode_judgments
from storage.streams import Amount, Reservation, StreamHead, StreamListing, StreamSummary


class SummaryColumns(NamedTuple):
    """A summary as columns; None changes nothing."""

    owner: str | None = None
    family: str | None = None
    parent: str | None = None
    title: str | None = None
    status: str | None = None
    details: str | None = None  # JSON
    removed: str | None = None  # words to take out of the search index first
    words: str | None = None  # to add to it
    spending: str | None = None  # JSON
    judgments: str | None = None  # JSON


UNCHANGED = SummaryColumns()

FINAL_MARK = "\ue000"
"""A word of the search index: the stream keeps its status. Of the characters for private use, which no text needs."""

MAX_STREAM_NUMBER = 2**63 - 1  # what the databases can hold

LAST_CHARACTER = "\U0010ffff"
"""Texts with a prefix are those from the prefix to the prefix with this: a range, which an index can answer."""

OWNER_MARK = "\ue001"
"""Likewise: it is a stream of another than the local owner. Followed by a digest of the owner, it is theirs."""

WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese
    "\uac00-\ud7af]+"  # Korean, whose words are inflected
)
"""Runs of characters of languages that are written without blanks between words."""

VALUE_MARK = "\ue002"
"""Likewise, followed by a digest: the stream has this value (`StreamSummary.values`)."""

NO_WORDS = str.maketrans(
    dict.fromkeys((FINAL_MARK, OWNER_MARK, VALUE_MARK, "\ufe0e", "\ufe0f", "\u20e3"), " ")
)
"""Marks, which only `encode_words` writes, and what makes an emoji of a character, which is part of no word."""

WITHOUT_POINTS = {
    code: "".join(part for part in normalize("NFD", chr(code)) if category(part) != "Mn")
    for code in range(0x590, 0x700)
} | {0x640: ""}
"""Hebrew and Arabic letters without points and hamza, which most texts leave out, and nothing for the stroke that makes
words longer. What other letters have is up to the tokenizer, which takes accents from Latin ones."""

ReservationColumns = tuple[str | None, int | None, str | None]
"""(holder, requests, cost); None keeps the stored value."""

NOT_RESERVED: ReservationColumns = (None, None, None)


def encode_summary(summary: StreamSummary | None) -> SummaryColumns:
    """Raises ValueError for invalid JSON or Unicode."""
    if summary is None:
        return UNCHANGED
    origin = summary.owner, summary.family, summary.parent
    for text in (*origin, summary.title, summary.status, summary.search_text, summary.removed_text):
        text.encode()
    details = encode_json(dict(summary.details)).decode()
    spending = {day: [amount.requests, f"{amount.cost:f}"] for day, amount in summary.spending.items()}
    judgments = None if summary.judgments is None else encode_judgments(summary.judgments)
    words = encode_words(summary) or None
    title, status = summary.title, summary.status
    removed = [separate_words(summary.removed_text), *map(mark_value, sorted(summary.removed_values))]
    words_to_remove = " ".join(filter(None, removed)) or None
    return SummaryColumns(
        *origin, title, status, details, words_to_remove, words, json.dumps(spending), judgments
    )


def encode_words(summary: StreamSummary) -> str:
    """The text for the search index: its own words, and marks of values, of a final status and of a foreign owner."""
    text = " ".join([separate_words(summary.search_text), *map(mark_value, sorted(summary.values))])
    if summary.is_final:
        text += f" {FINAL_MARK} {mark_status(summary.status)}"
    if summary.owner != LOCAL_OWNER:
        text += f" {OWNER_MARK} {mark_owner(summary.owner)}"
    return text


def separate_words(text: str) -> str:
    """A text for the search index, or to be looked up there.

    Runs of languages without blanks become overlapping pairs of characters, as in Lucene's analyzer for Chinese,
    Japanese and Korean: so a text in them is found by every part of it.
    """
    bare = normalize("NFC", text).translate(NO_WORDS | WITHOUT_POINTS)
    return WITHOUT_BLANKS.sub(lambda run: f" {' '.join(pair_characters(run[0]))} ", bare)


def pair_characters(run: str) -> list[str]:
    return [run[place : place + 2] for place in range(max(len(run) - 1, 1))]


def list_marks(
    status: str, owner: str | None, *, is_final: bool, values: Iterable[str] = ()
) -> tuple[list[str], list[str]]:
    """The marks that the streams of a search have, and those that they do not have.

    Whoever has few streams is not to wait for a search through those of all others.
    """
    wanted = [*map(mark_value, values), *([mark_status(status)] if status and is_final else [])]
    unwanted = [FINAL_MARK] if status and not is_final else []
    if owner == LOCAL_OWNER:
        return wanted, [*unwanted, OWNER_MARK]
    return ([*wanted, mark_owner(owner)] if owner else wanted), unwanted


def mark_status(status: str) -> str:
    """The word that stands for a final status in the search index."""
    return FINAL_MARK + status.encode().hex()


def mark_owner(owner: str) -> str:
    """The word that stands for an owner in the search index."""
    return OWNER_MARK + sha256(owner.encode()).hexdigest()[:16]


def mark_value(value: str) -> str:
    """The word that stands for a value in the search index."""
    return VALUE_MARK + sha256(value.encode(errors="replace")).hexdigest()[:16]


def encode_reservation(reservation: Reservation | None) -> ReservationColumns:
    if reservation is None:
        return NOT_RESERVED
    return reservation.holder, reservation.amount.requests, f"{reservation.amount.cost:f}"


def parse_details(text: str) -> dict[str, Any] | None:
    """The details of a summary; None if they are damaged."""
    with suppress(ValueError):
        details = json.loads(text)
        return details if isinstance(details, dict) else None
    return None


def parse_summary(
    row: Sequence[str], spending: Mapping[str, Amount], judgments: Sequence[LedgerRow]
) -> StreamSummary:
    """`row`: title, status, details, owner, family and parent; empty for what is not there."""
    title, status, text, *origin = row or ("", "", "", LOCAL_OWNER, "", "")
    owner, family, parent = origin
    summary = StreamSummary(
        title, status, parse_details(text) or {}, spending=spending, judgments=judgments or None
    )
    return replace(summary, owner=owner, family=family, parent=parent)


def parse_listing(row: Sequence[Any]) -> StreamListing:
    """A listing; a damaged one gets a mark in its title, so that it does not hide the others."""
    name, number, title, status, text, opened_at, changed_at, family, seq, head, owner, seal = row
    details = parse_details(text)
    mark = "(damaged summary) " if details is None else ""
    values = (mark + title, status, details or {}, opened_at, changed_at, family)
    return StreamListing(name, number, *values, StreamHead(abs(seq), head.hex(), owner, seal), seq < 0)


def find_upper_bound(cursor: int) -> int:
    """The number that those of listed streams are below. `cursor`: 0 for no bound."""
    return min(cursor, MAX_STREAM_NUMBER) or MAX_STREAM_NUMBER
