"""The outbox, in the file of the journal and through its connections."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from storage.connection import Connection
from storage.outbox import Item, Mark, Noted

REGISTER = """
insert into reader (name, since, position)
select ?, position, position from (select coalesce(max(position), 0) as position from journal)
where true
on conflict (name) do update set name = excluded.name
returning since, position
"""

ENTRIES = """
select entry.position, entry.stream, entry.seq, first.position
from journal as entry join journal as first on first.stream = entry.stream and first.seq = 1
where entry.position > ? order by entry.position limit ?
"""

PUT = """
insert or ignore into outbox (id, reader, slot, stream, seq, position, due, attempts, owner, until)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', 0
from reader where name = ?2 and position < ?6
"""

MOVE = "update reader set position = max(position, ?) where name = ?"

DUE = "select distinct reader, slot from outbox where due <= ?1 and (owner = '' or until <= ?1)"

CLAIM = """
update outbox set owner = ?3, until = ?5
where number = (
    select number from outbox
    where reader = ?1 and slot = ?2 and due <= ?4 and (owner = '' or until <= ?4)
    order by due, number limit 1
)
returning id, reader, slot, stream, seq, position, due, attempts
"""

PUT_OFF = "update outbox set due = ?, attempts = ?, owner = '', until = 0 where id = ? and owner = ?"


class SqliteOutbox:
    def __init__(
        self, writer: Connection, lock: asyncio.Lock, read: Callable[..., Awaitable[list[Any]]]
    ) -> None:
        """`lock` keeps what is done here out of the transactions of others on that connection."""
        self._writer = writer
        self._lock = lock
        self._read = read

    async def _written(self, sql: str, *values: str | float) -> list[Any]:
        async with self._lock:
            return await self._writer.rows(sql, *values)

    async def register(self, reader: str) -> Mark:
        [(since, position)] = await self._written(REGISTER, reader)
        return Mark(since, position)

    async def entries(self, after: int, *, limit: int) -> list[Noted]:
        return [Noted(*row) for row in await self._read(ENTRIES, after, limit)]

    async def put(self, readers: Collection[str], until: int, items: Sequence[Item]) -> None:
        rows = [(i.id, i.reader, i.slot, i.stream, i.seq, i.position, i.due, i.attempts) for i in items]
        async with self._lock, self._writer.transaction():
            await self._writer.many(PUT, rows)
            await self._writer.many(MOVE, [(until, reader) for reader in readers])

    async def due(self, now: float) -> list[tuple[str, int]]:
        return [(reader, slot) for reader, slot in await self._read(DUE, now)]

    async def claim(self, reader: str, slot: int, owner: str, *, now: float, seconds: float) -> Item | None:
        rows = await self._written(CLAIM, reader, slot, owner, now, now + seconds)
        return Item(*rows[0]) if rows else None

    async def done(self, item: Item, owner: str) -> None:
        await self._written("delete from outbox where id = ? and owner = ?", item.id, owner)

    async def put_off(self, item: Item, owner: str) -> None:
        await self._written(PUT_OFF, item.due, item.attempts, item.id, owner)

    async def owners(self) -> set[str]:
        return {owner for (owner,) in await self._read("select distinct owner from outbox") if owner}

    async def release(self, owner: str) -> None:
        await self._written("update outbox set owner = '', until = 0 where owner = ?", owner)

    async def forget(self, before: float) -> int:
        return len(await self._written("delete from outbox where due < ? returning id", before))
