"""The journal in one SQLite file, shared by any number of processes."""

from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from itertools import chain

from storage import LOCAL_OWNER
from storage.chain import Append, Batch, Row, encode_tombstone
from storage.database import Session
from storage.journal import HeadMovedError, Journal
from storage.sqlite.connections.connection import ConstraintError
from storage.sqlite.connections.database import SqliteDatabase, SqliteSession
from storage.sqlite.ledger import REPLACE_JUDGMENTS
from storage.streams import Tombstone

ROW_COLUMNS = ", ".join(Row._fields)

TEMP_STORE_IN_MEMORY = "pragma temp_store = memory"  # else large statements spill into a file

# Appends insert the rows of a `Batch` into this view; the trigger updates the tables. One statement is a
# transaction by itself and one round trip to the connection's thread, which costs as much as most statements.
# View and trigger are temporary: other programs and releases do not see them.
CREATE_APPEND_VIEW = f"""
create temp view appended ({ROW_COLUMNS}) as select {", ".join(["null"] * len(Row._fields))}
"""

OWNER_OF_NEW = "(select owner from stream where name = new.stream)"

CREATE_APPEND_TRIGGER = f"""
create temp trigger appending instead of insert on appended
begin
    insert into journal (stream, seq, entry, hash, restored)
    values (new.stream, new.seq, new.entry, new.head, new.restored);

    insert into stream (name, seq, head, title, status, details, opened_at, changed_at, owner, family, parent)
    select new.stream, 0, new.previous, '', '', '{{}}', new.at, new.at, coalesce(new.owner, '{LOCAL_OWNER}'),
        coalesce(new.family, ''), coalesce(new.parent, '')
    where new.seq = 1 and not exists (select 1 from stream where name = new.stream);

    update stream set seq = new.seq, head = new.head, title = coalesce(new.title, title),
        status = coalesce(new.status, status), details = coalesce(new.details, details), changed_at = new.at,
        seal = new.seal
    where name = new.stream and seq = new.seq - 1 and head = new.previous;

    select raise(abort, 'the stream has another head') where changes() = 0;

    -- What is taken out is added before, since taking out more words than there are breaks the index.
    insert into words (rowid, text)
    select number, new.removed from stream where name = new.stream and new.removed is not null;
    insert into words (words, rowid, text)
    select 'delete', number, new.removed from stream where name = new.stream and new.removed is not null;

    insert into words (rowid, text)
    select number, new.words from stream where name = new.stream and new.words is not null;

    insert into spending (day, stream, owner, calls, cost)
    select new_day.key, new.stream, {OWNER_OF_NEW},
        json_extract(new_day.value, '$[0]'), json_extract(new_day.value, '$[1]')
    from json_each(new.spending) as new_day where true
    on conflict (stream, day) do update set calls = excluded.calls, cost = excluded.cost
    where calls <> excluded.calls or cost <> excluded.cost;
{REPLACE_JUDGMENTS.format(stream="new.stream", rows="new.judgments")}
    update lease set requests = new.requests, cost = new.cost
    where stream = new.stream and holder = new.holder;
end
"""

# The sums of the days follow those of the streams, in the same transaction: those of all, and those of the owner.
_SPENDING_CHANGES = {
    "insert": ("new.calls", "new.cost"),
    "update": ("new.calls - old.calls", "add_costs(new.cost, '-' || old.cost)"),
}

CREATE_SPENDING_TRIGGERS = [
    f"""
    create temp trigger spending_{event} after {event} on spending
    begin
        insert into daily_spending (day, calls, cost) values (new.day, {calls}, {cost})
        on conflict (day) do update set calls = calls + excluded.calls, cost = add_costs(cost, excluded.cost);

        insert into owner_spending (day, owner, calls, cost) values (new.day, new.owner, {calls}, {cost})
        on conflict (day, owner) do update
        set calls = calls + excluded.calls, cost = add_costs(cost, excluded.cost);
    end
    """
    for event, (calls, cost) in _SPENDING_CHANGES.items()
]

_ROW_PLACEHOLDERS = f"({', '.join('?' * len(Row._fields))})"

INSERT_ROW = f"insert into appended ({ROW_COLUMNS}) values {_ROW_PLACEHOLDERS}"

PREPARE_WRITER = (
    TEMP_STORE_IN_MEMORY, CREATE_APPEND_VIEW, CREATE_APPEND_TRIGGER, *CREATE_SPENDING_TRIGGERS
)  # fmt: skip

BURY = "insert into journal (stream, seq, entry, hash, restored) values (?, 0, ?, ?, 0)"


class SqliteJournal(Journal):
    _database: SqliteDatabase

    async def _write_linked(self, batch: Batch, wait: float) -> None:
        statement = ", ".join([INSERT_ROW, *[_ROW_PLACEHOLDERS] * (len(batch.rows) - 1)])
        try:
            await self._database.writer.write(statement, *chain.from_iterable(batch.rows), wait=wait)
        except ConstraintError as error:
            raise HeadMovedError from error

    async def _write_checked(self, appends: Sequence[Append], wait: float) -> Batch:
        async with self._database.writer.transaction(wait=wait) as connection:
            return await self._link_and_write(SqliteSession(connection), appends)

    async def _write_rows(self, session: Session, rows: Sequence[Row]) -> None:
        await session.fetch_each(INSERT_ROW, rows)

    async def bury(self, session: Session, tombstone: Tombstone) -> None:
        text, head = encode_tombstone(tombstone).decode(), bytes.fromhex(tombstone.head)
        await session.fetch(BURY, tombstone.stream, text, head)


def add_costs(*costs: str) -> str:
    """The sum of decimals, exact to more digits than any price has; damaged ones count as nothing."""
    total = Decimal(0)
    for cost in costs:
        with suppress(InvalidOperation):
            total += Decimal(cost)
    return f"{total:f}"
