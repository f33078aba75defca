"""The journal in one SQLite file, shared by any number of processes."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from decimal import Decimal, InvalidOperation
from itertools import chain
from pathlib import Path
from typing import Self

import aiosqlite
import anyio

from storage.chain import (
    Append,
    Batch,
    Head,
    Row,
    build_restored,
    decode_stream,
    decode_streams,
    find_missing,
    link_appends,
    require_no_tombstone,
)
from storage.commits import GroupedAppends, HeadMovedError
from storage.contract import LOCAL_OWNER
from storage.contract.errors import OutageError, StorageError
from storage.contract.streams import Entry, StreamHead, StreamSummary
from storage.migrations import Migration, require_release
from storage.sqlite.cache import SqliteCache
from storage.sqlite.connections.connection import Connection, ConstraintError
from storage.sqlite.connections.database import Database
from storage.sqlite.deletion import FIND_TOMBSTONE, SqliteDeletion
from storage.sqlite.leases import SqliteLeases
from storage.sqlite.ledger import REPLACE_JUDGMENTS, SqliteLedger
from storage.sqlite.lists import SqliteLists
from storage.sqlite.migrations import MIGRATIONS, SELECT_APPLIED, list_programs, migrate
from storage.sqlite.outbox import SqliteOutbox
from storage.sqlite.seals import SqliteSeals
from storage.sqlite.tokens import SqliteTokens
from storage.sqlite.upkeep import SqliteUpkeep
from storage.words import Tokenizer

SELECT_ENTRIES = """
select seq, cast(entry as blob), cast(lower(hex(hash)) as blob), restored from journal where stream = ?1
union all
select cast(seq as integer), null, cast(lower(hex(head)) as blob), seal from stream where name = ?1
"""
"""Entries, and a row with a null text for the stream's head and its seal: one statement, hence one snapshot.

The casts to blob let damaged UTF-8 reach our check unchanged.
"""

NAMED = "in (select value from json_each(?1))"

SELECT_ENTRIES_OF_MANY = f"""
select stream, seq, cast(entry as blob), cast(lower(hex(hash)) as blob), restored from journal where stream {NAMED}
union all
select name, cast(seq as integer), null, cast(lower(hex(head)) as blob), seal from stream where name {NAMED}
"""
"""As `SELECT_ENTRIES`, after the name of the stream."""

SELECT_HEADS_OF_MANY = f"select name, seq, lower(hex(head)), owner, seal from stream where name {NAMED}"

DELETE_OLD_KEYS = """
delete from opening where at < ?1 and stream not in (select stream from lease where until > ?2)
"""

CLAIM_KEY = """
insert into opening (key, stream, at) values (?1, ?2, ?3)
on conflict (key) do update set stream = stream
returning stream
"""

RESTORE_KEY = """
insert or ignore into opening (key, stream, at) select ?1, ?2, ?3 where exists (select 1 from stream where name = ?2)
"""

SELECT_HEADS = """
select name, seq, cast(head as blob) from stream where name in ({marks})
union all
select stream, -1, x'' from journal where seq = 0 and stream in ({marks})
"""
"""The heads of streams, and `NO_HEAD` for those that were deleted."""

SELECT_HASHES = "select lower(hex(hash)) from journal where stream = ? order by seq"

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
    where new.seq = 1;

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

CHECKPOINT_DELAY = 0.02  # seconds, for others that are asked for meanwhile


class SqliteJournal(
    GroupedAppends,
    SqliteLists,
    SqliteLeases,
    SqliteSeals,
    SqliteUpkeep,
    SqliteLedger,
    SqliteDeletion,
    SqliteCache,
    SqliteTokens,
):
    def __init__(self, database: Database, clock: Callable[[], float], release: int) -> None:
        super().__init__(database.lock_timeout)
        self._db = database
        self._release = release
        self._clock = clock
        self._tokenizer = Tokenizer()
        self._checkpoint_task: asyncio.Task[None] | None = None
        self._wants_checkpoint = False
        self._closing = anyio.Event()
        self.outbox = SqliteOutbox(database)

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        lock_timeout: float = 30.0,
        migrations: Sequence[Migration] = MIGRATIONS,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Open or create a file, or ":memory:". Every call waits up to `lock_timeout` seconds for the lock.

        `clock`: Unix time, for leases.

        Raises:
            StorageError: it cannot be opened, is not a journal, or belongs to a newer release.
        """

        async def prepare(writer: Connection) -> None:
            await migrate(writer, migrations, str(path))
            await writer.create_function("add_costs", add_costs)
            for statement in PREPARE_WRITER:
                await writer.fetch_all(statement)

        database = await Database.open(
            str(path), prepare=prepare, lock_timeout=lock_timeout, programs=list_programs(migrations)
        )
        return cls(database, clock, migrations[-1].release)

    @property
    def is_read_only(self) -> bool:
        return self._db.is_read_only

    def check_presence(self) -> None:
        self._db.check()

    async def probe(self, seconds: float) -> None:
        self.check_presence()
        try:
            with anyio.fail_after(seconds):
                applied = await self._db.reader.fetch_all(SELECT_APPLIED)
        except TimeoutError:
            raise OutageError(f"the database {self._db.path} did not answer in time") from None
        require_release(dict(applied), self._release, self._db.path)

    async def reopen(self, before_another: Callable[[], Awaitable[None]]) -> bool:
        is_another = await self._db.reopen(before_another)
        if is_another:
            self._cached_heads = {}
        return is_another

    def checkpoint_soon(self) -> None:
        self._wants_checkpoint = True
        if self._checkpoint_task is None or self._checkpoint_task.done():
            self._checkpoint_task = asyncio.create_task(self._checkpoint(), name="checkpoint")

    async def _checkpoint(self) -> None:
        while self._wants_checkpoint:
            with anyio.move_on_after(CHECKPOINT_DELAY):
                await self._closing.wait()
            self._wants_checkpoint = False
            with suppress(StorageError):  # a full disk or a lock: the next one copies all of it
                await self._db.checkpoint()

    async def close(self) -> None:
        """Finish the running commit and checkpoint, then close. A second call does nothing."""
        self._closing.set()
        with anyio.CancelScope(shield=True):
            await self.finish_appends()
            if self._checkpoint_task:
                await asyncio.wait([self._checkpoint_task])
            self._tokenizer.close()
            await self._db.close()

    def watch_changes(
        self,
        listener: Callable[[Collection[str]], None],  # noqa: ARG002
        stream: str = "",  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """A file tells nobody."""
        return nullcontext()

    # Appending

    async def _write_linked(self, batch: Batch, wait: float) -> None:
        statement = ", ".join([INSERT_ROW, *[_ROW_PLACEHOLDERS] * (len(batch.rows) - 1)])
        try:
            await self._db.writer.fetch_all(statement, *chain.from_iterable(batch.rows), wait=wait)
        except ConstraintError as error:
            raise HeadMovedError from error

    async def _write_checked(self, appends: Sequence[Append], wait: float) -> Batch:
        async with self._db.writer.transaction(wait=wait) as db:
            names, marks = [append.stream for append in appends], ", ".join("?" * len(appends))
            rows = await db.execute_fetchall(SELECT_HEADS.format(marks=marks), [*names, *names])
            stored = {name: Head(*head) for name, *head in rows}
            opening = [append for append in appends if append.stream not in stored]
            batch = link_appends(appends, stored, await self._claim_keys(db, opening))
            await db.executemany(INSERT_ROW, batch.rows)
        return batch

    async def _claim_keys(self, db: aiosqlite.Connection, opening: Sequence[Append]) -> dict[str, str]:
        """Claim the keys of new streams, as far as they are free. Returns the stream of each key."""
        claimed: dict[str, str] = {}
        for append in opening:
            if key := append.key:
                await db.execute_fetchall(DELETE_OLD_KEYS, [key.since, self._time(key.now)])
                [(claimed[key.name],)] = await db.execute_fetchall(
                    CLAIM_KEY, [key.name, append.stream, append.at]
                )
        return claimed

    async def read_keys(self) -> list[tuple[str, str, str]]:
        sql = "select key, stream, at from opening order by at, key"
        return list(await self._db.reader.fetch_all(sql))

    async def restore_keys(self, keys: Sequence[tuple[str, str, str]]) -> None:
        async with self._db.writer.transaction() as db:
            await db.executemany(RESTORE_KEY, keys)

    async def restore(
        self, stream: str, entries: Sequence[Entry], summary: StreamSummary, *, seal: str | None = None
    ) -> int:
        rows = build_restored(stream, entries, summary, seal)
        async with self._db.writer.transaction() as db:
            buried = await db.execute_fetchall(FIND_TOMBSTONE, [stream])
            require_no_tombstone(stream, [text for (text,) in buried])
            stored = await db.execute_fetchall(SELECT_HASHES, [stream])
            missing = find_missing(rows, [digest for (digest,) in stored])
            await db.executemany(INSERT_ROW, missing)
        return len(missing)

    # Reading

    async def read(self, stream: str, *, after: int = 0) -> list[Entry]:
        return (await self.read_sealed(stream))[0][after:]

    async def read_sealed(self, stream: str) -> tuple[list[Entry], str]:
        return decode_stream(stream, await self._db.reader.fetch_all(SELECT_ENTRIES, stream))

    async def read_many(
        self, streams: Collection[str]
    ) -> Mapping[str, tuple[list[Entry], str] | StorageError]:
        return decode_streams(
            await self._db.reader.fetch_all(SELECT_ENTRIES_OF_MANY, json.dumps(list(streams)))
        )

    async def heads(self, streams: Collection[str]) -> Mapping[str, StreamHead]:
        rows = await self._db.reader.fetch_all(SELECT_HEADS_OF_MANY, json.dumps(list(streams)))
        return {name: StreamHead(*head) for name, *head in rows}

    async def head(self, stream: str) -> StreamHead:
        sql = "select seq, lower(hex(head)), owner, seal from stream where name = ?"
        rows = await self._db.reader.fetch_all(sql, stream)
        return StreamHead(*rows[0]) if rows else StreamHead()


def add_costs(*costs: str) -> str:
    """The sum of decimals, exact to more digits than any price has; damaged ones count as nothing."""
    total = Decimal(0)
    for cost in costs:
        with suppress(InvalidOperation):
            total += Decimal(cost)
    return f"{total:f}"


async def upgrade(
    path: str | Path, *, lock_timeout: float = 30.0, migrations: Sequence[Migration] = MIGRATIONS
) -> list[str]:
    """Apply all migrations that are missing, those too that end older releases. Returns their names.

    Raises StorageError.
    """
    applied: list[str] = []

    async def prepare(writer: Connection) -> None:
        applied.extend(await migrate(writer, migrations, str(path), every=True))

    programs = list_programs(migrations)
    opened = await Database.open(str(path), prepare=prepare, lock_timeout=lock_timeout, programs=programs)
    await opened.close()
    return applied
