"""The outbox in the journal's SQLite file, through the journal's `Database`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple

from storage.contract.outbox import EntryReference, OutboxItem, ReaderPosition
from storage.sqlite.connections.database import Database

REGISTER_READER = """
insert into reader (name, since, position)
select ?1, position, position
from (select coalesce((select max(position) from journal), 0) as position)
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
insert or ignore into outbox (id, reader, queue, stream, seq, position, event, due, attempts)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
from reader where name = ?2 and position < ?6
"""

SELECT_ITEMS = """
select id, reader, queue, stream, seq, position, event, due, attempts from outbox order by number
"""

RESTORE_READER = """
insert into reader (name, since, position) values (?, ?, ?)
on conflict (name) do update set since = excluded.since, position = max(position, excluded.position)
"""

RESTORE_ITEM = """
insert or ignore into outbox (id, reader, queue, stream, seq, position, event, due, attempts)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

# Numbers grow with the position of the entry. With `min`, SQLite takes `due` from the row with the lowest number.
SELECT_DUE = """
select reader, queue
from (select reader, queue, due, min(number) from outbox group by reader, queue)
where due <= ?
"""

SELECT_FIRST = """
select id, reader, queue, stream, seq, position, event, due, attempts
from outbox where reader = ? and queue = ? order by number limit 1
"""


class SqliteOutbox:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def register(self, reader: str) -> ReaderPosition:
        known = await self._db.reader.fetch_all("select since, position from reader where name = ?", reader)
        [(since, position)] = known or await self._db.writer.fetch_all(REGISTER_READER, reader)
        return ReaderPosition(since, position)

    async def find_readers(self) -> Mapping[str, ReaderPosition]:
        rows = await self._db.reader.fetch_all("select name, since, position from reader")
        return {name: ReaderPosition(*mark) for name, *mark in rows}

    async def find_position(self, stream: str, seq: int) -> int:
        sql = "select position from journal where stream = ? and seq = ?"
        rows = await self._db.reader.fetch_all(sql, stream, seq)
        return int(rows[0][0]) if rows else 0

    async def find_versions(self, position: int) -> dict[str, int]:
        sql = "select stream, max(seq) from journal where position <= ? and seq > 0 group by stream"
        return dict(await self._db.reader.fetch_all(sql, position))

    async def entries_after(self, position: int, *, limit: int) -> list[EntryReference]:
        return [
            EntryReference(*row) for row in await self._db.reader.fetch_all(SELECT_ENTRIES, position, limit)
        ]

    async def put(self, readers: Collection[str], position: int, items: Sequence[OutboxItem]) -> None:
        async with self._db.writer.transaction() as db:
            await db.executemany(INSERT_ITEM, [astuple(item) for item in items])
            advance = "update reader set position = max(position, ?) where name = ?"
            await db.executemany(advance, [(position, reader) for reader in readers])

    async def find_items(self) -> list[OutboxItem]:
        return [OutboxItem(*row) for row in await self._db.reader.fetch_all(SELECT_ITEMS)]

    async def restore(
        self, reader: str, mark: ReaderPosition, items: Sequence[OutboxItem], done: Collection[str]
    ) -> None:
        async with self._db.writer.transaction() as db:
            await db.execute_fetchall(RESTORE_READER, [reader, mark.start, mark.position])
            await db.executemany(RESTORE_ITEM, [astuple(item) for item in items])
            await db.executemany("delete from outbox where id = ?", [(name,) for name in done])

    async def due_queues(self, now: float) -> list[tuple[str, int]]:
        return [(reader, queue) for reader, queue in await self._db.reader.fetch_all(SELECT_DUE, now)]

    async def queues_about(self, stream: str) -> list[tuple[str, int]]:
        sql = "select distinct reader, queue from outbox where stream = ?"
        return [(reader, queue) for reader, queue in await self._db.reader.fetch_all(sql, stream)]

    async def first_due(self, reader: str, queue_index: int, now: float) -> OutboxItem | None:
        rows = await self._db.reader.fetch_all(SELECT_FIRST, reader, queue_index)
        first = OutboxItem(*rows[0]) if rows else None
        return first if first and first.due_at <= now else None

    async def complete(self, item: OutboxItem) -> None:
        await self._db.writer.fetch_all("delete from outbox where id = ?", item.id)

    async def reschedule(self, item: OutboxItem) -> None:
        sql = "update outbox set due = ?, attempts = ? where id = ?"
        await self._db.writer.fetch_all(sql, item.due_at, item.attempts, item.id)

    async def count(self) -> int:
        [(number,)] = await self._db.reader.fetch_all("select count(*) from outbox")
        return int(number)

    async def delete_overdue(self, due_before: float) -> int:
        return len(
            await self._db.writer.fetch_all("delete from outbox where due < ? returning id", due_before)
        )
