"""The storage contract: streams of numbered, hash-chained entries, each written once.

A journal stores JSON entries and one summary a stream, uninterpreted. `tests/contract/journal.py` is the suite for all.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from storage.contract.cache import Cache
from storage.contract.deletion import Deletion
from storage.contract.errors import StorageError
from storage.contract.ledger import Ledger
from storage.contract.outbox import Outbox
from storage.contract.similarity import Similarity
from storage.contract.streams import (
    ALL_STREAMS,
    Amount,
    Entry,
    OpeningKey,
    Relative,
    Reservation,
    Seal,
    Spending,
    StreamFilter,
    StreamHead,
    StreamListing,
    StreamSummary,
)
from storage.contract.tokens import PageSessionStore, TokenStore


class Journal(Ledger, Deletion, Similarity, Cache, TokenStore, PageSessionStore, Protocol):
    """Every method may raise StorageError.

    A stream has an owner, who is not part of its chain. Methods with an `owner` tell of that owner's streams only, as
    if there were no others; None: of all. Others do not ask: who serves several owners looks at `head` first.

    For `now` (Unix time) None is the clock of the database: the clocks of the processes that share it differ. A file
    has none, and takes that of the process.
    """

    @property
    def outbox(self) -> Outbox: ...

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be written here, as on read-only media."""

    def check_presence(self) -> None:
        """Raise StorageLostError if what was opened is gone, or another is in its place. Cheap enough for polling.

        A server that cannot be reached is an outage, not a loss: what it has committed is still there.
        """

    async def probe(self, seconds: float) -> None:
        """Ask the database whether this process can use it, for about so many seconds.

        Raises:
            BusyError: it answers others, and had no turn for this: it can be used.
            OutageError: it has not answered.
            StorageError: it is lost, or answers that it cannot be used, as one that a newer release has changed.
        """

    async def reopen(self, before_another: Callable[[], Awaitable[None]]) -> bool:
        """After a loss: open what is in the place of the old database now, or begin a new one.

        Returns whether it is another one than before: entries that were read have nothing to do with it.
        `before_another` is awaited before that is opened.

        Raises:
            StorageError: it cannot be opened. Until it can, the database counts as lost.
        """

    def checkpoint_soon(self) -> None:
        """Bring the files into a state in which a plain copy is whole, in the background; `close` waits for it."""

    async def append(
        self,
        stream: str,
        *,
        after: int,
        at: str,
        actor: str,
        bodies: Sequence[Mapping[str, Any]],
        summary: StreamSummary | None = None,
        key: OpeningKey | None = None,
        reserved: Reservation | None = None,
        seal: Seal | None = None,
    ) -> list[Entry]:
        """Write entries `after + 1 …` and the summary in one transaction. Durable on return.

        After a cancellation either all or nothing was written. `key`: only with the first entries; of many
        appends with one key, by any process, one is written. `reserved`: replaces the reservation, if its holder
        still has the lease. `seal`: makes the seal of the new head, which has none otherwise.

        Raises:
            ConflictError: entry `after + 1` exists already, or entry `after` does not.
            KeyTakenError: another stream has the key.
            ValueError: there are no entries, or one is not valid JSON or Unicode.
            StorageError: the database cannot be written.
        """

    async def read_keys(self) -> list[tuple[str, str, str]]:
        """(name, stream, when it was opened) of the keys that are not free again."""

    async def restore_keys(self, keys: Sequence[tuple[str, str, str]]) -> None:
        """Add keys from another database, as far as their streams are here and they are free."""

    async def restore(
        self, stream: str, entries: Sequence[Entry], summary: StreamSummary, *, seal: str | None = None
    ) -> int:
        """Write an existing stream with its numbers, times, actors and hashes, in one transaction.

        Adds the entries that are missing and returns their number; a stream that has all of them, or more,
        is left unchanged. The new head has no seal, and all that is added counts as restored.

        `seal`: that of the head in another database of this installation, of which this is a copy. The new head has it,
        and what is added counts as restored as far as it does there.

        Raises:
            DeletedStreamError: the stream was deleted.
            DamagedStreamError: the entries do not form a chain of this stream.
            DivergenceError: the stream holds other entries.
            ValueError: there are no entries, or one of them or the summary is not valid JSON or Unicode.
            StorageError: the database cannot be written.
        """

    async def read(self, stream: str, *, after: int = 0) -> list[Entry]:
        """The entries of a stream after checking its whole chain; [] for an unknown stream.

        Raises:
            DeletedStreamError: it was deleted.
            DamagedStreamError: an entry was changed, removed or reordered, or cannot be decoded.
            StorageError: the database cannot be read.
        """

    async def read_sealed(self, stream: str) -> tuple[list[Entry], str]:
        """As `read`, with the seal of the head; "" for none."""

    async def read_many(
        self, streams: Collection[str]
    ) -> Mapping[str, tuple[list[Entry], str] | StorageError]:
        """As `read_sealed` of each, in one statement. Unknown ones are left out.

        One that was deleted or damaged keeps nobody from the others: its error stands in its place.
        """

    async def heads(self, streams: Collection[str]) -> Mapping[str, StreamHead]:
        """As `head` of each, in one statement. Unknown and deleted ones are left out."""

    async def head(self, stream: str) -> StreamHead:
        """The last entry, and whose stream it is. Cheap enough for polling."""

    async def find_owners(self, streams: Collection[str]) -> Mapping[str, str]:
        """Whose each of these streams is, or was before it was deleted; unknown ones are left out."""

    async def set_seal(self, stream: str, seq: int, seal: str) -> bool:
        """Seal a head, if it still has this number. Returns whether it has."""

    async def find_text(self, stream: str, name: str) -> str:
        """The text that was kept beside a stream under this name; "" for none."""

    async def find_texts(self, streams: Collection[str], name: str) -> Mapping[str, str]:
        """As `find_text` of each, in one statement. Those without one are left out."""

    async def keep_text(self, stream: str, name: str, text: str, *, instead_of: str = "") -> str:
        """Keep a text beside a stream, unless another than `instead_of` is kept under this name.

        Returns the one that is kept now; "" where there is no such stream.
        """

    async def read_texts(self, stream: str) -> Mapping[str, str]:
        """All that is kept beside a stream, by name."""

    async def find(
        self,
        query: str = "",
        only: StreamFilter = ALL_STREAMS,
        *,
        before: int = 0,
        limit: int = 20,
        owner: str | None = None,
    ) -> list[StreamListing]:
        """Streams that match every word of the query (the last word as a prefix), newest first.

        Any text is a valid query; of a long one the beginning counts. `before`: the last `number` that was seen, or 0.
        """

    async def find_by_prefix(self, prefix: str, *, limit: int = 100, owner: str | None = None) -> list[str]:
        """Streams whose name begins with the prefix, by name."""

    async def find_family(self, root: str, *, owner: str | None = None) -> list[Relative]:
        """The stream of this name, if it is there, and those of its family (`StreamSummary.family`), newest first.

        In one statement, through an index, however many there are and however far they are from each other.
        """

    async def find_changes(self, after: int) -> tuple[int, list[str]]:
        """(current position, streams written to since position `after`), by any process.

        With `after` -1 the list is empty. Positions grow with every append. Cheap enough for polling.
        """

    def watch_changes(
        self, listener: Callable[[Collection[str]], None], stream: str = ""
    ) -> AbstractContextManager[None]:
        """While this is open, call `listener` with the streams that another process has just written to.

        With `stream` only where that may be among them.

        A hint, which a database may not be able to give, and which may be lost: polling tells all. No names stand for
        too many.
        """

    async def acquire_lease(
        self, stream: str, holder: str, *, seconds: float, now: float | None = None
    ) -> str:
        """Hold a stream until `now + seconds`, unless another process holds it. Returns the holder.

        Leases keep two processes from paying for the same reply. Correctness does not depend on them.
        """

    async def renew_leases(
        self, holder: str, streams: Collection[str], *, seconds: float, now: float | None = None
    ) -> set[str]:
        """Extend the leases this process still has on these streams. Returns the streams it holds."""

    async def active_leases(self, *, now: float | None = None, owner: str | None = None) -> Mapping[str, str]:
        """{stream: holder} of the leases that are valid at that time."""

    async def release_lease(self, stream: str, holder: str) -> None: ...

    # What all streams spend together: reservations end with the lease that they belong to.

    async def find_spending(
        self, day: str, *, now: float | None = None, owner: str | None = None
    ) -> Spending:
        """What was spent on a day, and what the leases reserve that are valid now. Cheap, however many streams."""

    async def reserve(
        self,
        stream: str,
        holder: str,
        *,
        day: str,
        grant: Callable[[Spending, Spending], Amount],
        now: float | None = None,
    ) -> bool:
        """Add what `grant(of all, of this stream's owner)` returns to the reservation of a lease, in one transaction.

        Its arguments are as of `find_spending`; no other process reserves meanwhile. False, without a grant, if the
        holder does not have the lease.
        """

    async def settle(self, stream: str, reserved: Reservation) -> None:
        """Replace a reservation without an append, if its holder still has the lease."""

    # Upkeep: what is derived from the entries can be compared with them, and written again.

    async def find_file_problems(self) -> list[str]:
        """What is wrong with the database as a whole; [] where nothing is."""

    async def find_all_streams(self) -> list[str]:
        """Every stream that has entries or a summary, oldest first."""

    async def read_summary(self, stream: str) -> StreamSummary:
        """What is stored of a stream for lists and sums, without words; empty where it is missing or unreadable."""

    async def rewrite_summary(self, stream: str, version: int, summary: StreamSummary) -> bool:
        """Replace all of it but its owner, and add its words; False if the stream is not at this version now."""

    def split_words(self, summary: StreamSummary) -> frozenset[str]:
        """The words by which the search index has a stream with this summary."""

    async def has_words(self, stream: str, words: Collection[str]) -> bool:
        """Whether the search index has a stream by all of these words."""

    async def count_words(self) -> Mapping[str, int]:
        """The words of the search index, with the number of streams that have each.

        Raises:
            StorageError: it is damaged.
        """

    async def clear_words(self) -> None:
        """Empty the search index, so that `rewrite_summary` can fill it again."""

    async def find_wrong_days(self) -> list[str]:
        """The days with a sum, of all streams or of an owner's, that is not what their own sums add up to."""

    async def rewrite_days(self, days: Collection[str]) -> None:
        """Add them up again."""

    async def find_unchanged(
        self, statuses: Collection[str], before: str, *, owner: str | None = None
    ) -> list[str]:
        """Streams with one of these statuses whose last entry is from before that time (ISO 8601), oldest first."""

    async def close(self) -> None: ...
