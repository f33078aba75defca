"""The outbox contract: work that readers of the journal have found and not finished.

A reader goes through all entries once, in order, and puts items into the outbox; the worker of a queue performs
its first item and completes it. Several processes may share one reader name: each item is stored once. Which of
them works on a queue is decided by a lease (`Journal.acquire_lease`), as it is for debates. Every implementation
passes the suite `tests/contract/outbox.py`.
"""

from collections.abc import Collection, Mapping, Sequence
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
    event: str  # which of the public events of the entry
    due_at: float  # Unix time
    attempts: int = 0


class Outbox(Protocol):
    """Every method raises StorageError if the database cannot be used."""

    async def register(self, reader: str) -> ReaderPosition:
        """The position of a reader; a new reader starts at the end of the journal."""

    async def find_readers(self) -> Mapping[str, ReaderPosition]:
        """The readers that were registered, by name."""

    async def find_position(self, stream: str, seq: int) -> int:
        """The position of an entry; 0 for none."""

    async def find_versions(self, position: int) -> dict[str, int]:
        """{stream: number of its last entry up to a position}. Goes through all there is."""

    async def entries_after(self, position: int, *, limit: int) -> list[EntryReference]:
        """Entries written after a position, by any process. Cheap enough for polling."""

    async def put(self, readers: Collection[str], position: int, items: Sequence[OutboxItem]) -> None:
        """Store items and advance the readers to a position, in one transaction.

        Items at positions that their reader has passed already are ignored: another process stored them.
        """

    async def find_items(self) -> list[OutboxItem]:
        """All items, in the order in which they were stored."""

    async def restore(
        self, reader: str, mark: ReaderPosition, items: Sequence[OutboxItem], done: Collection[str]
    ) -> None:
        """Register a reader of another database, or move it on, with items; delete the items with the ids `done`.

        All in one transaction. Items that are there already stay as they are.
        """

    async def due_queues(self, now: float) -> list[tuple[str, int]]:
        """(reader, queue index) of each queue whose first item is due. Cheap enough for polling."""

    async def queues_about(self, stream: str) -> list[tuple[str, int]]:
        """(reader, queue index) of each queue with an item about a stream."""

    async def first_due(self, reader: str, queue_index: int, now: float) -> OutboxItem | None:
        """The first item of a queue, in the order of entries; None where there is none, or it is not due yet."""

    async def complete(self, item: OutboxItem) -> None:
        """Delete an item."""

    async def reschedule(self, item: OutboxItem) -> None:
        """Store `due_at` and `attempts` of an item. Those behind it wait for it."""

    async def count(self) -> int:
        """How many items there are, due or not."""

    async def delete_overdue(self, due_before: float) -> int:
        """Delete items that were due before that time. Returns their number."""
