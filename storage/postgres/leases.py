"""Leases of streams in PostgreSQL, by the clock of the database, and the spending that their holders share."""

from collections.abc import Callable, Collection, Mapping

import anyio

from storage.contract.streams import Amount, Reservation, Spending
from storage.postgres.connections.pool import Database, Session
from storage.summaries import sum_spending

TIME = "coalesce({}::float8, extract(epoch from clock_timestamp())::float8)"
"""The time that was given, or else that of the database: processes differ in what they take for now."""

AFTER_OUTAGE_SECONDS = 3.0
"""In which leases that ran out while the database could not be reached still count: their holders renew them first."""

LONGEST_OUTAGE_SECONDS = 600.0

# Who does not get it writes nothing. A lease that ends implausibly far ahead came from a wrong clock and is replaced.
ACQUIRE_LEASE = f"""
with clock as materialized (
    select {TIME.format("$4")} as now
), held as materialized (
    select lease.holder from lease, clock
    where stream = $1 and holder <> $2 and until > now - $5::float8 and until <= now + 100 * $3::float8
), taken as (
    insert into lease (stream, holder, until)
    select $1, $2, now + $3 from clock where not exists (select 1 from held)
    on conflict (stream) do update
    set holder = excluded.holder, until = excluded.until, requests = 0, cost = 0
    where lease.holder = excluded.holder or lease.until <= (select now - $5 from clock)
        or lease.until > (select now + 100 * $3 from clock)
    returning holder
)
select holder from held union all select holder from taken
"""

RENEW_LEASES = f"""
with held as materialized (
    select stream from lease where holder = $2 and stream = any($3::text[]) order by stream for no key update
)
update lease set until = {TIME.format("$4")} + $1::float8 from held where lease.stream = held.stream
returning lease.stream
"""

SELECT_LEASES = f"select stream, holder from lease where until > {TIME.format('$1')} - $2::float8"

SELECT_LEASES_OF_OWNER = f"""
select lease.stream, holder from lease join stream on stream.name = lease.stream
where until > {TIME.format("$1")} and stream.owner = $2
"""

# Of all, and of an owner.
SELECT_SPENDING = f"""
select 'spent', '', calls, cost from daily_spending where day = $1
union all
select 'spent', owner, calls, cost from owner_spending where day = $1 and owner = $4
union all
select 'reserved', (select owner from stream where name = lease.stream), requests, cost
from lease where requests > 0 and (until > {TIME.format("$2")} or stream = $3)
"""

LOCK_RESERVATIONS = "select value from counter where name = 'reservations' for update"

SELECT_OWN = """
select requests, cost, (select owner from stream where name = lease.stream)
from lease where stream = $1 and holder = $2 for update
"""

SET_RESERVATION = "update lease set requests = $1, cost = $2 where stream = $3 and holder = $4"


class PostgresLeases:
    _db: Database

    def _find_grace(self, now: float | None) -> float:
        """Seconds for which a lease counts that has run out."""
        is_back = anyio.current_time() < self._db.lost_at + AFTER_OUTAGE_SECONDS
        return LONGEST_OUTAGE_SECONDS if is_back and now is None else 0.0

    async def acquire_lease(
        self, stream: str, holder: str, *, seconds: float, now: float | None = None
    ) -> str:
        while True:
            rows = await self._db.repeat(
                lambda session: session.fetch(
                    ACQUIRE_LEASE, stream, holder, float(seconds), now, self._find_grace(now)
                )
            )
            for (found,) in rows:
                return str(found)
            # Another process has just taken it: the next look finds who.

    async def renew_leases(
        self, holder: str, streams: Collection[str], *, seconds: float, now: float | None = None
    ) -> set[str]:
        rows = await self._db.write(RENEW_LEASES, float(seconds), holder, list(streams), now)
        return {stream for (stream,) in rows}

    async def active_leases(self, *, now: float | None = None, owner: str | None = None) -> Mapping[str, str]:
        if owner is not None:
            return dict(await self._db.fetch(SELECT_LEASES_OF_OWNER, now, owner))
        rows = await self._db.repeat(lambda session: session.fetch(SELECT_LEASES, now, self._find_grace(now)))
        return dict(rows)

    async def release_lease(self, stream: str, holder: str) -> None:
        await self._db.write("delete from lease where stream = $1 and holder = $2", stream, holder)

    async def find_spending(
        self, day: str, *, now: float | None = None, owner: str | None = None
    ) -> Spending:
        whole, own = sum_spending(await self._db.fetch(SELECT_SPENDING, day, now, "", owner), owner)
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
        async def write(session: Session) -> bool:
            await session.fetch(LOCK_RESERVATIONS)
            for requests, cost, owner in await session.fetch(SELECT_OWN, stream, holder):
                rows = await session.fetch(SELECT_SPENDING, day, now, stream, owner)
                reserved = Amount(requests, cost).plus(grant(*sum_spending(rows, owner)))
                await session.fetch(SET_RESERVATION, *reserved, stream, holder)
                return True
            return False

        return await self._db.transact(write)

    async def settle(self, stream: str, reserved: Reservation) -> None:
        await self._db.write(SET_RESERVATION, *reserved.amount, stream, reserved.holder)
