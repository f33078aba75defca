"""Work that readers of the journal have found and not finished.

A reader goes through all entries once, in order, and puts items into the outbox; the worker of a queue performs its
first item and completes it. Several processes may share one reader name: each item is stored once. Which of them works
on a queue is decided by a lease, as it is for debates.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass

from storage.database import Database, Session

OUTBOX_TABLES = (
    "create table reader (name {text} primary key, since {integer} not null, position {integer} not null) {keyed}",
    """
    create table outbox (
        number {counter},
        id {text} not null unique,
        reader {text} not null,
        queue {integer} not null,
        stream {text} not null,
        seq {integer} not null,
        position {integer} not null,
        event {text} not null,
        due {real} not null,
        attempts {integer} not null
    ) {large}
    """,
    "create index outbox_by_queue on outbox (reader, queue, number)",
    "create index outbox_by_stream on outbox (stream)",
)

LAST_POSITION = "select coalesce(max(position), 0) from journal"

REGISTER_READER = f"""
insert into reader (name, since, position) values ($1, ({LAST_POSITION}), ({LAST_POSITION}))
on conflict (name) do update set name = excluded.name
returning since, position
"""

SELECT_ENTRIES = """
select entry.position, entry.stream, entry.seq, first.position
from journal as entry join journal as first on first.stream = entry.stream and first.seq = 1
where entry.position > $1 order by entry.position limit $2
"""

# Who stores items of a reader holds its row, so that the numbers of the items grow with the position of the entry.
LOCK_READERS = "select 1 from reader where name = any($1::text[]) order by name for update"

PUT_ITEM = """
insert into outbox (id, reader, queue, stream, seq, position, event, due, attempts)
select $1::text, name, $3::bigint, $4::text, $5::bigint, $6::bigint, $7::text, $8::float8, $9::bigint
from reader where name = $2 and position < $6
on conflict (id) do nothing
"""

ADVANCE_READERS = """
update reader set position = greatest(position, $1::bigint) where name = any($2::text[])
"""

SELECT_ITEMS = "select id, reader, queue, stream, seq, position, event, due, attempts from outbox"

# Those that somebody works on are left to them.
DELETE_OVERDUE = """
delete from outbox where number in (select number from outbox where due < $1 for update skip locked) returning id
"""

# Numbers grow with the position of the entry.
SELECT_DUE = """
select reader, queue from outbox
where number in (select min(number) from outbox group by reader, queue) and due <= $1
"""


@dataclass(frozen=True, slots=True)
class ReaderPosition:
    start: int  # the end of the journal when the reader was registered
    position: int  # the last entry it has read


@dataclass(frozen=True, slots=True)
class EntryReference:
    position: int
    stream: str
    seq: int
    stream_start: int  # the position of the stream's first entry


@dataclass(frozen=True, slots=True)
class OutboxItem:
    id: str
    reader: str
    queue_index: int  # which of the reader's queues
    stream: str
    seq: int
    position: int
    event: str  # which of the public events of the entry
    due_at: float  # Unix time
    attempts: int = 0


class Outbox:
    """Serves hooks: what each has read of the journal, and the deliveries that are due."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, reader: str) -> ReaderPosition:
        """The position of a reader; a new reader starts at the end of the journal."""
        rows = await self._database.read("select since, position from reader where name = $1", reader)
        [(start, position)] = rows or await self._database.write(REGISTER_READER, reader)
        return ReaderPosition(start, position)

    async def find_readers(self) -> Mapping[str, ReaderPosition]:
        """The readers that were registered, by name."""
        rows = await self._database.read("select name, since, position from reader")
        return {name: ReaderPosition(*mark) for name, *mark in rows}

    async def find_position(self, stream: str, seq: int) -> int:
        """The position of an entry; 0 for none."""
        sql = "select position from journal where stream = $1 and seq = $2"
        rows = await self._database.read(sql, stream, seq)
        return int(rows[0][0]) if rows else 0

    async def find_entries(self, position: int, *, limit: int) -> list[EntryReference]:
        """Entries written after a position, by any process. Cheap enough for polling."""
        rows = await self._database.read(SELECT_ENTRIES, position, limit)
        return [EntryReference(*row) for row in rows]

    async def put(self, readers: Collection[str], position: int, items: Sequence[OutboxItem]) -> None:
        """Store items and advance the readers to a position, in one transaction.

        Items at positions that their reader has passed already are ignored: another process stored them.
        """

        async def write(session: Session) -> None:
            await session.fetch(LOCK_READERS, sorted({*readers, *(item.reader for item in items)}))
            await session.fetch_each(PUT_ITEM, [astuple(item) for item in items])
            await session.fetch(ADVANCE_READERS, position, list(readers))

        await self._database.transact(write)

    async def find_due_queues(self, now: float) -> list[tuple[str, int]]:
        """(reader, queue index) of each queue whose first item is due. Cheap enough for polling."""
        return [(reader, queue) for reader, queue in await self._database.read(SELECT_DUE, now)]

    async def find_queues(self, stream: str) -> list[tuple[str, int]]:
        """(reader, queue index) of each queue with an item about a stream."""
        sql = "select distinct reader, queue from outbox where stream = $1"
        return [(reader, queue) for reader, queue in await self._database.read(sql, stream)]

    async def find_first(self, reader: str, queue_index: int, now: float) -> OutboxItem | None:
        """The first item of a queue, in the order of entries; None where there is none, or it is not due yet."""
        sql = f"{SELECT_ITEMS} where reader = $1 and queue = $2 order by number limit 1"
        rows = await self._database.read(sql, reader, queue_index)
        item = OutboxItem(*rows[0]) if rows else None
        return item if item and item.due_at <= now else None

    async def complete(self, item: OutboxItem) -> None:
        await self._database.write("delete from outbox where id = $1", item.id)

    async def reschedule(self, item: OutboxItem) -> None:
        """Store `due_at` and `attempts` of an item. Those behind it wait for it."""
        sql = "update outbox set due = $1, attempts = $2 where id = $3"
        await self._database.write(sql, item.due_at, item.attempts, item.id)

    async def count(self) -> int:
        """How many items there are, due or not."""
        [(number,)] = await self._database.read("select count(*) from outbox")
        return int(number)

    async def delete_overdue(self, due_before: float) -> int:
        """Delete items that were due before that time. Returns their number."""
        return len(await self._database.write(DELETE_OVERDUE, due_before))
