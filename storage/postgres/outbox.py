"""The outbox in PostgreSQL, through the journal's `Database`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple

from storage.contract.outbox import EntryReference, OutboxItem, ReaderPosition
from storage.postgres.connections.pool import UPKEEP_SECONDS, Database, Session, transpose

REGISTER_READER = """
insert into reader (name, since, position) select $1, value, value from counter where name = 'journal'
on conflict (name) do update set name = excluded.name
returning since, position
"""

SELECT_ENTRIES = """
select entry.position, entry.stream, entry.seq, first.position
from journal as entry join journal as first on first.stream = entry.stream and first.seq = 1
where entry.position > $1 order by entry.position limit $2
"""

# Who stores items of a reader holds its row, so that the numbers of the items grow with the position of the entry.
PUT_ITEMS = """
with passed as materialized (
    select name, position from reader where name = any($1::text[] || $5::text[]) order by name for update
), added as (
    insert into outbox (id, reader, queue, stream, seq, position, event, due, attempts)
    select item.id, item.reader, item.queue, item.stream, item.seq, item.position, item.event, item.due,
        item.attempts
    from unnest(
        $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[], $9::bigint[], $10::text[],
        $11::float8[], $12::bigint[]
    ) with ordinality as item (id, reader, queue, stream, seq, position, event, due, attempts, nth)
    join passed on passed.name = item.reader and passed.position < item.position
    order by item.nth
    on conflict (id) do nothing
)
update reader set position = greatest(reader.position, $2::bigint) from passed
where reader.name = passed.name and reader.name = any($3::text[])
"""

SELECT_ITEMS = """
select id, reader, queue, stream, seq, position, event, due, attempts from outbox order by number
"""

RESTORE_READER = """
insert into reader (name, since, position) values ($1, $2, $3)
on conflict (name) do update
set since = excluded.since, position = greatest(reader.position, excluded.position)
"""

RESTORE_ITEMS = """
insert into outbox (id, reader, queue, stream, seq, position, event, due, attempts)
select id, reader, queue, stream, seq, position, event, due, attempts
from unnest(
    $1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::float8[],
    $9::bigint[]
) with ordinality as item (id, reader, queue, stream, seq, position, event, due, attempts, nth)
order by nth
on conflict (id) do nothing
"""

LOCK_READER = "select 1 from reader where name = $1 for update"

DELETE_ITEMS = """
delete from outbox where number in (select number from outbox where id = any($1::text[]) order by number for update)
"""

# Those that somebody works on are left to him.
DELETE_OVERDUE = """
delete from outbox where number in (select number from outbox where due < $1 for update skip locked) returning id
"""

SELECT_DUE = """
select reader, queue from (
    select distinct on (reader, queue) reader, queue, due from outbox order by reader, queue, number
) as first where due <= $1
"""

SELECT_FIRST = """
select id, reader, queue, stream, seq, position, event, due, attempts
from outbox where reader = $1 and queue = $2 order by number limit 1
"""


class PostgresOutbox:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def register(self, reader: str) -> ReaderPosition:
        known = await self._db.fetch("select since, position from reader where name = $1", reader)
        [(since, position)] = known or await self._db.write(REGISTER_READER, reader)
        return ReaderPosition(since, position)

    async def find_readers(self) -> Mapping[str, ReaderPosition]:
        rows = await self._db.fetch("select name, since, position from reader")
        return {name: ReaderPosition(*mark) for name, *mark in rows}

    async def find_position(self, stream: str, seq: int) -> int:
        sql = "select position from journal where stream = $1 and seq = $2"
        rows = await self._db.fetch(sql, stream, seq)
        return int(rows[0][0]) if rows else 0

    async def find_versions(self, position: int) -> dict[str, int]:
        sql = "select stream, max(seq) from journal where position <= $1 and seq > 0 group by stream"
        return dict(await self._db.fetch(sql, position, wait=UPKEEP_SECONDS))

    async def entries_after(self, position: int, *, limit: int) -> list[EntryReference]:
        return [EntryReference(*row) for row in await self._db.fetch(SELECT_ENTRIES, position, limit)]

    async def put(self, readers: Collection[str], position: int, items: Sequence[OutboxItem]) -> None:
        names = list(readers)
        columns = transpose([astuple(item) for item in items], 9)
        await self._db.write(PUT_ITEMS, names, position, names, *columns)

    async def find_items(self) -> list[OutboxItem]:
        return [OutboxItem(*row) for row in await self._db.fetch(SELECT_ITEMS, wait=UPKEEP_SECONDS)]

    async def restore(
        self, reader: str, mark: ReaderPosition, items: Sequence[OutboxItem], done: Collection[str]
    ) -> None:
        columns = transpose([astuple(item) for item in items], 9)

        async def write(session: Session) -> None:
            await session.fetch(RESTORE_READER, reader, mark.start, mark.position)
            await session.fetch(RESTORE_ITEMS, *columns)
            await session.fetch(DELETE_ITEMS, list(done))

        await self._db.transact(write)

    async def due_queues(self, now: float) -> list[tuple[str, int]]:
        return [(reader, queue) for reader, queue in await self._db.fetch(SELECT_DUE, now)]

    async def queues_about(self, stream: str) -> list[tuple[str, int]]:
        sql = "select distinct reader, queue from outbox where stream = $1"
        return [(reader, queue) for reader, queue in await self._db.fetch(sql, stream)]

    async def first_due(self, reader: str, queue_index: int, now: float) -> OutboxItem | None:
        rows = await self._db.fetch(SELECT_FIRST, reader, queue_index)
        first = OutboxItem(*rows[0]) if rows else None
        return first if first and first.due_at <= now else None

    async def complete(self, item: OutboxItem) -> None:
        await self._db.write("delete from outbox where id = $1", item.id)

    async def reschedule(self, item: OutboxItem) -> None:
        sql = "update outbox set due = $1, attempts = $2 where id = $3"
        await self._db.write(sql, item.due_at, item.attempts, item.id)

    async def count(self) -> int:
        [(number,)] = await self._db.fetch("select count(*) from outbox")
        return int(number)

    async def delete_overdue(self, due_before: float) -> int:
        return len(await self._db.write(DELETE_OVERDUE, due_before))
