"""The ledger in the journal's SQLite file."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import aiosqlite

from storage.contract import LOCAL_OWNER
from storage.contract.ledger import NO_STREAM, LedgerRow
from storage.ledger import (
    JUDGMENT_COLUMNS,
    MISSED,
    SELECT_JUDGMENTS,
    SUMMED,
    LedgerReader,
    LedgerStatements,
    encode_judgments,
    parse_judgment,
)
from storage.sqlite.connections.database import Database


def _add_up(names: Sequence[str]) -> str:
    return ", ".join(f"{name} = {name} + excluded.{name}" for name in names)


def _count(row: str, sign: str, others: str) -> str:
    """Statements of a trigger that add a row to the sums, or take it out. `others`: of the rows it meets, which."""
    met = f"(other.owner, other.stream, other.item) = ({row}.owner, {row}.stream, {row}.item) and {others}"
    return f"""
    insert into answer_sum (owner, judge, topic, {", ".join(SUMMED)})
    select {row}.owner, {row}.judge, topic.value, {sign}1, {sign}{row}.credit, {sign}({row}.percent is not null),
        {sign}coalesce({row}.percent, 0), {sign}{row}.likeliest_right, {sign}{row}.asked,
        {sign}{row}.consistent, {sign}{row}.correct
    from (select '' as value union all select value from json_each({row}.topics)) as topic where true
    on conflict (owner, judge, topic) do update set {_add_up(SUMMED)};

    insert into belief_sum (owner, judge, percent, correct, number)
    select {row}.owner, {row}.judge, {row}.percent, {sign}{row}.likeliest_right, {sign}1 where {row}.percent is not null
    on conflict (owner, judge, percent) do update set {_add_up(("correct", "number"))};

    insert into belief_item (owner, number)
    select {row}.owner, {sign}1
    where {row}.percent is not null and not exists (
        select 1 from judgment as other where {met} and other.percent is not null
    )
    on conflict (owner) do update set number = number + excluded.number;

    insert into pair_sum (owner, one, other, {", ".join(MISSED)})
    select {row}.owner, min(other.judge, {row}.judge), max(other.judge, {row}.judge), {sign}1,
        {sign}(case when other.judge < {row}.judge then other.credit else {row}.credit end < 2),
        {sign}(case when other.judge < {row}.judge then {row}.credit else other.credit end < 2),
        {sign}(other.credit < 2 and {row}.credit < 2)
    from judgment as other where {met}
    on conflict (owner, one, other) do update set {_add_up(MISSED)};
    """


CREATE_LEDGER = (
    # `number` grows with every change: the position of the ledger. `credit`: 2 for a vote that was right, 0 for a wrong
    # one, 1 for none. `topics`: a list as JSON.
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
        credit integer not null default 1,
        topics text not null default '[]',
        unique (owner, stream, item, judge)
    ) strict
    """,
    "create index judgment_by_owner on judgment (owner)",
    "create index judgment_by_stream on judgment (stream)",
    "create index judgment_by_judge on judgment (owner, judge, stream, item)",
    # The sums of all rows of a judge have the topic ''.
    f"""
    create table answer_sum (
        owner text not null, judge text not null, topic text not null,
        {", ".join(f"{name} integer not null" for name in SUMMED)}, primary key (owner, judge, topic)
    ) strict, without rowid
    """,
    f"""
    create table pair_sum (
        owner text not null, one text not null, other text not null,
        {", ".join(f"{name} integer not null" for name in MISSED)}, primary key (owner, one, other)
    ) strict, without rowid
    """,
    """
    create table belief_sum (
        owner text not null, judge text not null, percent integer not null, correct integer not null,
        number integer not null, primary key (owner, judge, percent)
    ) strict, without rowid
    """,
    # The items with a belief.
    "create table belief_item (owner text primary key, number integer not null) strict, without rowid",
    # A row meets those that are older, so that two rows of an item meet once. The plus keeps SQLite from going through
    # all imported rows in the order of their numbers.
    f"""
    create trigger judgment_added after insert on judgment
    begin {_count("new", "", "+other.number < new.number")} end
    """,
    f"""
    create trigger judgment_removed after delete on judgment
    begin {_count("old", "-", "+other.number <> old.number")} end
    """,
)

_OWNER = "json_extract(value, '$[10]')"
_VALUES = ", ".join(f"json_extract(value, '$[{number}]')" for number in range(10))

REPLACE_JUDGMENTS = f"""
    delete from judgment where stream = {{stream}} and {{rows}} is not null;
    insert into judgment ({JUDGMENT_COLUMNS})
    select {_OWNER}, {{stream}}, {_VALUES} from json_each({{rows}});
"""
"""For a trigger. `stream`, `rows`: expressions; null keeps what is there."""

# A replaced row is deleted first: SQLite runs no trigger for those that `insert or replace` deletes.
DELETE_JUDGMENTS = f"""
delete from judgment where stream = ?1 and (owner, item, judge) in (
    select {_OWNER}, json_extract(value, '$[0]'), json_extract(value, '$[1]') from json_each(?2)
)
"""

INSERT_JUDGMENTS = (
    f"insert into judgment ({JUDGMENT_COLUMNS}) select {_OWNER}, ?1, {_VALUES} from json_each(?2)"
)

# With an owner the statements go through the sums of that owner; without, through all.
SUM_JUDGES = """
select judge, sum(asked), sum(consistent), sum(correct) from answer_sum
where {own} and judge in (select value from json_each(?2)) and topic = '' and items > 0
group by judge order by judge
"""

SUM_BELIEFS = """
select judge, percent, sum(correct), sum(number) from belief_sum
where {own} and number > 0 group by judge, percent order by judge, percent
"""

COUNT_BELIEVED = "select coalesce(sum(number), 0) from belief_item where {own}"

SUM_ANSWERS = """
select judge, topic, sum(items), sum(credit), sum(told), sum(percents), sum(likeliest_right) from answer_sum
where {own} and judge in (select value from json_each(?2)) and topic in ('', ?3) and items > 0
group by judge, topic order by judge, topic
"""

SUM_PAIRS = """
select one, other, sum(items), sum(one_missed), sum(other_missed), sum(both_missed) from pair_sum
where {own} and one in (select value from json_each(?2)) and other in (select value from json_each(?2)) and items > 0
group by one, other order by one, other
"""

# Whoever judged as many items alone spares the rows.
COUNT_ITEMS = """
select case
    when exists (
        select 1 from answer_sum
        where {own} and judge in (select value from json_each(?2)) and topic = '' and items >= ?3
    ) then ?3
    else (
        select count(*) from (
            select distinct owner, stream, item from judgment
            where {own} and judge in (select value from json_each(?2)) limit ?3
        )
    )
end
"""


async def write_judgments(db: aiosqlite.Connection, stream: str, rows: str) -> None:
    """Add rows of a stream, as `encode_judgments` gives them; they take the places of those of the same judges."""
    for statement in (DELETE_JUDGMENTS, INSERT_JUDGMENTS):
        await db.execute_fetchall(statement, [stream, rows])


class SqliteLedger(LedgerReader):
    _db: Database
    _sums = LedgerStatements(SUM_JUDGES, SUM_BELIEFS, COUNT_BELIEVED, SUM_ANSWERS, SUM_PAIRS, COUNT_ITEMS)

    async def change_judgments(
        self, change: Callable[[Sequence[LedgerRow]], Sequence[LedgerRow]], *, owner: str = LOCAL_OWNER
    ) -> None:
        async with self._db.writer.transaction() as db:
            sql = f"{SELECT_JUDGMENTS} where owner = ? and stream = ?"
            stored = await db.execute_fetchall(sql, [owner, NO_STREAM])
            changed = [replace(row, owner=owner) for row in change(list(map(parse_judgment, stored)))]
            await write_judgments(db, NO_STREAM, encode_judgments(changed))

    async def _read_ledger(self, sql: str, owner: str | None, *values: Any) -> list[tuple[Any, ...]]:
        given = [json.dumps(value) if isinstance(value, list) else value for value in values]
        return await self._db.reader.fetch_all(sql.format(own=narrow(owner)), owner, *given)


def narrow(owner: str | None) -> str:
    """A condition for the rows of an owner, which is the first value; of all for None."""
    return "?1 is null" if owner is None else "owner = ?1"
