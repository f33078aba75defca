"""The storage contract: streams of numbered, chained entries, each written once.

A journal knows streams, sequence numbers, JSON and a heading a stream for lists and searches. It knows
nothing of debates. `tests/contract/journal.py` is the suite every journal passes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

import rfc8785

CHAIN_TAG = b"counterpoint/entry/1\n"
"""Names the algorithm inside every hash, so that a later one cannot be mistaken for it."""


class StorageError(Exception):
    """The database cannot be used: locked, full, read-only, broken, or of a later release."""


class ConflictError(Exception):
    """Somebody else has written the next entry of this stream already."""


class DivergenceError(ConflictError):
    """A stream holds another entry than the one that was to be restored. `seq` is the first such."""

    def __init__(self, stream: str, seq: int) -> None:
        super().__init__(f"entry {seq} of {stream} is another one here")
        self.stream = stream
        self.seq = seq


class DamagedStreamError(StorageError):
    """A stream is not what was written. `seq` is the first entry that is wrong."""

    def __init__(self, stream: str, seq: int, reason: str) -> None:
        super().__init__(f"entry {seq} of {stream} {reason}")
        self.stream = stream
        self.seq = seq
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Entry:
    seq: int  # from 1, without gaps
    at: str  # UTC, ISO 8601 with milliseconds, "Z"
    actor: str  # who brought it about
    body: Mapping[str, Any]  # JSON
    hash: str  # hexadecimal SHA-256 of the chain up to here


@dataclass(frozen=True, slots=True)
class StreamSummary:
    """What lists and searches show of a stream. Replaced whole by each append that carries one."""

    title: str
    status: str
    details: Mapping[str, Any]  # JSON, handed back as it is
    search_text: str | None = None  # what a search finds it by; None leaves the earlier words


@dataclass(frozen=True, slots=True)
class StreamListing:
    stream: str
    number: int  # counts streams in the order they were begun; the cursor of a page
    title: str
    status: str
    details: Mapping[str, Any]
    opened_at: str
    changed_at: str


def encode_canonical(seq: int, at: str, actor: str, body: Mapping[str, Any]) -> bytes:
    """The bytes of an entry that are stored and hashed: RFC 8785 (JCS)."""
    return rfc8785.dumps({"seq": seq, "at": at, "actor": actor, "body": dict(body)})


def genesis_hash(stream: str) -> bytes:
    """What the first entry is chained to: the stream's own name."""
    return sha256(CHAIN_TAG + stream.encode()).digest()


def link_hash(previous: bytes, entry_bytes: bytes) -> bytes:
    return sha256(CHAIN_TAG + previous + entry_bytes).digest()


class Journal(Protocol):
    async def append(
        self,
        stream: str,
        *,
        after: int,
        at: str,
        actor: str,
        bodies: Sequence[Mapping[str, Any]],
        summary: StreamSummary | None = None,
    ) -> list[Entry]:
        """Write entries `after + 1 ...`, all or none, and the heading with them. Durable on return.

        A call that is cancelled may or may not have written; what it has written is whole.

        Raises:
            Conflict: entry `after + 1` exists already, or entry `after` does not.
            StorageError: the database cannot be written.
        """
        ...

    async def restore(self, stream: str, entries: Sequence[Entry], summary: StreamSummary) -> int:
        """Write a stream as it was: numbers, times, actors and hashes. All or none, and the heading with it.

        A stream that is a beginning of it is completed; one that holds all of it, or more, is left alone.
        Returns how many entries were missing. Cancelled, as `append`.

        Raises:
            Damaged: the entries are no chain of this stream.
            Diverges: the stream holds other entries.
            ValueError: an entry or the heading is no JSON, no Unicode, or there are none.
            StorageError: the database cannot be written.
        """
        ...

    async def read(self, stream: str, *, after: int = 0) -> list[Entry]:
        """The entries of a stream, the whole chain checked; none for a stream that does not exist.

        Raises:
            Damaged: an entry was changed, removed or reordered, or its text is not readable.
            StorageError: the database cannot be read.
        """
        ...

    async def version(self, stream: str) -> int:
        """The number of the last entry, 0 for a stream that does not exist. Cheap: for polling."""
        ...

    async def find(
        self, query: str = "", *, status: str = "", before: int = 0, limit: int = 20
    ) -> list[StreamListing]:
        """Streams, newest first, whose words hold every word of the query (the last may be a beginning).

        Any text is a valid query. `before` is the `number` of the last one already seen; 0 starts anew.
        """
        ...

    async def get_listing(self, stream: str) -> StreamListing | None: ...

    async def find_details_since(self, at: str) -> list[Mapping[str, Any]]:
        """The details of the streams that were written to at this time (ISO 8601) or later."""
        ...

    async def find_by_prefix(self, prefix: str, *, limit: int = 100) -> list[str]:
        """Streams whose name begins so, newest first."""
        ...

    async def find_changes(self, after: int) -> tuple[int, list[str]]:
        """(position, streams written to since `after`), by whichever process.

        `after` -1 only asks the position. Positions grow with every append. Cheap when nothing
        happened: for polling.
        """
        ...

    async def acquire_lease(self, stream: str, owner: str, *, now: float, seconds: float) -> str:
        """Become, or stay, the one owner of a stream until `now + seconds` (Unix time), unless another is.

        Returns who owns it now.

        Leases keep two processes from paying for the same answer; that no entry is written twice does
        not depend on them.
        """
        ...

    async def renew_leases(
        self, owner: str, streams: Collection[str], *, now: float, seconds: float
    ) -> set[str]:
        """Keep those of these streams that this owner still has, in one statement. Returns which."""
        ...

    async def active_leases(self, *, now: float) -> Mapping[str, str]:
        """Who owns which stream at that time: {stream: owner}."""
        ...

    async def release_lease(self, stream: str, owner: str) -> None: ...

    async def close(self) -> None: ...
