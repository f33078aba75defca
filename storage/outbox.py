"""What readers of the journal have still to do about its entries: kept until it is done.

A reader goes through all entries once, in the order they were written, and puts what it has to do into
the outbox; whoever claims that does it. Many processes may read and do under one reader's name: what is
put there is put there once, and each item has one owner at a time. `tests/contract/outbox.py` is the
suite every outbox passes.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ReaderPosition:
    """Where a reader is."""

    start: int  # where the journal ended when it was first heard of
    position: int  # what it has read up to


@dataclass(frozen=True, slots=True)
class EntryReference:
    """That there is an entry."""

    position: int
    stream: str
    seq: int
    stream_start: int  # the position of the stream's first entry


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """Something to be done about an entry, once."""

    id: str
    reader: str
    queue_index: int  # which of the reader's queues it waits in
    stream: str
    seq: int
    position: int
    due_at: float  # Unix time
    attempts: int = 0


class Outbox(Protocol):
    """Every method raises StorageError where the database cannot be used."""

    async def register(self, reader: str) -> ReaderPosition:
        """Where the reader is; a new one is at the end of the journal."""
        ...

    async def entries_after(self, position: int, *, limit: int) -> list[EntryReference]:
        """The entries that were written after a position, by whichever process. Cheap: for polling."""
        ...

    async def put(self, readers: Collection[str], position: int, items: Sequence[OutboxItem]) -> None:
        """Move readers on to a position and keep what they found up to there, all or nothing.

        What a reader found where it has been already is passed over: another process found it too.
        """
        ...

    async def due_queues(self, now: float) -> list[tuple[str, int]]:
        """(reader, slot) of each queue in which something can be claimed. Cheap: for polling."""
        ...

    async def claim(
        self, reader: str, queue_index: int, owner: str, *, now: float, seconds: float
    ) -> OutboxItem | None:
        """Become the one owner of what has been due longest in a queue, until `now + seconds`."""
        ...

    async def complete(self, item: OutboxItem, owner: str) -> None:
        """Forget it, unless somebody else has claimed it meanwhile."""
        ...

    async def reschedule(self, item: OutboxItem, owner: str) -> None:
        """Give it back, with its `due` and `attempts`, unless somebody else has claimed it meanwhile."""
        ...

    async def owners(self) -> set[str]:
        """Who has claimed something."""
        ...

    async def release_claims(self, owner: str) -> None:
        """Give back everything an owner has claimed."""
        ...

    async def delete_overdue(self, due_before: float) -> int:
        """Remove what has been due since before then. Returns how many it was."""
        ...
