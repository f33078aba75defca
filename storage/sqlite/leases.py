"""Leases of streams in the journal's SQLite file, and the spending that their holders share."""

import json
from collections.abc import Callable, Collection, Mapping

from storage.contract.streams import Amount, Reservation, Spending
from storage.sqlite.connections.database import Database
from storage.summaries import parse_amount, sum_spending

# A lease that ends implausibly far ahead came from a wrong clock and is replaced.
ACQUIRE_LEASE = """
insert into lease (stream, holder, until) values (?1, ?2, ?3)
on conflict (stream) do update set (holder, until, requests, cost) = (
    select excluded.holder, excluded.until, 0, '0'
    where lease.holder = excluded.holder or lease.until <= ?4 or lease.until > ?4 + 100 * (?3 - ?4)
    union all
    select lease.holder, lease.until, lease.requests, lease.cost
    limit 1
)
returning holder
"""

RENEW_LEASES = """
update lease set until = ? where holder = ? and stream in (select value from json_each(?))
returning stream
"""

# Of all, and of an owner.
SELECT_SPENDING = """
select 'spent', '', calls, cost from daily_spending where day = ?1
union all
select 'spent', owner, calls, cost from owner_spending where day = ?1 and owner = ?4
union all
select 'reserved', (select owner from stream where name = lease.stream), requests, cost
from lease where requests > 0 and (until > ?2 or stream = ?3)
"""

SELECT_OWN = """
select requests, cost, (select owner from stream where name = lease.stream)
from lease where stream = ? and holder = ?
"""

SELECT_LEASES_OF_OWNER = """
select lease.stream, holder from lease cross join stream on stream.name = lease.stream
where until > ? and stream.owner = ?
"""

SET_RESERVATION = "update lease set requests = ?, cost = ? where stream = ? and holder = ?"


class SqliteLeases:
    """Reservations are written without a disk sync: after a power failure, which may undo them, no holder is alive."""

    _db: Database
    _clock: Callable[[], float]

    def _time(self, now: float | None) -> float:
        return self._clock() if now is None else now

    async def acquire_lease(
        self, stream: str, holder: str, *, seconds: float, now: float | None = None
    ) -> str:
        now = self._time(now)
        [(holder,)] = await self._db.writer.fetch_all(ACQUIRE_LEASE, stream, holder, now + seconds, now)
        return str(holder)

    async def renew_leases(
        self, holder: str, streams: Collection[str], *, seconds: float, now: float | None = None
    ) -> set[str]:
        renewed = await self._db.writer.fetch_all(
            RENEW_LEASES, self._time(now) + seconds, holder, json.dumps(list(streams))
        )
        return {stream for (stream,) in renewed}

    async def active_leases(self, *, now: float | None = None, owner: str | None = None) -> Mapping[str, str]:
        if owner is not None:
            return dict(await self._db.reader.fetch_all(SELECT_LEASES_OF_OWNER, self._time(now), owner))
        sql = "select stream, holder from lease where until > ?"
        return dict(await self._db.reader.fetch_all(sql, self._time(now)))

    async def release_lease(self, stream: str, holder: str) -> None:
        await self._db.writer.fetch_all("delete from lease where stream = ? and holder = ?", stream, holder)

    async def find_spending(
        self, day: str, *, now: float | None = None, owner: str | None = None
    ) -> Spending:
        rows = await self._db.reader.fetch_all(SELECT_SPENDING, day, self._time(now), "", owner)
        whole, own = sum_spending(rows, owner)
        return whole if owner is None else own

    async def reserve(
        self,
        stream: str,
        holder: str,
        *,
        day: str,
        grant: Callable[[Spending, Spending], Amount],
        now: float | None = None,
    ) -> bool:
        async with self._db.reader.transaction() as db:
            own = list(await db.execute_fetchall(SELECT_OWN, [stream, holder]))
            if own:
                requests, cost, owner = own[0]
                rows = await db.execute_fetchall(SELECT_SPENDING, [day, self._time(now), stream, owner])
                reserved = parse_amount(requests, cost).plus(grant(*sum_spending(rows, owner)))
                values = [reserved.requests, f"{reserved.cost:f}", stream, holder]
                await db.execute_fetchall(SET_RESERVATION, values)
        return bool(own)

    async def settle(self, stream: str, reserved: Reservation) -> None:
        requests, cost = reserved.amount
        await self._db.reader.fetch_all(SET_RESERVATION, requests, f"{cost:f}", stream, reserved.holder)
