"""The journal: streams of numbered, hash-chained entries, each written once.

Appends that arrive during a write form the next transaction (group commit): so two hundred concurrent debates need a
few disk syncs, not two hundred. What differs between databases is how the rows of a batch are written.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from time import monotonic
from typing import Any

from storage.canonical import encode_canonical, genesis_hash
from storage.chain import (
    NO_HEAD,
    Append,
    Batch,
    Head,
    Row,
    build_restored,
    decode_stream,
    decode_streams,
    find_missing,
    find_tombstone,
    link_appends,
)
from storage.columns import encode_reservation, encode_summary
from storage.database import Database, Session
from storage.errors import ConflictError, DeletedStreamError, DivergenceError, StorageError
from storage.keys import claim_keys
from storage.outbox import LAST_POSITION
from storage.streams import Entry, OpeningKey, Reservation, Seal, StreamHead, StreamSummary, Tombstone

MAX_LINKED_ENTRIES = 64  # more use an explicit transaction
MAX_CACHED_HEADS = 1000  # streams

# One statement, hence one snapshot. A row with a null text has the stream's head and its seal.
SELECT_ENTRIES = """
select stream, seq, convert_to(entry, 'UTF8'), hash, case when restored then 'restored' else '' end
from journal where stream = any($1::text[])
union all
select name, seq, null, head, seal from stream where name = any($1::text[])
"""

# The number is negative where the entries were archived: no append builds on it.
SELECT_HEADS = "select name, seq, head, owner, seal from stream where name = any($1::text[]) and seq > 0"

LOCK_STREAMS = "select name, seq, head from stream where name = any($1::text[]) order by name for update"

SELECT_DELETED = "select stream from journal where seq = 0 and stream = any($1::text[])"

FIND_TOMBSTONE = "select entry from journal where stream = $1 and seq = 0"

BRING_BACK = [
    "insert into removal (stream) values ($1)",
    "delete from journal where stream = $1 and seq = 0",
    "delete from removal where stream = $1",
]

BEGIN_AGAIN = "update stream set seq = 0, head = $1 where name = $2"

SELECT_HASHES = "select hash from journal where stream = $1 and seq > 0 order by seq"

SELECT_ALL_STREAMS = """
select name from (
    select name, number from stream
    union all
    select distinct stream, 0 from journal where seq > 0 and stream not in (select name from stream)
) as every order by number, name
"""

# Not by the index of streams: grouped by it, SQLite would go through all entries that there are.
SELECT_CHANGES = """
select max(position), stream || '' from journal where position > $1 group by stream || '' order by 1
"""


class HeadMovedError(Exception):
    """A stream has another head than the batch builds on. Nothing was written."""


class Journal(ABC):
    """Serves who records debates, and who reads them: it does not look into what it records.

    A stream has an owner, who is not part of its chain. Nothing here asks whose a stream is: who serves several owners
    looks at `head` first. Every method may raise StorageError.
    """

    def __init__(self, database: Database, timeout: float) -> None:
        """`timeout`: seconds that each append may take, from its call on."""
        self._database = database
        self._timeout = timeout
        # With the time of the call.
        self._pending: list[tuple[Append, float, asyncio.Future[list[Entry]]]] = []
        self._commit_task: asyncio.Task[None] | None = None
        # May be stale if another process appended; the database rejects such a batch.
        self._cached_heads: dict[str, Head] = {}

    @abstractmethod
    async def _write_linked(self, batch: Batch, wait: float) -> None:
        """Write a batch that builds on cached heads. Raises HeadMovedError, StorageError."""

    @abstractmethod
    async def _write_checked(self, appends: Sequence[Append], wait: float) -> Batch:
        """Link appends and write them, in one transaction. Raises StorageError."""

    @abstractmethod
    async def _write_rows(self, session: Session, rows: Sequence[Row]) -> None:
        """Write rows in a transaction that has locked their streams."""

    @abstractmethod
    async def bury(self, session: Session, tombstone: Tombstone) -> None:
        """Put a tombstone in the place of a stream. It has a position: who follows the changes finds it."""

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
        if not bodies:
            raise ValueError("there is nothing to append")
        if key and after:
            raise ValueError("a key is for the first entries of a stream")
        stream.encode()  # a surrogate would fail inside the transaction
        bodies_by_number = enumerate(bodies, start=after + 1)
        texts = [encode_canonical(seq, at, actor, body) for seq, body in bodies_by_number]
        outcome: asyncio.Future[list[Entry]] = asyncio.get_running_loop().create_future()
        summary_columns, reservation = encode_summary(summary), encode_reservation(reserved)
        append = Append(stream, after, at, actor, bodies, texts, summary_columns, key, reservation, seal)
        self._pending.append((append, monotonic(), outcome))
        if self._commit_task is None or self._commit_task.done():
            # A separate task: cancelling one caller must not cancel a transaction with other appends.
            self._commit_task = asyncio.create_task(self._commit_all(), name="journal")
        return await outcome

    async def finish_appends(self) -> None:
        """Wait for those that were begun."""
        if self._commit_task:
            await asyncio.wait([self._commit_task])

    def forget_heads(self, *streams: str) -> None:
        """Look at the heads of these streams again before the next append; of all without any."""
        for stream in streams or tuple(self._cached_heads):
            self._cached_heads.pop(stream, None)

    async def _commit_all(self) -> None:
        # Leaves out cancelled callers.
        while batch := [each for each in self._pending if not each[-1].done()]:
            self._pending = []
            outcomes: Sequence[list[Entry] | BaseException]
            # The first one's time has passed in the queue: waits for a lock do not add up.
            wait = max(batch[0][1] + self._timeout - monotonic(), 0)
            try:
                outcomes = await self._write([append for append, _, _ in batch], wait)
            except StorageError as error:
                outcomes = [type(error)(str(error)) for _ in batch]  # each gets a traceback of its own
            except BaseException as error:  # noqa: BLE001  (the callers wait for it)
                outcomes = [error for _ in batch]
            for (*_, future), outcome in zip(batch, outcomes, strict=True):
                if future.done():
                    continue
                if isinstance(outcome, BaseException):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)

    async def _write(self, appends: Sequence[Append], wait: float) -> Sequence[list[Entry] | ConflictError]:
        """Write in one statement that builds on the cached heads, or else in a transaction that reads them."""
        batch = None
        has_key = any(append.key for append in appends)
        if not has_key and sum(len(append.texts) for append in appends) <= MAX_LINKED_ENTRIES:
            batch = link_appends(appends, self._cached_heads)
            # The cache may be behind what another process wrote: only what the database has makes a conflict.
            if any(isinstance(result, ConflictError) for result in batch.results):
                batch = None
        if batch:
            try:
                await self._write_linked(batch, wait)
            except HeadMovedError:
                batch = None
        if batch is None:
            batch = await self._write_checked(appends, wait)
        self._cached_heads.update(batch.heads)
        if len(self._cached_heads) > MAX_CACHED_HEADS:
            self._cached_heads = batch.heads
        return batch.results

    async def _link_and_write(self, session: Session, appends: Sequence[Append]) -> Batch:
        names = [append.stream for append in appends]
        heads = await lock_streams(session, names)
        heads |= {name: NO_HEAD for (name,) in await session.fetch(SELECT_DELETED, names)}
        claims: dict[str, tuple[OpeningKey, str, str]] = {}
        for append in appends:
            if append.key and append.stream not in heads:
                claims.setdefault(append.key.name, (append.key, append.stream, append.at))
        batch = link_appends(appends, heads, await claim_keys(session, claims, self._database))
        await self._write_rows(session, batch.rows)
        return batch

    async def restore(
        self, stream: str, entries: Sequence[Entry], summary: StreamSummary, *, seal: str | None = None
    ) -> int:
        """Write an existing stream with its numbers, times, actors and hashes, in one transaction.

        Adds the entries that are missing and returns their number; a stream that has all of them, or more,
        is left unchanged. The new head has no seal, and all that is added counts as restored. One that was archived
        has its entries again.

        `seal`: that of the head in another database of this installation, of which this is a copy. The new head has it,
        and what is added counts as restored as far as it does there.

        Raises:
            DeletedStreamError: the stream was deleted.
            DamagedStreamError: the entries do not form a chain of this stream.
            DivergenceError: the stream holds other entries.
            ValueError: there are no entries, or one of them or the summary is not valid JSON or Unicode.
            StorageError: the database cannot be written.
        """
        rows = build_restored(stream, entries, summary, seal)

        async def write(session: Session) -> int:
            await lock_streams(session, [stream])
            texts = [text for (text,) in await session.fetch(FIND_TOMBSTONE, stream)]
            if tombstone := find_tombstone(stream, texts):
                if not tombstone.archive:
                    raise DeletedStreamError(tombstone)
                if tombstone.head not in {row.head.hex() for row in rows}:
                    raise DivergenceError(stream, tombstone.seq)
                for statement in BRING_BACK:
                    await session.fetch(statement, stream)
                await session.fetch(BEGIN_AGAIN, genesis_hash(stream), stream)
            hash_rows = await session.fetch(SELECT_HASHES, stream)
            missing = find_missing(rows, [digest for (digest,) in hash_rows])
            await self._write_rows(session, missing)
            return len(missing)

        return await self._database.transact(write)

    async def read(self, stream: str) -> list[Entry]:
        """The entries of a stream after checking its whole chain; [] for an unknown stream.

        Raises:
            DeletedStreamError: it was deleted.
            DamagedStreamError: an entry was changed, removed or reordered, or cannot be decoded.
            StorageError: the database cannot be read.
        """
        return (await self.read_sealed(stream))[0]

    async def read_sealed(self, stream: str) -> tuple[list[Entry], str]:
        """As `read`, with the seal of the head; "" for none."""
        rows = await self._database.read(SELECT_ENTRIES, [stream])
        return decode_stream(stream, [row[1:] for row in rows])

    async def read_many(
        self, streams: Collection[str]
    ) -> Mapping[str, tuple[list[Entry], str] | StorageError]:
        """As `read_sealed` of each, in one statement. Unknown ones are left out.

        One that was deleted or damaged keeps nobody from the others: its error stands in its place.
        """
        return decode_streams(await self._database.read(SELECT_ENTRIES, list(streams)))

    async def head(self, stream: str) -> StreamHead:
        """The last entry, and whose stream it is. Cheap enough for polling."""
        return (await self.heads([stream])).get(stream, StreamHead())

    async def heads(self, streams: Collection[str]) -> Mapping[str, StreamHead]:
        """As `head` of each, in one statement. Unknown and deleted ones are left out."""
        rows = await self._database.read(SELECT_HEADS, list(streams))
        return {name: StreamHead(seq, head.hex(), owner, seal) for name, seq, head, owner, seal in rows}

    async def seal(self, stream: str, seq: int, seal: str) -> bool:
        """Seal a head, if it still has this number. Returns whether it has."""
        sql = "update stream set seal = $1 where name = $2 and seq = $3 returning seq"
        return bool(await self._database.write(sql, seal, stream, seq))

    async def list_streams(self) -> list[str]:
        """Every stream that has entries or a summary, oldest first."""
        return [name for (name,) in await self._database.read(SELECT_ALL_STREAMS, is_long=True)]

    async def find_changes(self, position: int) -> tuple[int, list[str]]:
        """(current position, streams written to since `position`), by any process.

        With `position` -1 the list is empty. Positions grow with every append, and become visible in order. Cheap
        enough for polling.
        """
        if position < 0:
            return int((await self._database.read(LAST_POSITION))[0][0]), []
        rows = await self._database.read(SELECT_CHANGES, position)
        return (rows[-1][0] if rows else position), [stream for _, stream in rows]


async def lock_streams(session: Session, streams: Collection[str]) -> dict[str, Head]:
    """Lock what a transaction writes to, before all else. Returns the heads of the streams that are there."""
    await session.lock("sums")
    rows = await session.fetch(LOCK_STREAMS, list(streams))
    return {name: Head(seq, head) for name, seq, head in rows}
