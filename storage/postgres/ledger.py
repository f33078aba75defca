"""The ledger in PostgreSQL."""

from collections.abc import Callable, Collection, Sequence

from storage.ledger import NO_STREAM, BeliefSums, JudgeSums, LedgerRow, encode_judgments, parse_judgment
from storage.postgres.appends import add_judgments
from storage.postgres.pool import Database, Session

JUDGMENT_COLUMNS = "stream, item, judge, body, asked, consistent, correct, percent, likeliest_right"

SELECT_JUDGMENTS = f"select {JUDGMENT_COLUMNS} from judgment"

LOCK_LEDGER = "select value from counter where name = 'ledger' for update"

SUM_JUDGES = """
select judge, sum(asked)::bigint, sum(consistent)::bigint, sum(correct)::bigint from judgment
where judge = any($1::text[]) group by judge order by judge
"""

SUM_BELIEFS = """
select judge, percent, sum(likeliest_right)::bigint, count(*) from judgment
where percent is not null group by judge, percent order by judge, percent
"""

COUNT_ITEMS = (
    "select count(*) from (select distinct stream, item from judgment where percent is not null) as item"
)


class PostgresLedger:
    _db: Database

    async def change_judgments(self, change: Callable[[Sequence[LedgerRow]], Sequence[LedgerRow]]) -> None:
        async def write(session: Session) -> None:
            await session.fetch(LOCK_LEDGER)
            stored = await session.fetch(f"{SELECT_JUDGMENTS} where stream = $1", NO_STREAM)
            await add_judgments(
                session, NO_STREAM, encode_judgments(change(list(map(parse_judgment, stored))))
            )

        await self._db.transact(write)

    async def read_judgments(self) -> list[LedgerRow]:
        rows = await self._db.fetch(f"{SELECT_JUDGMENTS} order by stream, item, judge")
        return list(map(parse_judgment, rows))

    async def read_ledger_position(self) -> int:
        [(position,)] = await self._db.fetch("select value from counter where name = 'ledger'")
        return int(position)

    async def sum_judges(self, judges: Collection[str]) -> list[JudgeSums]:
        return [JudgeSums(*row) for row in await self._db.fetch(SUM_JUDGES, sorted(judges))]

    async def sum_beliefs(self) -> tuple[int, list[BeliefSums]]:
        [(items,)] = await self._db.fetch(COUNT_ITEMS)
        return items, [BeliefSums(*row) for row in await self._db.fetch(SUM_BELIEFS)]
