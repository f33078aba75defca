"""The ledger in PostgreSQL."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from storage.contract import LOCAL_OWNER
from storage.contract.ledger import NO_STREAM, LedgerRow
from storage.ledger import (
    MISSED,
    SELECT_JUDGMENTS,
    SUMMED,
    LedgerReader,
    LedgerStatements,
    encode_judgments,
    parse_judgment,
)
from storage.postgres.appends import add_judgments
from storage.postgres.connections.pool import Database, Session

IMPORT_SECONDS = 600.0
"""For an import."""


def _add_up(table: str, names: Sequence[str]) -> str:
    return ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in names)


def _columns(names: Sequence[str]) -> str:
    return ", ".join(f"{name} bigint not null" for name in names)


def _add_pairs(others: str, met: str) -> str:
    """Counts what changed rows and others of their items missed. `others`: a table; `met`: which of its rows."""
    return f"""
    insert into counterpoint.pair_sum (owner, one, other, {", ".join(MISSED)})
    select given.owner, least(other.judge, given.judge), greatest(other.judge, given.judge), sign * count(*),
        sign * count(*) filter (where case when other.judge < given.judge then other.credit else given.credit end < 2),
        sign * count(*) filter (where case when other.judge < given.judge then given.credit else other.credit end < 2),
        sign * count(*) filter (where other.credit < 2 and given.credit < 2)
    from changed as given join {others} as other
        on (other.owner, other.stream, other.item) = (given.owner, given.stream, given.item) and {met}
    group by 1, 2, 3
    on conflict (owner, one, other) do update set {_add_up("pair_sum", MISSED)};
    """


CREATE_LEDGER = f"""
-- `number` grows with every change: the position of the ledger. `credit`: 2 for a vote that was right, 0 for a wrong
-- one, 1 for none. `topics`: a list as JSON.
create table judgment (
    number bigint primary key,
    stream text collate "C" not null,
    item text collate "C" not null,
    judge text collate "C" not null,
    body text not null,
    asked bigint not null,
    consistent bigint not null,
    correct bigint not null,
    percent bigint,
    likeliest_right bigint not null,
    owner text collate "C" not null default 'local',
    credit bigint not null default 1,
    topics text not null default '[]',
    unique (owner, stream, item, judge)
);
create index judgment_by_owner on judgment (owner, number);
create index judgment_by_stream on judgment (stream);
create index judgment_by_judge on judgment (owner, judge, stream, item);

-- What the rows of a judge come to, by topic; the sums of all have the topic ''.
create table answer_sum (
    owner text collate "C" not null, judge text collate "C" not null, topic text collate "C" not null,
    {_columns(SUMMED)}, primary key (owner, judge, topic)
) with (fillfactor = 50);
create table pair_sum (
    owner text collate "C" not null, one text collate "C" not null, other text collate "C" not null,
    {_columns(MISSED)}, primary key (owner, one, other)
) with (fillfactor = 50);
create table belief_sum (
    owner text collate "C" not null, judge text collate "C" not null, percent bigint not null,
    {_columns(("correct", "number"))}, primary key (owner, judge, percent)
) with (fillfactor = 50);
-- The items with a belief.
create table belief_item (owner text collate "C" primary key, number bigint not null) with (fillfactor = 50);

-- The rows of a statement are counted together: an import has millions of pairs, and few of judges. A row that is added
-- meets those that are older, one that goes those that are still there: two rows of an item meet once. Whoever changes
-- the sums holds the position of the ledger.
create function count_judgments() returns trigger language plpgsql as $$
declare
    sign bigint := case tg_op when 'INSERT' then 1 else -1 end;
begin
    if not exists (select from changed) then
        return null;
    end if;
    perform value from counterpoint.counter where name = 'ledger' for update;
    insert into counterpoint.answer_sum (owner, judge, topic, {", ".join(SUMMED)})
    select owner, judge, topic, sign * count(*), sign * sum(credit), sign * count(percent),
        sign * coalesce(sum(percent), 0), sign * sum(likeliest_right), sign * sum(asked), sign * sum(consistent),
        sign * sum(correct)
    from changed cross join lateral
        (select '' as topic union all select json_array_elements_text(changed.topics::json)) as named
    group by owner, judge, topic
    on conflict (owner, judge, topic) do update set {_add_up("answer_sum", SUMMED)};

    insert into counterpoint.belief_sum (owner, judge, percent, correct, number)
    select owner, judge, percent, sign * sum(likeliest_right), sign * count(*)
    from changed where percent is not null group by owner, judge, percent
    on conflict (owner, judge, percent) do update set {_add_up("belief_sum", ("correct", "number"))};

    insert into counterpoint.belief_item as believed (owner, number)
    select given.owner, sign * count(*)
    from (
        select owner, stream, item, min(number) as first from changed where percent is not null group by 1, 2, 3
    ) as given
    where not exists (
        select from counterpoint.judgment as other
        where (other.owner, other.stream, other.item) = (given.owner, given.stream, given.item)
            and other.percent is not null and (sign < 0 or other.number < given.first)
    )
    group by given.owner
    on conflict (owner) do update set number = believed.number + excluded.number;

    if sign > 0 then
        {_add_pairs("counterpoint.judgment", "other.number < given.number")}
    else
        {_add_pairs("counterpoint.judgment", "true")}
        {_add_pairs("changed", "other.number < given.number")}
    end if;
    return null;
end $$;
create trigger judgments_added after insert on judgment
    referencing new table as changed for each statement execute function count_judgments();
create trigger judgments_removed after delete on judgment
    referencing old table as changed for each statement execute function count_judgments();
"""


WORK_LONG = f"set local idle_in_transaction_session_timeout = {1000 * int(IMPORT_SECONDS)}"
"""Before many rows are joined with those that are there, in a transaction that waits for it."""

COUNT_ROWS = "analyze judgment"
"""After an import: as long as the server takes the table for small, each outcome reads all of it."""

LOCK_LEDGER = "select value from counter where name = 'ledger' for update"

SUM_JUDGES = """
select judge, sum(asked)::bigint, sum(consistent)::bigint, sum(correct)::bigint from answer_sum
where {own} and judge = any($2::text[]) and topic = '' and items > 0 group by judge order by judge
"""

SUM_BELIEFS = """
select judge, percent, sum(correct)::bigint, sum(number)::bigint from belief_sum
where {own} and number > 0 group by judge, percent order by judge, percent
"""

COUNT_BELIEVED = "select coalesce(sum(number), 0)::bigint from belief_item where {own}"

SUM_ANSWERS = """
select judge, topic, sum(items)::bigint, sum(credit)::bigint, sum(told)::bigint, sum(percents)::bigint,
    sum(likeliest_right)::bigint
from answer_sum where {own} and judge = any($2::text[]) and topic in ('', $3) and items > 0
group by judge, topic order by judge, topic
"""

SUM_PAIRS = """
select one, other, sum(items)::bigint, sum(one_missed)::bigint, sum(other_missed)::bigint, sum(both_missed)::bigint
from pair_sum where {own} and one = any($2::text[]) and other = any($2::text[]) and items > 0
group by one, other order by one, other
"""

# Whoever judged as many items alone spares the rows: to tell items apart all of them would be read.
COUNT_ITEMS = """
select case
    when exists (
        select from answer_sum where {own} and judge = any($2::text[]) and topic = '' and items >= $3::bigint
    ) then $3::bigint
    else (
        select count(*) from (
            select distinct owner, stream, item from judgment where {own} and judge = any($2::text[]) limit $3::bigint
        ) as item
    )
end
"""


class PostgresLedger(LedgerReader):
    _db: Database
    _sums = LedgerStatements(SUM_JUDGES, SUM_BELIEFS, COUNT_BELIEVED, SUM_ANSWERS, SUM_PAIRS, COUNT_ITEMS)

    async def change_judgments(
        self, change: Callable[[Sequence[LedgerRow]], Sequence[LedgerRow]], *, owner: str = LOCAL_OWNER
    ) -> None:
        async def write(session: Session) -> None:
            await session.fetch(WORK_LONG)
            await session.fetch(LOCK_LEDGER)
            sql = f"{SELECT_JUDGMENTS} where owner = $1 and stream = $2"
            stored = await session.fetch(sql, owner, NO_STREAM)
            changed = [replace(row, owner=owner) for row in change(list(map(parse_judgment, stored)))]
            await add_judgments(session, NO_STREAM, encode_judgments(changed))
            await session.fetch(COUNT_ROWS)

        await self._db.transact(write, IMPORT_SECONDS)

    async def _read_ledger(self, sql: str, owner: str | None, *values: Any) -> list[tuple[Any, ...]]:
        return await self._db.fetch(sql.format(own=narrow(owner)), owner, *values)


def narrow(owner: str | None) -> str:
    """A condition for the rows of an owner, which is the first value; of all for None."""
    return "$1::text is null" if owner is None else "owner = $1"
