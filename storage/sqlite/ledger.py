"""The ledger in SQLite: triggers that keep its sums, and how rows are added."""

from collections.abc import Sequence

from storage.database import Session
from storage.ledger import COLUMNS, MISSED, SUMMED, Ledger


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


LEDGER_TRIGGERS = (
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

_OWNER = "json_extract(value, '$[11]')"
_VALUES = ", ".join(f"json_extract(value, '$[{number}]')" for number in range(11))

REPLACE_JUDGMENTS = f"""
    delete from judgment where stream = {{stream}} and {{rows}} is not null;
    insert into judgment ({COLUMNS})
    select {_OWNER}, {{stream}}, {_VALUES} from json_each({{rows}});
"""
"""For a trigger. `stream`, `rows`: expressions; null keeps what is there."""

# A replaced row is deleted first: SQLite runs no trigger for those that `insert or replace` deletes.
DELETE_JUDGMENTS = f"""
delete from judgment where stream = ?1 and (owner, item, judge) in (
    select {_OWNER}, json_extract(value, '$[0]'), json_extract(value, '$[1]') from json_each(?2)
)
"""

INSERT_JUDGMENTS = f"insert into judgment ({COLUMNS}) select {_OWNER}, ?1, {_VALUES} from json_each(?2)"


class SqliteLedger(Ledger):
    async def add(self, session: Session, stream: str, judgments: str) -> None:
        for statement in (DELETE_JUDGMENTS, INSERT_JUDGMENTS):
            await session.fetch(statement, stream, judgments)
