"""What is kept to spare work, in PostgreSQL."""

from collections.abc import Collection, Mapping, Sequence

import anyio

from storage.contract.cache import CachedBody, CacheSum
from storage.postgres.connections.pool import Database, Session

CREATE_CACHE = """
create table cached (
    key text collate "C" primary key,
    kind text collate "C" not null,
    stream text collate "C" not null,
    body bytea not null,
    used timestamptz not null
);
create index cached_by_stream on cached (stream) where stream <> '';
"""

LOCK_CACHE = "select pg_advisory_xact_lock(20261123)"
"""One writer after the other: two would see the same room, and could wait for each other's rows."""

TRY_LOCK_CACHE = "select pg_try_advisory_xact_lock(20261123)"

TRY_SECONDS = (0.005, 0.01, 0.02, 0.04, 0.08)
"""Between attempts to keep something while others write. A connection is held for none of them."""

LOCK_STREAMS = """
select name from stream where name = any($1::text[]) order by name for key share skip locked
"""
"""Whoever deletes one of them waits, is deleting it, or has deleted it."""

# Rows that others are writing are left as they are: what reads waits for nobody.
MARK_USED = """
update cached set used = clock_timestamp() where key in (
    select key from cached where key = any($1::text[]) for update skip locked
)
"""
SELECT_CACHED = "select key, body, stream from cached where key = any($1::text[])"
KEEP_CACHED = """
insert into cached (key, kind, stream, body, used)
select key, $1, stream, body, clock_timestamp()
from unnest($2::text[], $3::text[], $4::bytea[]) as given (key, stream, body) order by key
on conflict (key) do update
set kind = excluded.kind, stream = excluded.stream, body = excluded.body, used = excluded.used
"""
SUM_CACHED = "select coalesce(sum(length(body)), 0)::bigint from cached"
DROP_UNUSED = """
delete from cached where key in (
    select key from (
        select key, sum(length(body)) over (order by used desc, key) as whole from cached
    ) as sized where whole > $1
)
"""
SUM_BY_KIND = "select kind, count(*), sum(length(body))::bigint from cached group by kind order by kind"


class PostgresCache:
    _db: Database
    _is_read_only: bool

    async def find_cached(self, keys: Collection[str]) -> Mapping[str, CachedBody]:
        rows = await self._db.fetch(SELECT_CACHED, list(keys))
        found = {key: CachedBody(key, bytes(body), stream) for key, body, stream in rows}
        if found and not self._is_read_only:
            await self._db.write(MARK_USED, list(found))
        return found

    async def keep_cached(self, kind: str, bodies: Sequence[CachedBody], *, max_bytes: int) -> None:
        async def keep(session: Session) -> bool:
            [(is_free,)] = await session.fetch(TRY_LOCK_CACHE)
            if not is_free:
                return False
            known = {""}
            if named := {one.stream for one in bodies} - known:
                known |= {name for (name,) in await session.fetch(LOCK_STREAMS, [*named])}
            rows = [one for one in bodies if one.stream in known]
            keys, streams = [one.key for one in rows], [one.stream for one in rows]
            await session.fetch(KEEP_CACHED, kind, keys, streams, [one.body for one in rows])
            [(size,)] = await session.fetch(SUM_CACHED)
            if size > max_bytes:
                await session.fetch(DROP_UNUSED, max_bytes)
            return True

        for seconds in (*TRY_SECONDS, 0):
            if await self._db.transact(keep):
                return
            await anyio.sleep(seconds)

    async def measure_cache(self) -> list[CacheSum]:
        return [CacheSum(*row) for row in await self._db.fetch(SUM_BY_KIND)]

    async def clear_cache(self) -> None:
        async def clear(session: Session) -> None:
            await session.fetch(LOCK_CACHE)
            await session.fetch("delete from cached")

        await self._db.transact(clear)


async def drop_cached(session: Session, stream: str) -> None:
    """Drop what is kept of a stream that is being deleted."""
    await session.fetch(LOCK_CACHE)
    await session.fetch("delete from cached where stream = $1", stream)
