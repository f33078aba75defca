"""What is stored beside the entries of a stream, as columns and back. Pure."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from storage.canonical import encode_json
from storage.journal import Amount, Reservation, StreamListing, StreamSummary
from storage.ledger import encode_judgments

SummaryColumns = tuple[str | None, str | None, str | None, str | None, str | None, str | None]
"""(title, status, details as JSON, words to add to the search index, spending and judgments as JSON); None changes
nothing."""

UNCHANGED: SummaryColumns = (None, None, None, None, None, None)

FINAL_MARK = "\ue000"
"""A word of the search index: the stream keeps its status. Of the characters for private use, which no text needs."""

MAX_STREAM_NUMBER = 2**63 - 1  # what the databases can hold

LAST_CHARACTER = "\U0010ffff"
"""Texts with a prefix are those from the prefix to the prefix with this: a range, which an index can answer."""

ReservationColumns = tuple[str | None, int | None, str | None]
"""(holder, requests, cost); None keeps the stored value."""

NOT_RESERVED: ReservationColumns = (None, None, None)


def encode_summary(summary: StreamSummary | None) -> SummaryColumns:
    """Raises ValueError for invalid JSON or Unicode."""
    if summary is None:
        return UNCHANGED
    for text in (summary.title, summary.status, summary.search_text):
        text.encode()
    details = encode_json(dict(summary.details)).decode()
    spending = {day: [amount.requests, f"{amount.cost:f}"] for day, amount in summary.spending.items()}
    judgments = None if summary.judgments is None else encode_judgments(summary.judgments)
    words = encode_words(summary) or None
    return summary.title, summary.status, details, words, json.dumps(spending), judgments


def encode_words(summary: StreamSummary) -> str:
    """The text for the search index: its own words, and marks if the status is final."""
    text = summary.search_text.replace(FINAL_MARK, " ")  # nobody writes marks but this function
    return f"{text} {FINAL_MARK} {mark_status(summary.status)}" if summary.is_final else text


def mark_status(status: str) -> str:
    """The word that stands for a final status in the search index."""
    return FINAL_MARK + status.encode().hex()


def encode_reservation(reserved: Reservation | None) -> ReservationColumns:
    if reserved is None:
        return NOT_RESERVED
    return reserved.holder, reserved.amount.requests, f"{reserved.amount.cost:f}"


def parse_details(text: str) -> dict[str, Any] | None:
    """The details of a summary; None if they are damaged."""
    with suppress(ValueError):
        parsed = json.loads(text)
        return parsed if isinstance(parsed, dict) else None
    return None


def parse_listing(row: Sequence[Any]) -> StreamListing:
    """A listing; a damaged one gets a mark in its title, so that it does not hide the others."""
    name, number, title, status, text, opened_at, changed_at = row
    details = parse_details(text)
    mark = "(damaged summary) " if details is None else ""
    return StreamListing(name, number, mark + title, status, details or {}, opened_at, changed_at)


def find_upper_bound(before: int) -> int:
    """The number that those of listed streams are below. `before`: 0 for no bound."""
    return min(before, MAX_STREAM_NUMBER) or MAX_STREAM_NUMBER


def parse_changes(rows: Sequence[Sequence[Any]], after: int) -> tuple[int, list[str]]:
    """(current position, streams) from (position of its last entry, stream), in order of the positions."""
    return (rows[-1][0] if rows else after), [stream for _, stream in rows]


def parse_amount(requests: int, cost: str) -> Amount:
    """A damaged cost counts as nothing."""
    with suppress(InvalidOperation):
        return Amount(requests, Decimal(cost))
    return Amount(requests)


def sum_spending(rows: Iterable[Any]) -> tuple[Amount, Amount]:
    """(spent, reserved)."""
    sums = {"spent": Amount(), "reserved": Amount()}
    for kind, requests, cost in rows:
        sums[kind] = sums[kind].plus(parse_amount(requests, cost))
    return sums["spent"], sums["reserved"]
