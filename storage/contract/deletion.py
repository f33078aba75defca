"""The part of the storage contract that is about deleted streams."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from storage.contract import LOCAL_OWNER
from storage.contract.streams import StreamSummary


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


class Deletion(Protocol):
    async def delete(
        self,
        stream: str,
        *,
        at: str,
        actor: str,
        summary: StreamSummary | None = None,
        version: int | None = None,
        keep: Collection[str] = (),
        keep_judgments: bool = False,
    ) -> Tombstone | None:
        """Delete a stream with all that is kept of it but the sums of its days, in one transaction.

        Its tombstone is a change of the stream for `find_changes`, and no entry can follow it. `summary`: with all the
        words that the search index has of it, which are taken out. `version`: only if it is the number of the last
        entry. `keep`: names of the texts that stay, with the tombstone. `keep_judgments`: the ledger keeps what it has
        of it. Returns the tombstone, that of an earlier deletion where there was one; None for an unknown stream, and
        where there is another version.

        Raises:
            StorageError: the database cannot be written.
        """

    async def merge_words(self) -> None:
        """Write the search index anew where it holds words that deletions took out."""

    async def find_tombstone(self, stream: str) -> Tombstone | None: ...

    async def find_deleted_streams(self) -> list[str]:
        """The streams that were deleted, those first that went first."""

    async def restore_tombstone(self, tombstone: Tombstone, summary: StreamSummary) -> bool:
        """Write a tombstone from another database, with the sums and the judgments of a summary.

        Returns whether it was written: not where the stream is known, deleted or not.

        Raises:
            StorageError: the database cannot be written.
        """
