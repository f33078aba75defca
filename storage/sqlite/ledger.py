"""The ledger in the journal's SQLite file."""

import json
from collections.abc import Callable, Collection, Sequence

from storage import LOCAL_OWNER
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

GIVE_LEDGER_OWNERS = (
    "alter table judgment rename to judgment_of_all",
    """
    create table judgment (
        number integer primary key autoincrement,
        owner text not null default 'local',
        stream text not null,
        item text not null,
        judge text not null,
        body text not null,
        asked integer not null,
        consistent integer not null,
        correct integer not null,
        percent integer,
        likeliest_right integer not null,
        unique (owner, stream, item, judge)
    ) strict
    """,
    """
    insert into judgment
    select number, 'local', stream, item, judge, body, asked, consistent, correct, percent, likeliest_right
    from judgment_of_all
    """,
    "drop table judgment_of_all",
    "create index judgment_by_owner on judgment (owner)",
    "create index judgment_by_stream on judgment (stream)",
    "create index judgment_by_judge on judgment (owner, judge, asked, consistent, correct)",
    """
    create index judgment_by_belief on judgment (owner, judge, percent, likeliest_right) where percent is not null
    """,
    "create index judgment_by_item on judgment (owner, stream, item) where percent is not null",
)

_COLUMNS = "owner, stream, item, judge, body, asked, consistent, correct, percent, likeliest_right"
_VALUES = ", ".join(f"json_extract(value, '$[{number}]')" for number in range(8))

REPLACE_JUDGMENTS = f"""
    delete from judgment where stream = {{stream}} and {{rows}} is not null;
    insert into judgment ({_COLUMNS})
    select {{owner}}, {{stream}}, {_VALUES} from json_each({{rows}});
"""
"""For a trigger. `owner`, `stream`, `rows`: expressions; null keeps what is there."""

UPSERT_JUDGMENTS = f"insert or replace into judgment ({_COLUMNS}) select ?1, ?2, {_VALUES} from json_each(?3)"

SELECT_JUDGMENTS = f"select {_COLUMNS} from judgment"

# With an owner the statements go through the rows of that owner in an index; without, through all.
SUM_JUDGES = """
select judge, sum(asked), sum(consistent), sum(correct) from judgment
where {own} and judge in (select value from json_each(?2)) group by judge order by judge
"""

SUM_BELIEFS = """
select judge, percent, sum(likeliest_right), count(*) from judgment
where {own} and percent is not null group by judge, percent order by judge, percent
"""

COUNT_ITEMS = """
select count(*) from (select distinct owner, stream, item from judgment where {own} and percent is not null)
"""


class SqliteLedger:
    _db: Database

    async def change_judgments(
        self, change: Callable[[Sequence[LedgerRow]], Sequence[LedgerRow]], *, owner: str = LOCAL_OWNER
    ) -> None:
        async with self._db.writer.transaction() as db:
            sql = f"{SELECT_JUDGMENTS} where owner = ? and stream = ?"
            stored = await db.execute_fetchall(sql, [owner, NO_STREAM])
            written = encode_judgments(change(list(map(parse_judgment, stored))))
            await db.execute_fetchall(UPSERT_JUDGMENTS, [owner, NO_STREAM, written])

    async def read_judgments(self, *, owner: str | None = None) -> list[LedgerRow]:
        sql = f"{SELECT_JUDGMENTS} where {narrow(owner)} order by owner, stream, item, judge"
        return list(map(parse_judgment, await self._db.reader.fetch_all(sql, owner)))

    async def read_ledger_position(self, *, owner: str | None = None) -> int:
        sql = f"select coalesce(max(number), 0) from judgment where {narrow(owner)}"
        [(position,)] = await self._db.reader.fetch_all(sql, owner)
        return int(position)

    async def sum_judges(self, judges: Collection[str], *, owner: str | None = None) -> list[JudgeSums]:
        sql = SUM_JUDGES.format(own=narrow(owner))
        return [
            JudgeSums(*row) for row in await self._db.reader.fetch_all(sql, owner, json.dumps(sorted(judges)))
        ]

    async def sum_beliefs(self, *, owner: str | None = None) -> tuple[int, list[BeliefSums]]:
        [(items,)] = await self._db.reader.fetch_all(COUNT_ITEMS.format(own=narrow(owner)), owner)
        sums = await self._db.reader.fetch_all(SUM_BELIEFS.format(own=narrow(owner)), owner)
        return items, [BeliefSums(*row) for row in sums]


def narrow(owner: str | None) -> str:
    """A condition for the rows of an owner, which is the first value; of all for None."""
    return "?1 is null" if owner is None else "owner = ?1"
