"""Group commit: appends that arrive during a write form the next transaction.

So two hundred concurrent debates need a few disk syncs, not two hundred. What differs between databases is how the
rows of a batch are written.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from storage.canonical import encode_canonical
from storage.chain import Append, Batch, Head, link_appends
from storage.contract.errors import ConflictError, StorageError
from storage.contract.streams import Entry, OpeningKey, Reservation, Seal, StreamSummary
from storage.summaries import encode_reservation, encode_summary

MAX_LINKED_ENTRIES = 64  # more use an explicit transaction
MAX_CACHED_HEADS = 1000  # streams


class HeadMovedError(Exception):
    """A stream has another head than the batch builds on. Nothing was written."""


class GroupedAppends(ABC):
    """The appends of a journal. `timeout`: seconds that each may take, from its call on."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._pending: list[
            tuple[Append, float, asyncio.Future[list[Entry]]]
        ] = []  # with the time of the call
        self._commit_task: asyncio.Task[None] | None = None
        # May be stale if another process appended; the database rejects such a batch.
        self._cached_heads: dict[str, Head] = {}

    @abstractmethod
    async def _write_linked(self, batch: Batch, wait: float) -> None:
        """Write a batch that builds on cached heads. Raises HeadMovedError, StorageError."""

    @abstractmethod
    async def _write_checked(self, appends: Sequence[Append], wait: float) -> Batch:
        """Read the heads, claim the keys and write, in one transaction. Raises StorageError."""

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
        if not bodies:
            raise ValueError("there is nothing to append")
        if key and after:
            raise ValueError("a key is for the first entries of a stream")
        stream.encode()  # a surrogate would fail inside the transaction
        numbered = enumerate(bodies, start=after + 1)
        texts = [encode_canonical(seq, at, actor, body) for seq, body in numbered]
        done: asyncio.Future[list[Entry]] = asyncio.get_running_loop().create_future()
        summary_columns, reservation = encode_summary(summary), encode_reservation(reserved)
        append = Append(stream, after, at, actor, bodies, texts, summary_columns, key, reservation, seal)
        self._pending.append((append, anyio.current_time(), done))
        if self._commit_task is None or self._commit_task.done():
            # A separate task: cancelling one caller must not cancel a transaction with other appends.
            self._commit_task = asyncio.create_task(self._commit_all(), name="journal")
        return await done

    async def finish_appends(self) -> None:
        """Wait for those that were begun."""
        if self._commit_task:
            await asyncio.wait([self._commit_task])

    async def _commit_all(self) -> None:
        # Leaves out cancelled callers.
        while taken := [each for each in self._pending if not each[-1].done()]:
            self._pending = []
            outcomes: Sequence[list[Entry] | BaseException]
            # The first one's time has passed in the queue: waits for a lock do not add up.
            wait = max(taken[0][1] + self._timeout - anyio.current_time(), 0)
            try:
                outcomes = await self._write([append for append, _, _ in taken], wait)
            except StorageError as error:
                outcomes = [type(error)(str(error)) for _ in taken]  # each gets a traceback of its own
            except BaseException as error:  # noqa: BLE001  (the callers wait for it)
                outcomes = [error for _ in taken]
            for (*_, done), outcome in zip(taken, outcomes, strict=True):
                if done.done():
                    continue
                if isinstance(outcome, BaseException):
                    done.set_exception(outcome)
                else:
                    done.set_result(outcome)

    async def _write(self, appends: Sequence[Append], wait: float) -> Sequence[list[Entry] | ConflictError]:
        """Write in one statement that builds on the cached heads, or else in a transaction that reads them."""
        batch = None
        has_key = any(append.key for append in appends)
        if not has_key and sum(len(append.texts) for append in appends) <= MAX_LINKED_ENTRIES:
            batch = link_appends(appends, self._cached_heads)
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
