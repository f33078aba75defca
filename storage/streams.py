"""Streams and their entries as values: what is written, listed and summed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from storage import LOCAL_OWNER
from storage.ledger import LedgerRow


def format_time(moment: datetime) -> str:
    """As entries have it: UTC, ISO 8601 with milliseconds; sorts as text."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Entry:
    seq: int  # from 1, without gaps
    at: str  # UTC, ISO 8601 with milliseconds, "Z"
    actor: str  # who caused it
    body: Mapping[str, Any]  # JSON
    hash: str  # hexadecimal SHA-256 of the chain up to this entry
    restored: bool = field(default=False, compare=False)  # it happened elsewhere, and `restore` wrote it


class Amount(NamedTuple):
    """Requests to models, and what they cost in US dollars."""

    requests: int = 0
    cost: Decimal = Decimal(0)

    def plus(self, other: "Amount") -> "Amount":
        return Amount(self.requests + other.requests, self.cost + other.cost)


class Spending(NamedTuple):
    spent: Amount = Amount()
    reserved: Amount = Amount()  # for requests that are on their way


class StreamHead(NamedTuple):
    """The last entry of a stream, whose stream it is, and its seal; (0, "", "", "") for an unknown or deleted one."""

    seq: int = 0
    hash: str = ""
    owner: str = ""
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Archive:
    """Where the entries of a stream went that stays in lists, and what its row does not say of it."""

    file: str
    headline: str  # for whoever wants to read it
    words: str  # for the search
    opened_at: str
    changed_at: str
    restored: list[int] = field(default_factory=list)  # the entries that `Journal.restore` wrote
    seal: str = ""  # of the head


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of a deleted stream: how many entries it had, the hash of the last, when it went and by whom."""

    stream: str
    seq: int
    head: str  # hexadecimal
    at: str  # UTC, ISO 8601 with milliseconds, "Z"
    actor: str
    texts: Mapping[str, str] = field(default_factory=dict)  # that were kept beside it, and stay, by name
    owner: str = LOCAL_OWNER  # whose it was: nobody else is told that there was one
    archive: Archive | None = None  # where its entries are; None for a stream that was deleted


@dataclass(frozen=True, slots=True)
class StreamSummary:
    """The data of a stream for lists, searches and sums. An append replaces all of it but the words, or none."""

    title: str
    status: str
    details: Mapping[str, Any]  # JSON, returned unchanged
    search_text: str = ""  # words for the search, in addition to those it has
    spending: Mapping[str, Amount] = field(default_factory=dict)  # by day (ISO 8601); days left out stay
    is_final: bool = False  # no later append changes the status
    judgments: Sequence[LedgerRow] | None = None  # all that the ledger has of it; None keeps the stored ones
    values: Collection[str] = ()  # that lists are narrowed by, in addition to those it has
    removed_text: str = ""  # words to take out of the search, before those of `search_text` are added
    removed_values: Collection[str] = ()  # likewise
    # What a stream is from its first entries on, for ever:
    owner: str = LOCAL_OWNER  # whose stream it is
    family: str = ""  # the stream that all of its family go back to; "" for that one itself
    parent: str = ""  # the stream of its family that it was made from


@dataclass(frozen=True, slots=True)
class Reservation:
    """What the holder of a stream's lease may still spend on requests that are on their way."""

    holder: str
    amount: Amount


class Relative(NamedTuple):
    """A stream of a family. `parent`: what it was made from; "" for the one that all go back to."""

    stream: str
    parent: str


@dataclass(frozen=True, slots=True)
class StreamListing:
    stream: str
    number: int  # streams in order of creation, from 1; the cursor for paging
    title: str
    status: str
    details: Mapping[str, Any]
    opened_at: str
    changed_at: str
    family: str = ""  # the stream that all of its family go back to; "" for that one itself
    head: StreamHead = field(default=StreamHead(), compare=False)
    is_archived: bool = False


@dataclass(frozen=True, slots=True)
class StreamFilter:
    """Which streams a list or a search has; without a status all of them.

    `is_final`: the status is one that streams keep (`StreamSummary.is_final`); a search with a status finds only
    streams that keep theirs, or only others. `values`: all of them are among those of a stream
    (`StreamSummary.values`). These narrow the list of one status: `changed_since` (ISO 8601), without words and values,
    and `streams`, to which the found ones belong if `inside`, and otherwise not.
    """

    status: str = ""
    is_final: bool = False
    values: Collection[str] = ()
    changed_since: str = ""
    streams: Collection[str] = ()
    inside: bool = False


ALL_STREAMS = StreamFilter()


@dataclass(frozen=True, slots=True)
class OpeningKey:
    """What a stream is opened for, so that a repeated request finds the stream of the first.

    The key belongs to a stream opened at `since` (ISO 8601) or later, or leased at `now`.
    """

    name: str
    since: str
    now: float | None = None


Seal = Callable[[str, int, bytes], str]
"""What is kept beside the head of a stream, made from its name, the number of the last entry and its hash."""
