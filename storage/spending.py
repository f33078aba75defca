"""What streams spend together on a day (UTC), and what the holders of leases have reserved of it.

Reservations are written without a disk sync: after a power failure, which may undo them, no holder is alive.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from storage.database import Database, Session
from storage.leases import TIME
from storage.streams import Amount, Reservation, Spending

# Of all, and of an owner.
SELECT_SPENDING = f"""
select 'spent', '', calls, cost from daily_spending where day = $1
union all
select 'spent', owner, calls, cost from owner_spending where day = $1 and owner = $4
union all
select 'reserved', (select owner from stream where name = lease.stream), requests, cost
from lease where requests > 0 and (until > {TIME.format("$2")} or stream = $3)
"""

SELECT_OWN = """
select requests, cost, (select owner from stream where name = lease.stream)
from lease where stream = $1 and holder = $2 for update
"""

SET_RESERVATION = "update lease set requests = $1, cost = $2 where stream = $3 and holder = $4"

SELECT_DAYS = """
select day, owner, 0, calls, cost from spending
union all
select day, '', 0, calls, cost from spending
union all
select day, '', 1, calls, cost from daily_spending
union all
select day, owner, 1, calls, cost from owner_spending
"""

INSERT_SPENDING = """
insert into spending (day, stream, owner, calls, cost) values ($1, $2, $3, $4, $5)
on conflict (stream, day) do nothing
"""

WRITE_DAY = """
insert into daily_spending (day, calls, cost) values ($1, $2, $3)
on conflict (day) do update set calls = excluded.calls, cost = excluded.cost
"""

INSERT_DAY_OF_OWNER = "insert into owner_spending (day, owner, calls, cost) values ($1, $2, $3, $4)"

Grant = Callable[[Spending, Spending], Amount]
"""What to reserve, given what all spend and reserve, and what the owner of the stream does."""


class DailySpending:
    """Serves the daily budgets, which all processes on a database share. For `now` see `Leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, day: str, *, now: float | None = None, owner: str | None = None) -> Spending:
        """What was spent on a day, and what the leases reserve that are valid now. Cheap, however many streams."""
        now = self._database.find_time(now)
        of_all, of_owner = sum_spending(
            await self._database.read(SELECT_SPENDING, day, now, "", owner), owner
        )
        return of_all if owner is None else of_owner

    async def reserve(
        self, stream: str, holder: str, *, day: str, grant: Grant, now: float | None = None
    ) -> bool:
        """Add what `grant` returns to the reservation of a lease, in one transaction.

        No other process reserves meanwhile. False, without a grant, if the holder does not have the lease.
        """
        now = self._database.find_time(now)

        async def write(session: Session) -> bool:
            await session.lock("reservations")
            for requests, cost, owner in await session.fetch(SELECT_OWN, stream, holder):
                rows = await session.fetch(SELECT_SPENDING, day, now, stream, owner)
                amount = parse_amount(requests, cost).plus(grant(*sum_spending(rows, owner)))
                await session.fetch(SET_RESERVATION, *encode_amount(amount), stream, holder)
                return True
            return False

        return await self._database.transact(write, is_durable=False)

    async def settle(self, stream: str, reservation: Reservation) -> None:
        """Replace a reservation without an append, if its holder still has the lease."""
        values = *encode_amount(reservation.amount), stream, reservation.holder
        await self._database.write(SET_RESERVATION, *values, is_durable=False)

    async def find_wrong_days(self) -> list[str]:
        """The days whose sum, of all streams or of an owner, is not the total of the streams' own sums."""
        sums: defaultdict[tuple[str, str], list[Amount]] = defaultdict(lambda: [Amount(), Amount()])
        for day, owner, kind, calls, cost in await self._database.read(SELECT_DAYS, is_long=True):
            sums[day, owner][kind] = sums[day, owner][kind].plus(parse_amount(calls, cost))
        return sorted(
            {day for (day, _), (sum_of_streams, sum_of_day) in sums.items() if sum_of_streams != sum_of_day}
        )

    async def rewrite_days(self, days: Collection[str]) -> None:
        """Add up the sums of these days again."""

        async def write(session: Session) -> None:
            await session.lock("all sums")
            await add_days_up(session, days)

        await self._database.transact(write)


async def add_days_up(session: Session, days: Collection[str]) -> None:
    """Write the sums of days anew, from what each stream spent on them. The transaction holds all sums."""
    for day in sorted(days):
        sums: defaultdict[str, Amount] = defaultdict(Amount)
        sql = "select owner, calls, cost from spending where day = $1"
        for owner, calls, cost in await session.fetch(sql, day):
            sums[owner] = sums[owner].plus(parse_amount(calls, cost))
        await session.fetch(WRITE_DAY, day, *encode_amount(sum_amounts(sums.values())))
        await session.fetch("delete from owner_spending where day = $1", day)
        rows = [(day, owner, *encode_amount(amount)) for owner, amount in sums.items()]
        await session.fetch_each(INSERT_DAY_OF_OWNER, rows)


def sum_amounts(amounts: Iterable[Amount]) -> Amount:
    total = Amount()
    for amount in amounts:
        total = total.plus(amount)
    return total


def encode_amount(amount: Amount) -> tuple[int, str]:
    return amount.requests, f"{amount.cost:f}"


def parse_amount(requests: int, cost: str | Decimal) -> Amount:
    """A damaged cost counts as nothing."""
    with suppress(InvalidOperation):
        return Amount(requests, Decimal(cost))
    return Amount(requests)


def sum_spending(rows: Iterable[Any], owner: str | None) -> tuple[Spending, Spending]:
    """(of all, of this owner). `rows`: (kind, owner, requests, cost); what was spent by all has no owner."""
    of_all, of_owner = {"spent": Amount(), "reserved": Amount()}, {"spent": Amount(), "reserved": Amount()}
    for kind, spender, requests, cost in rows:
        amount = parse_amount(requests, cost)
        if kind == "reserved" or not spender:
            of_all[kind] = of_all[kind].plus(amount)
        if spender == owner:
            of_owner[kind] = of_owner[kind].plus(amount)
    return Spending(**of_all), Spending(**of_owner)
