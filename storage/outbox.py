"""The outbox contract: work that readers of the journal have found and not finished.

A reader goes through all entries once, in order, and puts items into the outbox; a worker claims an item,
performs it and completes it. Several processes may share one reader name: each item is stored once and has
one owner at a time. Every implementation passes the suite `tests/contract/outbox.py`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ReaderPosition:
    start: int  # the end of the journal when the reader was registered
    position: int  # the last entry it has read


@dataclass(frozen=True, slots=True)
class EntryReference:
    position: int
    stream: str
    seq: int
    stream_start: int  # the position of the stream's first entry


@dataclass(frozen=True, slots=True)
class OutboxItem:
    id: str
    reader: str
    queue_index: int  # which of the reader's queues
    stream: str
    seq: int
    position: int
    due_at: float  # Unix time
    attempts: int = 0


class Outbox(Protocol):
    """Every method raises StorageError if the database cannot be used."""

    async def register(self, reader: str) -> ReaderPosition:
        """The position of a reader; a new reader starts at the end of the journal."""

    async def entries_after(self, position: int, *, limit: int) -> list[EntryReference]:
        """Entries written after a position, by any process. Cheap enough for polling."""

    async def put(self, readers: Collection[str], position: int, items: Sequence[OutboxItem]) -> None:
        """Store items and advance the readers to a position, in one transaction.

        Items at positions that their reader has passed already are ignored: another process stored them.
        """

    async def due_queues(self, now: float) -> list[tuple[str, int]]:
        """(reader, queue index) of each queue with an item to claim. Cheap enough for polling."""

    async def claim(
        self, reader: str, queue_index: int, owner: str, *, now: float, seconds: float
    ) -> OutboxItem | None:
        """Own the item of a queue that is due longest, until `now + seconds` (Unix time)."""

    async def complete(self, item: OutboxItem, owner: str) -> None:
        """Delete an item, unless another owner has claimed it."""

    async def reschedule(self, item: OutboxItem, owner: str) -> None:
        """Store `due_at` and `attempts` and drop the claim, unless another owner has claimed it."""

    async def owners(self) -> set[str]:
        """The owners of all claims."""

    async def release_claims(self, owner: str) -> None:
        """Drop all claims of an owner."""

    async def delete_overdue(self, due_before: float) -> int:
        """Delete items that were due before that time. Returns their number."""
