"""What is kept to spare work, in the journal's SQLite file."""

import json
from collections.abc import Collection, Mapping, Sequence

from storage.contract.cache import CachedBody, CacheSum
from storage.sqlite.connections.database import Database

CREATE_CACHE = (
    # `used` grows with each use.
    """
    create table cached (
        key text primary key,
        kind text not null,
        stream text not null,
        body blob not null,
        used integer not null
    ) strict
    """,
    "create index cached_by_use on cached (used, key, length(body))",
    "create index cached_by_stream on cached (stream) where stream <> ''",
)

SELECT_CACHED = "select key, body, stream from cached where key in (select value from json_each(?))"
MARK_USED = """
update cached set used = (select max(used) + 1 from cached) where key in (select value from json_each(?))
"""
REPLACE_CACHED = """
insert or replace into cached (key, kind, stream, body, used)
select ?1, ?2, ?3, ?4, coalesce((select max(used) from cached), 0) + 1
where ?3 = '' or exists (select 1 from stream where name = ?3)
"""
SUM_CACHED = "select coalesce(sum(length(body)), 0) from cached indexed by cached_by_use"
DROP_UNUSED = """
delete from cached where key in (
    select key from (
        select key, sum(length(body)) over (order by used desc, key) as whole from cached
    ) where whole > ?
)
"""
SUM_BY_KIND = "select kind, count(*), sum(length(body)) from cached group by kind order by kind"


class SqliteCache:
    _db: Database

    async def find_cached(self, keys: Collection[str]) -> Mapping[str, CachedBody]:
        rows = await self._db.reader.fetch_all(SELECT_CACHED, json.dumps(list(keys)))
        found = {key: CachedBody(key, bytes(body), stream) for key, body, stream in rows}
        if found and not self._db.is_read_only:
            await self._db.writer.fetch_all(MARK_USED, json.dumps(list(found)))
        return found

    async def keep_cached(self, kind: str, bodies: Sequence[CachedBody], *, max_bytes: int) -> None:
        async with self._db.writer.transaction() as db:
            rows = [(one.key, kind, one.stream, one.body) for one in bodies]
            await db.executemany(REPLACE_CACHED, rows)
            [(size,)] = await db.execute_fetchall(SUM_CACHED)
            if size > max_bytes:
                await db.execute_fetchall(DROP_UNUSED, [max_bytes])

    async def measure_cache(self) -> list[CacheSum]:
        return [CacheSum(*row) for row in await self._db.reader.fetch_all(SUM_BY_KIND)]

    async def clear_cache(self) -> None:
        await self._db.writer.fetch_all("delete from cached")
