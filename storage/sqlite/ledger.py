"""The ledger in the journal's SQLite file."""

import json
from collections.abc import Callable, Collection, Sequence

from storage.ledger import NO_STREAM, BeliefSums, JudgeSums, LedgerRow, encode_judgments, parse_judgment
from storage.sqlite.database import Database

CREATE_LEDGER = (
    # `number` grows with every change: the position of the ledger.
    """
    create table judgment (
        number integer primary key autoincrement,
        stream text not null,
        item text not null,
        judge text not null,
        body text not null,
        asked integer not null,
        consistent integer not null,
        correct integer not null,
        percent integer,
        likeliest_right integer not null,
        unique (stream, item, judge)
    ) strict
    """,
    "create index judgment_by_judge on judgment (judge, asked, consistent, correct)",
    "create index judgment_by_belief on judgment (judge, percent, likeliest_right) where percent is not null",
    "create index judgment_by_item on judgment (stream, item) where percent is not null",
)

_COLUMNS = "stream, item, judge, body, asked, consistent, correct, percent, likeliest_right"
_VALUES = ", ".join(f"json_extract(value, '$[{number}]')" for number in range(8))

REPLACE_JUDGMENTS = f"""
    delete from judgment where stream = {{stream}} and {{rows}} is not null;
    insert into judgment ({_COLUMNS})
    select {{stream}}, {_VALUES} from json_each({{rows}});
"""
"""For a trigger. `stream`, `rows`: expressions; null keeps what is there."""

UPSERT_JUDGMENTS = f"insert or replace into judgment ({_COLUMNS}) select ?1, {_VALUES} from json_each(?2)"

SELECT_JUDGMENTS = f"select {_COLUMNS} from judgment"

SUM_JUDGES = """
select judge, sum(asked), sum(consistent), sum(correct) from judgment
where judge in (select value from json_each(?)) group by judge order by judge
"""

SUM_BELIEFS = """
select judge, percent, sum(likeliest_right), count(*) from judgment
where percent is not null group by judge, percent order by judge, percent
"""

COUNT_ITEMS = "select count(*) from (select distinct stream, item from judgment where percent is not null)"


class SqliteLedger:
    _db: Database

    async def change_judgments(self, change: Callable[[Sequence[LedgerRow]], Sequence[LedgerRow]]) -> None:
        async with self._db.writer.transaction() as db:
            stored = await db.execute_fetchall(f"{SELECT_JUDGMENTS} where stream = ?", [NO_STREAM])
            written = encode_judgments(change(list(map(parse_judgment, stored))))
            await db.execute_fetchall(UPSERT_JUDGMENTS, [NO_STREAM, written])

    async def read_judgments(self) -> list[LedgerRow]:
        rows = await self._db.reader.fetch_all(f"{SELECT_JUDGMENTS} order by stream, item, judge")
        return list(map(parse_judgment, rows))

    async def read_ledger_position(self) -> int:
        rows = await self._db.reader.fetch_all("select seq from sqlite_sequence where name = 'judgment'")
        return int(rows[0][0]) if rows else 0

    async def sum_judges(self, judges: Collection[str]) -> list[JudgeSums]:
        rows = await self._db.reader.fetch_all(SUM_JUDGES, json.dumps(sorted(judges)))
        return [JudgeSums(*row) for row in rows]

    async def sum_beliefs(self) -> tuple[int, list[BeliefSums]]:
        [(items,)] = await self._db.reader.fetch_all(COUNT_ITEMS)
        return items, [BeliefSums(*row) for row in await self._db.reader.fetch_all(SUM_BELIEFS)]
