"""What is kept to spare work: it may be gone at any time. It is part of no stream, and neither copied nor exported."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import anyio

from storage.database import Database, Session

CACHE_TABLES = (
    # `used` grows with each use.
    """
    create table cached (
        key {text} primary key,
        kind {text} not null,
        stream {text} not null,
        body {bytes} not null,
        size {integer} not null,
        used {integer} not null
    ) {large}
    """,
    "create index cached_by_use on cached (used, key, size)",
    "create index cached_by_stream on cached (stream) where stream <> ''",
)

TRY_SECONDS = (0.005, 0.01, 0.02, 0.04, 0.08)
"""Between attempts to keep something while others write. A connection is held for none of them."""

# Whoever deletes one of the streams waits, is deleting it, or has deleted it.
LOCK_STREAMS = "select name from stream where name = any($1::text[]) order by name for key share skip locked"

# Rows that others are writing are left as they are: what reads waits for nobody.
MARK_USED = """
update cached set used = (select max(used) + 1 from cached) where key in (
    select key from cached where key = any($1::text[]) for update skip locked
)
"""
SELECT_CACHED = "select key, body, stream from cached where key = any($1::text[])"
KEEP_CACHED = """
insert into cached (key, kind, stream, body, size, used)
values ($1, $2, $3, $4, $5, (select coalesce(max(used), 0) + 1 from cached))
on conflict (key) do update set
    kind = excluded.kind, stream = excluded.stream, body = excluded.body, size = excluded.size, used = excluded.used
"""
SUM_CACHED = "select coalesce(sum(size), 0)::bigint from cached"
DROP_UNUSED = """
delete from cached where key in (
    select key from (
        select key, sum(size) over (order by used desc, key) as whole from cached
    ) as sized where whole > $1
)
"""
SUM_BY_KIND = "select kind, count(*), sum(size)::bigint from cached group by kind order by kind"


class CachedBody(NamedTuple):
    """What is kept under a key. `stream`: it is dropped when this stream is deleted; "" for none."""

    key: str
    body: bytes
    stream: str = ""


class CacheSum(NamedTuple):
    """How much is kept of a kind."""

    kind: str
    number: int
    bytes: int


class Cache:
    """Serves memory, which keeps vectors of questions here, and debates that use answers again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, keys: Collection[str]) -> Mapping[str, CachedBody]:
        """What is kept under these keys, which counts as used now."""
        rows = await self._database.read(SELECT_CACHED, list(keys))
        bodies = {key: CachedBody(key, bytes(body), stream) for key, body, stream in rows}
        if bodies and not self._database.is_read_only:
            await self._database.write(MARK_USED, list(bodies))
        return bodies

    async def keep(self, kind: str, bodies: Sequence[CachedBody], *, max_bytes: int) -> None:
        """Keep these, whole or not at all, and drop what was not used for longest until no more bytes are kept.

        What is kept under a key already is replaced. What belongs to a stream that is gone is not kept, and nothing
        where others are writing here for longer than a moment.
        """
        if self._database.is_read_only:
            return

        async def keep(session: Session) -> bool:
            if not await session.try_lock("cache"):  # two writers would see the same room
                return False
            streams = sorted({row.stream for row in bodies} - {""})
            streams_here = {"", *(name for (name,) in await session.fetch(LOCK_STREAMS, streams))}
            rows = [
                (row.key, kind, row.stream, row.body, len(row.body))
                for row in sorted(bodies)
                if row.stream in streams_here
            ]
            await session.fetch_each(KEEP_CACHED, rows)
            [(size,)] = await session.fetch(SUM_CACHED)
            if size > max_bytes:
                await session.fetch(DROP_UNUSED, max_bytes)
            return True

        for seconds in (*TRY_SECONDS, 0):
            if await self._database.transact(keep):
                return
            await anyio.sleep(seconds)

    async def measure(self) -> list[CacheSum]:
        """By kind."""
        return [CacheSum(*row) for row in await self._database.read(SUM_BY_KIND)]

    async def clear(self) -> None:
        async def clear(session: Session) -> None:
            await session.lock("cache")
            await session.fetch("delete from cached")

        await self._database.transact(clear)


async def drop_cached(session: Session, stream: str) -> None:
    """Drop what is kept of a stream that is being deleted."""
    await session.lock("cache")
    await session.fetch("delete from cached where stream = $1", stream)
