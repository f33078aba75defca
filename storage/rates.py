"""How much owners have asked of all servers together: for each, the time at which all of it is free again."""

from collections.abc import Mapping

from storage.database import Database, Session
from storage.leases import TIME

RATE_TABLES = ("create table request_rate (owner {text} primary key, full_at {real} not null) {small}",)

NOW = TIME.format("$3")

ADD = f"""
insert into request_rate (owner, full_at) values ($1, {NOW} + $2::float8)
on conflict (owner) do update
set full_at = greatest(request_rate.full_at, {NOW}) + $2::float8
returning full_at - {NOW}
"""

FORGET = f"delete from request_rate where full_at < {TIME.format('$1')} - 60"


class Rates:
    """Serves processes that share a database. For `now` see `Leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, seconds: Mapping[str, float], *, now: float | None = None) -> dict[str, float]:
        """Add what owners have taken, in seconds of their limits. Returns in how many all of it is free again."""
        now = self._database.find_time(now)

        async def write(session: Session) -> dict[str, float]:
            free = {}
            for owner in sorted(seconds):  # in one order, so that no two processes wait for each other
                [(left,)] = await session.fetch(ADD, owner, seconds[owner], now)
                free[owner] = float(left)
            return free

        return await self._database.transact(write, is_durable=False)

    async def forget(self, *, now: float | None = None) -> None:
        """Leave out owners who have asked for nothing in a minute."""
        await self._database.write(FORGET, self._database.find_time(now), is_durable=False)
