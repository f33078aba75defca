"""The ledger in PostgreSQL."""

from collections.abc import Callable, Collection, Sequence

from storage import LOCAL_OWNER
from storage.ledger import NO_STREAM, BeliefSums, JudgeSums, LedgerRow, encode_judgments, parse_judgment
from storage.postgres.appends import add_judgments
from storage.postgres.pool import Database, Session

JUDGMENT_COLUMNS = "owner, stream, item, judge, body, asked, consistent, correct, percent, likeliest_right"

SELECT_JUDGMENTS = f"select {JUDGMENT_COLUMNS} from judgment"

LOCK_LEDGER = "select value from counter where name = 'ledger' for update"

SUM_JUDGES = """
select judge, sum(asked)::bigint, sum(consistent)::bigint, sum(correct)::bigint from judgment
where {own} and judge = any($2::text[]) group by judge order by judge
"""

SUM_BELIEFS = """
select judge, percent, sum(likeliest_right)::bigint, count(*) from judgment
where {own} and percent is not null group by judge, percent order by judge, percent
"""

COUNT_ITEMS = """
select count(*) from (
    select distinct owner, stream, item from judgment where {own} and percent is not null
) as item
"""


class PostgresLedger:
    _db: Database

    async def change_judgments(
        self, change: Callable[[Sequence[LedgerRow]], Sequence[LedgerRow]], *, owner: str = LOCAL_OWNER
    ) -> None:
        async def write(session: Session) -> None:
            await session.fetch(LOCK_LEDGER)
            sql = f"{SELECT_JUDGMENTS} where owner = $1 and stream = $2"
            stored = await session.fetch(sql, owner, NO_STREAM)
            changed = encode_judgments(change(list(map(parse_judgment, stored))))
            await add_judgments(session, NO_STREAM, changed, owner)

        await self._db.transact(write)

    async def read_judgments(self, *, owner: str | None = None) -> list[LedgerRow]:
        sql = f"{SELECT_JUDGMENTS} where {narrow(owner)} order by owner, stream, item, judge"
        return list(map(parse_judgment, await self._db.fetch(sql, owner)))

    async def read_ledger_position(self, *, owner: str | None = None) -> int:
        sql = f"select coalesce(max(number), 0) from judgment where {narrow(owner)}"
        [(position,)] = await self._db.fetch(sql, owner)
        return int(position)

    async def sum_judges(self, judges: Collection[str], *, owner: str | None = None) -> list[JudgeSums]:
        sql = SUM_JUDGES.format(own=narrow(owner))
        return [JudgeSums(*row) for row in await self._db.fetch(sql, owner, sorted(judges))]

    async def sum_beliefs(self, *, owner: str | None = None) -> tuple[int, list[BeliefSums]]:
        [(items,)] = await self._db.fetch(COUNT_ITEMS.format(own=narrow(owner)), owner)
        sums = await self._db.fetch(SUM_BELIEFS.format(own=narrow(owner)), owner)
        return items, [BeliefSums(*row) for row in sums]


def narrow(owner: str | None) -> str:
    """A condition for the rows of an owner, which is the first value; of all for None."""
    return "$1::text is null" if owner is None else "owner = $1"
