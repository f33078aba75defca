"""Leases: which process works on a stream. They keep two from paying for the same reply; correctness needs none."""

from collections.abc import Collection, Mapping
from functools import partial

import anyio

from storage.database import Database

TIME = "coalesce({}::float8, extract(epoch from clock_timestamp())::float8)"
"""The time that was given, or else that of the database: processes differ in what they take for now."""

AFTER_OUTAGE_SECONDS = 3.0
"""In which leases that ran out while the database could not be reached still count: their holders renew them first."""

LONGEST_OUTAGE_SECONDS = 600.0

# A lease that ends implausibly far ahead came from a wrong clock and is replaced.
ACQUIRE_LEASE = f"""
insert into lease (stream, holder, until) values ($1, $2, {TIME.format("$4")} + $3::float8)
on conflict (stream) do update
set holder = excluded.holder, until = excluded.until, requests = 0, cost = '0'
where lease.holder = excluded.holder or lease.until <= {TIME.format("$4")} - $5::float8
    or lease.until > {TIME.format("$4")} + 100 * $3::float8
returning holder
"""

RENEW_LEASES = f"""
update lease set until = {TIME.format("$4")} + $1::float8 where stream in (
    select stream from lease where holder = $2 and stream = any($3::text[]) order by stream for no key update
)
returning stream
"""

SELECT_LEASES = f"select stream, holder from lease where until > {TIME.format('$1')} - $2::float8"

SELECT_LEASES_OF_OWNER = f"""
select lease.stream, holder from lease cross join stream
where stream.name = lease.stream and until > {TIME.format("$1")} - $2::float8 and stream.owner = $3
"""


class Leases:
    """Serves processes that share a database: which of them runs a debate, or works on a queue.

    For `now` (Unix time) None is the clock of the database: the clocks of the processes that share it differ. A file
    has none, and takes that of the process.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def acquire(self, stream: str, holder: str, *, seconds: float, now: float | None = None) -> str:
        """Hold a stream until `now + seconds`, unless another process holds it. Returns the holder."""
        now = self._database.find_time(now)
        grace = partial(self._find_grace, now)
        while True:
            rows = await self._database.write(ACQUIRE_LEASE, stream, holder, float(seconds), now, grace)
            rows = rows or await self._database.read("select holder from lease where stream = $1", stream)
            for (current,) in rows:
                return str(current)
            # It was released just now.

    async def renew(
        self, holder: str, streams: Collection[str], *, seconds: float, now: float | None = None
    ) -> set[str]:
        """Extend the leases this process still has on these streams. Returns the streams it holds."""
        now = self._database.find_time(now)
        rows = await self._database.write(RENEW_LEASES, float(seconds), holder, list(streams), now)
        return {stream for (stream,) in rows}

    async def find_holders(self, *, now: float | None = None, owner: str | None = None) -> Mapping[str, str]:
        """{stream: holder} of the leases that are valid at that time; only of an owner's streams, if one is named."""
        now = self._database.find_time(now)
        own = () if owner is None else (owner,)
        sql = SELECT_LEASES_OF_OWNER if own else SELECT_LEASES
        return dict(await self._database.read(sql, now, partial(self._find_grace, now), *own))

    async def release(self, stream: str, holder: str) -> None:
        sql = "delete from lease where stream = $1 and holder = $2"
        await self._database.write(sql, stream, holder)

    def _find_grace(self, now: float | None) -> float:
        """Seconds for which a lease counts that has run out."""
        is_back = anyio.current_time() < self._database.lost_at + AFTER_OUTAGE_SECONDS
        return LONGEST_OUTAGE_SECONDS if is_back and now is None else 0.0
