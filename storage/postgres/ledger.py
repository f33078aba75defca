"""The ledger in PostgreSQL: triggers that keep its sums, and how rows are added."""

import json
from collections.abc import Callable, Sequence

from storage import LOCAL_OWNER
from storage.database import Session
from storage.ledger import MISSED, SUMMED, Ledger, LedgerRow
from storage.postgres.connections.pool import transpose


def _add_up(table: str, names: Sequence[str]) -> str:
    return ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in names)


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


LEDGER_TRIGGERS = (
    # The rows of a statement are counted together: an import has millions of pairs, and few of judges. A row that is
    # added meets those that are older, one that goes those that are still there: two rows of an item meet once. Whoever
    # changes the sums holds the position of the ledger.
    f"""
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
end $$
    """,
    """
    create trigger judgments_added after insert on judgment
    referencing new table as changed for each statement execute function count_judgments()
    """,
    """
    create trigger judgments_removed after delete on judgment
    referencing old table as changed for each statement execute function count_judgments()
    """,
)

# Rows are replaced by deletion: an update would have to correct the sums of two rows at once.
DELETE_REPLACED = """
delete from judgment using unnest($2::text[], $3::text[], $4::text[]) as given (item, judge, owner)
where stream = $1 and judgment.owner = given.owner and judgment.item = given.item and judgment.judge = given.judge
"""

# Whoever adds rows holds the position until the commit.
ADD_JUDGMENTS = """
with moved as (
    update counter set value = value + cardinality($2::text[]) where name = 'ledger' returning value
)
insert into judgment
    (number, stream, item, judge, role, body,
    asked, consistent, correct, percent, likeliest_right, credit, topics, owner)
select moved.value - cardinality($2::text[]) + given.nth, $1, given.item, given.judge, given.role, given.body,
    given.asked, given.consistent, given.correct, given.percent, given.likeliest_right, given.credit, given.topics,
    given.owner
from unnest(
    $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::bigint[], $12::text[], $13::text[]
) with ordinality as given
    (item, judge, role, body, asked, consistent, correct, percent, likeliest_right, credit, topics, owner, nth)
cross join moved
"""
JUDGMENT_COLUMNS = 12


class PostgresLedger(Ledger):
    async def add(self, session: Session, stream: str, judgments: str) -> None:
        if rows := json.loads(judgments):
            columns = transpose(rows, JUDGMENT_COLUMNS)
            await session.fetch(DELETE_REPLACED, stream, *columns[:2], columns[-1])
            await session.fetch(ADD_JUDGMENTS, stream, *columns)

    async def change(
        self, change: Callable[[Sequence[LedgerRow]], Sequence[LedgerRow]], *, owner: str = LOCAL_OWNER
    ) -> None:
        await super().change(change, owner=owner)
        # As long as the server takes the table for small, each outcome reads all of it.
        await self._database.write("analyze judgment")
