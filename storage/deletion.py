"""The part of the storage contract that is about deleted streams."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from storage.journal import StreamSummary


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of a deleted stream: how many entries it had, the hash of the last, when it went and by whom."""

    stream: str
    seq: int
    head: str  # hexadecimal
    at: str  # UTC, ISO 8601 with milliseconds, "Z"
    actor: str


class Deletion(Protocol):
    async def delete(
        self, stream: str, *, at: str, actor: str, summary: "StreamSummary | None" = None
    ) -> Tombstone | None:
        """Delete a stream with all that is kept of it but the sums of its days, in one transaction.

        Its tombstone is a change of the stream for `find_changes`, and no entry can follow it. `summary`: with all the
        words that the search index has of it, which are taken out. Returns the tombstone, that of an earlier deletion
        where there was one; None for an unknown stream.

        Raises:
            StorageError: the database cannot be written.
        """

    async def find_tombstone(self, stream: str) -> Tombstone | None: ...
