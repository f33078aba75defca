"""The journal in a PostgreSQL database."""

from collections.abc import Sequence

import anyio

from storage.chain import Append, Batch, Row, encode_tombstone
from storage.database import Session
from storage.journal import HeadMovedError, Journal, lock_streams
from storage.postgres.appends import APPEND, build_values
from storage.postgres.connections.errors import ConstraintError, LostError
from storage.postgres.connections.pool import PostgresDatabase
from storage.postgres.ledger import PostgresLedger
from storage.postgres.search import PostgresSearchIndex
from storage.streams import Tombstone

BURY = """
with moved as (
    update counter set value = value + 1 where name = 'journal' returning value
)
insert into journal (position, stream, seq, entry, hash, restored)
select moved.value, $1, 0, convert_from($2::bytea, 'UTF8'), $3, false from moved
"""


class PostgresJournal(Journal):
    _database: PostgresDatabase

    def __init__(
        self, database: PostgresDatabase, index: PostgresSearchIndex, ledger: PostgresLedger
    ) -> None:
        super().__init__(database, database.patience)
        self._index, self._ledger = index, ledger

    async def _write_linked(self, batch: Batch, wait: float) -> None:
        deadline = anyio.current_time() + wait
        while True:
            try:
                await self._write_batch(batch, deadline - anyio.current_time())
            except ConstraintError as error:
                raise HeadMovedError from error
            except LostError as error:
                if error.is_outcome_known or not await self._was_written(batch, deadline):
                    if anyio.current_time() >= deadline:
                        raise
                    continue
            return

    async def _write_batch(self, batch: Batch, wait: float) -> None:
        async def write(session: Session) -> None:
            await lock_streams(session, batch.heads)
            await self._write_rows(session, batch.rows)

        # Judgments and words have to be deleted before others are written.
        if any(row.judgments is not None or row.removed for row in batch.rows):
            await self._database.transact(write, wait=wait)
        else:
            values = build_values(batch.rows, self._index.split_text)
            await self._database.write_once(APPEND, *values, wait=wait)

    async def _write_checked(self, appends: Sequence[Append], wait: float) -> Batch:
        deadline = anyio.current_time() + wait
        batch: Batch | None = None

        async def write(session: Session) -> None:
            nonlocal batch
            batch = await self._link_and_write(session, appends)

        while True:
            try:
                await self._database.transact(write, wait=deadline - anyio.current_time())
            except (ConstraintError, LostError) as error:
                # Another process has just begun one of the streams, or the answer was lost.
                is_open = isinstance(error, LostError) and not error.is_outcome_known
                if not (is_open and await self._was_written(batch, deadline)):
                    if anyio.current_time() >= deadline:
                        raise
                    batch = None
                    continue
            assert batch
            return batch

    async def _was_written(self, batch: Batch | None, deadline: float) -> bool:
        """Whether a batch was written whose commit was not answered. Raises LostError where nobody knows."""
        if batch is None or not batch.rows:
            return batch is not None
        seconds_left = deadline - anyio.current_time()
        first_row = batch.rows[0]
        sql = "select 1 from journal where stream = $1 and seq = $2 and hash = $3"
        return bool(
            await self._database.fetch(
                sql, first_row.stream, first_row.seq, first_row.head, wait=seconds_left
            )
        )

    async def _write_rows(self, session: Session, rows: Sequence[Row]) -> None:
        """Raises asyncpg.PostgresError, of constraints if a stream has another head."""
        for row in rows:
            if row.judgments is not None:
                await self._ledger.replace(session, row.stream, row.judgments)
            if row.removed:
                await self._index.remove(session, row.stream, row.removed)
        if rows:
            await session.fetch(APPEND, *build_values(rows, self._index.split_text))

    async def bury(self, session: Session, tombstone: Tombstone) -> None:
        text, head = encode_tombstone(tombstone), bytes.fromhex(tombstone.head)
        await session.fetch(BURY, tombstone.stream, text, head)
