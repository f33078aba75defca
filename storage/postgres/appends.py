"""The rows of a batch, as one statement writes them.

One statement is one transaction and one round trip. Each stream that is written to is locked by its row, the journal's
position last: until its commit nobody else moves it.

All who write lock in this order, so that no two wait for each other: the tables of what was spent; streams, by name,
new ones last; their words; keys of openings, by name; the ledger's position; days; readers of the outbox, by name, and
its items, by number; reservations; leases, by stream; the cache; the journal's position.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from storage.chain import Row
from storage.postgres.connections.pool import transpose

STREAM_COLUMNS = 14

# The position of a batch is null, and nothing is written, unless every stream in it has the head that it builds on.
# Counting what is to be written before it makes the position the last lock.
APPEND = """
with change as (
    select * from unnest(
        $1::text[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[], $6::text[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[]
    ) as c (
        name, after, previous, seq, head, opened_at, changed_at, title, status, details, seal, owner, family, parent
    )
), held as materialized (
    select stream.number, change.* from change join stream on stream.name = change.name
    where stream.seq = change.after and stream.head = change.previous
    order by stream.name for no key update of stream
), moved as (
    update stream set seq = held.seq, head = held.head, changed_at = held.changed_at,
        title = coalesce(held.title, stream.title), status = coalesce(held.status, stream.status),
        details = coalesce(held.details, stream.details), seal = held.seal
    from held where stream.number = held.number
    returning stream.number, stream.name, stream.owner
), opened as (
    insert into stream
        (name, seq, head, opened_at, changed_at, title, status, details, seal, owner, family, parent)
    select name, seq, head, opened_at, changed_at, coalesce(title, ''), coalesce(status, ''),
        coalesce(details, '{}'), seal, coalesce(owner, 'local'), coalesce(family, ''), coalesce(parent, '')
    from change
    where after = 0 and not exists (select 1 from journal where journal.stream = change.name and journal.seq = 0)
    order by name
    on conflict (name) do nothing
    returning number, name, owner
), written as materialized (
    select number, name, owner from moved union all select number, name, owner from opened
), added as (
    insert into word (number, word)
    select written.number, given.word
    from unnest($15::text[], $16::text[]) as given (name, word) join written on written.name = given.name
    on conflict do nothing
    returning 1
), given_day as materialized (
    select given.stream, given.day, given.calls, given.cost, written.owner,
        given.calls - coalesce(spending.calls, 0) as more_calls, given.cost - coalesce(spending.cost, 0) as more_cost
    from unnest($17::text[], $18::text[], $19::bigint[], $20::numeric[]) as given (stream, day, calls, cost)
        join written on written.name = given.stream
        left join spending on spending.stream = given.stream and spending.day = given.day
), spent as (
    insert into spending (stream, day, calls, cost, owner)
    select stream, day, calls, cost, owner from given_day where more_calls <> 0 or more_cost <> 0
    on conflict (stream, day) do update set calls = excluded.calls, cost = excluded.cost
), summed as (
    insert into daily_spending (day, calls, cost)
    select day, sum(more_calls), sum(more_cost) from given_day group by day
    having bool_or(more_calls <> 0 or more_cost <> 0) order by day
    on conflict (day) do update
    set calls = daily_spending.calls + excluded.calls, cost = daily_spending.cost + excluded.cost
    returning 1
), summed_by_owner as (
    insert into owner_spending (day, owner, calls, cost)
    select day, owner, sum(more_calls), sum(more_cost) from given_day group by day, owner
    having bool_or(more_calls <> 0 or more_cost <> 0) order by day, owner
    on conflict (day, owner) do update
    set calls = owner_spending.calls + excluded.calls, cost = owner_spending.cost + excluded.cost
    returning 1
), reserved as materialized (
    select given.stream, given.requests, given.cost
    from unnest($21::text[], $22::text[], $23::bigint[], $24::numeric[]) as given (stream, holder, requests, cost)
        join lease on lease.stream = given.stream and lease.holder = given.holder
    order by lease.stream for no key update of lease
), settled as (
    update lease set requests = reserved.requests, cost = reserved.cost
    from reserved where lease.stream = reserved.stream
    returning 1
), moved_position as (
    update counter set value = case
        when (select count(*) from written) = (select count(*) from change)
            and (select count(*) from added) + (select count(*) from summed)
                + (select count(*) from summed_by_owner) + (select count(*) from settled) >= 0
        then value + cardinality($25::text[])
    end
    where name = 'journal'
    returning value
)
insert into journal (position, stream, seq, entry, hash, restored)
select moved_position.value - cardinality($25::text[]) + given.nth, given.stream, given.seq,
    convert_from(given.entry, 'UTF8'), given.hash, given.restored
from unnest($25::text[], $26::bigint[], $27::bytea[], $28::bytea[], $29::boolean[])
    with ordinality as given (stream, seq, entry, hash, restored, nth)
cross join moved_position
"""


def build_values(rows: Sequence[Row], split: Callable[[str], list[str]]) -> list[list[Any]]:
    """The values of `APPEND`. `split`: gives the words of a text, as the index has them."""
    streams: dict[str, list[Any]] = {}
    words: dict[tuple[str, str], None] = {}
    days: dict[tuple[str, str], tuple[int, str]] = {}
    leases: dict[tuple[str, str], tuple[int, str]] = {}
    for row in rows:
        # Of several rows of a stream the first has the head that must be stored now, the last the one to store.
        new_stream = [row.stream, row.seq - 1, row.previous, 0, b"", row.at, "", None, None, None, ""]
        stream = streams.setdefault(row.stream, [*new_stream, row.owner, row.family, row.parent])
        stream[3:5] = row.seq, row.head
        stream[6] = row.at
        for place, value in enumerate((row.title, row.status, row.details), start=7):
            stream[place] = stream[place] if value is None else value
        stream[10] = row.seal
        for word in split(row.removed or ""):
            words.pop((row.stream, word), None)
        if row.words:
            words |= dict.fromkeys((row.stream, word) for word in split(row.words))
        for day, amount in json.loads(row.spending or "{}").items():
            days[row.stream, day] = tuple(amount)
        if row.holder is not None:
            leases[row.stream, row.holder] = (row.requests or 0, row.cost or "0")
    entries = [(row.stream, row.seq, row.entry.encode(), row.head, bool(row.restored)) for row in rows]
    return [
        *transpose(list(streams.values()), STREAM_COLUMNS),
        *transpose(list(words), 2),
        *transpose([(*key, *amount) for key, amount in days.items()], 4),
        *transpose([(*key, *amount) for key, amount in leases.items()], 4),
        *transpose(entries, 5),
    ]
