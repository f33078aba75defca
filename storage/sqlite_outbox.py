"""The outbox in the journal's SQLite file, through the journal's `Database`."""

from collections.abc import Collection, Sequence

from storage.database import Database
from storage.outbox import EntryReference, OutboxItem, ReaderPosition

REGISTER_READER = """
insert into reader (name, since, position)
select ?, position, position from (select coalesce(max(position), 0) as position from journal)
where true
on conflict (name) do update set name = excluded.name
returning since, position
"""

SELECT_ENTRIES = """
select entry.position, entry.stream, entry.seq, first.position
from journal as entry join journal as first on first.stream = entry.stream and first.seq = 1
where entry.position > ? order by entry.position limit ?
"""

INSERT_ITEM = """
insert or ignore into outbox (id, reader, queue, stream, seq, position, due, attempts, owner, until)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', 0
from reader where name = ?2 and position < ?6
"""

SELECT_DUE = "select distinct reader, queue from outbox where due <= ?1 and (owner = '' or until <= ?1)"

CLAIM_ITEM = """
update outbox set owner = ?3, until = ?5
where number = (
    select number from outbox
    where reader = ?1 and queue = ?2 and due <= ?4 and (owner = '' or until <= ?4)
    order by due, number limit 1
)
returning id, reader, queue, stream, seq, position, due, attempts
"""

RESCHEDULE_ITEM = "update outbox set due = ?, attempts = ?, owner = '', until = 0 where id = ? and owner = ?"


class SqliteOutbox:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def register(self, reader: str) -> ReaderPosition:
        [(since, position)] = await self._db.writer.fetch_all(REGISTER_READER, reader)
        return ReaderPosition(since, position)

    async def entries_after(self, position: int, *, limit: int) -> list[EntryReference]:
        return [
            EntryReference(*row) for row in await self._db.reader.fetch_all(SELECT_ENTRIES, position, limit)
        ]

    async def put(self, readers: Collection[str], position: int, items: Sequence[OutboxItem]) -> None:
        rows = [
            (i.id, i.reader, i.queue_index, i.stream, i.seq, i.position, i.due_at, i.attempts) for i in items
        ]
        async with self._db.writer.transaction() as db:
            await db.executemany(INSERT_ITEM, rows)
            advance = "update reader set position = max(position, ?) where name = ?"
            await db.executemany(advance, [(position, reader) for reader in readers])

    async def due_queues(self, now: float) -> list[tuple[str, int]]:
        return [(reader, queue) for reader, queue in await self._db.reader.fetch_all(SELECT_DUE, now)]

    async def claim(
        self, reader: str, queue_index: int, owner: str, *, now: float, seconds: float
    ) -> OutboxItem | None:
        rows = await self._db.writer.fetch_all(CLAIM_ITEM, reader, queue_index, owner, now, now + seconds)
        return OutboxItem(*rows[0]) if rows else None

    async def complete(self, item: OutboxItem, owner: str) -> None:
        await self._db.writer.fetch_all("delete from outbox where id = ? and owner = ?", item.id, owner)

    async def reschedule(self, item: OutboxItem, owner: str) -> None:
        await self._db.writer.fetch_all(RESCHEDULE_ITEM, item.due_at, item.attempts, item.id, owner)

    async def owners(self) -> set[str]:
        return {
            owner
            for (owner,) in await self._db.reader.fetch_all("select distinct owner from outbox")
            if owner
        }

    async def release_claims(self, owner: str) -> None:
        await self._db.writer.fetch_all("update outbox set owner = '', until = 0 where owner = ?", owner)

    async def delete_overdue(self, due_before: float) -> int:
        return len(
            await self._db.writer.fetch_all("delete from outbox where due < ? returning id", due_before)
        )
