"""Keys under which streams are opened, so that a repeated request finds the stream of the first."""

from collections.abc import Mapping, Sequence

from storage.database import Database, Session
from storage.leases import TIME
from storage.streams import OpeningKey

IS_OLD = f"""
opening.at < $1 and opening.stream not in (select stream from lease where until > {TIME.format("$2")})
"""

CLAIM_KEY = f"""
insert into opening (key, stream, at) values ($3, $4, $5)
on conflict (key) do update set (stream, at) = (
    select case when is_old then excluded.stream else opening.stream end,
        case when is_old then excluded.at else opening.at end
    from (select {IS_OLD} as is_old) as claimed
)
returning stream
"""

# Those that others are claiming are left to them.
DELETE_OLD_KEYS = f"""
delete from opening where key in (select key from opening where {IS_OLD} for update skip locked)
"""

RESTORE_KEY = """
insert into opening (key, stream, at)
select $1::text, $2::text, $3::text where exists (select 1 from stream where stream.name = $2)
on conflict (key) do nothing
"""


class OpeningKeys:
    """Serves `counterpoint db copy`; the journal claims keys where it opens streams."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self) -> list[tuple[str, str, str]]:
        """(name, stream, when it was opened) of the keys that are not free again."""
        sql = "select key, stream, at from opening order by at, key"
        return [tuple(row) for row in await self._database.read(sql, is_long=True)]

    async def restore(self, keys: Sequence[tuple[str, str, str]]) -> None:
        """Add keys from another database, as far as their streams are here and they are free."""

        async def write(session: Session) -> None:
            await session.fetch_each(RESTORE_KEY, sorted(keys))

        await self._database.transact(write)


async def claim_keys(
    session: Session, claims: Mapping[str, tuple[OpeningKey, str, str]], database: Database
) -> dict[str, str]:
    """Claim keys for new streams, as far as they are free or old. Returns the stream of each key.

    `claims`: by name, the key, the stream and when it is opened.
    """
    owners: dict[str, str] = {}
    for name, (key, stream, at) in sorted(claims.items()):
        values = key.since, database.find_time(key.now), name, stream, at
        [(owners[name],)] = await session.fetch(CLAIM_KEY, *values)
    for key, *_ in claims.values():
        await session.fetch(DELETE_OLD_KEYS, key.since, database.find_time(key.now))
    return owners
