"""The journal in one SQLite file, shared by any number of processes.

Group commit: appends that arrive during a write form the next transaction, so that two hundred concurrent
debates need a few disk syncs, not two hundred.
"""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, Self

import anyio

from storage.batch import Batch, Head, PreparedAppend, encode_summary
from storage.chain import verify_entries, verify_stored_entries
from storage.connection import Connection, ConstraintError, ensure_file_exists
from storage.journal import Entry, StorageError, StreamListing, StreamSummary, genesis_hash
from storage.migrations import MIGRATIONS, Migration, migrate
from storage.sqlite_outbox import SqliteOutbox

MAX_STREAM_NUMBER = 2**63 - 1

SELECT_ENTRIES = """
select seq, cast(entry as blob), cast(hash as blob) from journal where stream = ?1
union all
select cast(seq as integer), null, cast(head as blob) from stream where name = ?1
"""
"""Entries, and a row with a null text for the stream's head: one statement, hence one snapshot.

The casts to blob let damaged UTF-8 reach our check instead of failing in the driver.
"""

_LISTING_COLUMNS = """name, number, cast(title as blob), cast(status as blob), cast(details as blob),
    cast(opened_at as blob), cast(changed_at as blob)"""

SEARCH_LISTINGS = f"""
select {_LISTING_COLUMNS}
from words cross join stream on stream.number = words.rowid
where words match ?1 and words.rowid < ?2 and (?3 = '' or status = ?3)
order by words.rowid desc limit ?4
"""

SELECT_LISTINGS = f"""
select {_LISTING_COLUMNS}
from stream where number < ?1 order by number desc limit ?2
"""

SELECT_LISTINGS_BY_STATUS = f"""
select {_LISTING_COLUMNS}
from stream where status = ?1 and number < ?2 and changed_at >= ?3 order by number desc limit ?4
"""

SELECT_LISTING = f"select {_LISTING_COLUMNS} from stream where name = ?"

# A lease that ends implausibly far ahead came from a wrong clock and is replaced.
ACQUIRE_LEASE = """
insert into lease (stream, owner, until) values (?1, ?2, ?3)
on conflict (stream) do update set (owner, until) = (
    select excluded.owner, excluded.until
    where lease.owner = excluded.owner or lease.until <= ?4 or lease.until > ?4 + 100 * (?3 - ?4)
    union all
    select lease.owner, lease.until
    limit 1
)
returning owner
"""

RENEW_LEASES = """
update lease set until = ? where owner = ? and stream in (select value from json_each(?))
returning stream
"""

SELECT_HASHES = "select hash from journal where stream = ? order by seq"

ROW_COLUMNS = "stream, seq, entry, previous, head, at, title, status, details, words"

TEMP_STORE_IN_MEMORY = "pragma temp_store = memory"  # else large statements spill into a file

# Appends insert the rows of a `Batch` into this view; the trigger updates the tables. One statement is a
# transaction by itself and one round trip to the connection's thread, which costs as much as most statements.
# View and trigger are temporary: other programs and releases do not see them.
CREATE_APPEND_VIEW = f"""
create temp view appended ({ROW_COLUMNS})
as select null, null, null, null, null, null, null, null, null, null
"""

CREATE_APPEND_TRIGGER = """
create temp trigger appending instead of insert on appended
begin
    insert into journal (stream, seq, entry, hash)
    values (new.stream, new.seq, new.entry, lower(hex(new.head)));

    insert into stream (name, seq, head, title, status, details, opened_at, changed_at)
    select new.stream, 0, new.previous, '', '', '{}', new.at, new.at where new.seq = 1;

    update stream set seq = new.seq, head = new.head, title = coalesce(new.title, title),
        status = coalesce(new.status, status), details = coalesce(new.details, details), changed_at = new.at
    where name = new.stream and seq = new.seq - 1 and head = new.previous;

    select raise(abort, 'the stream has another head') where changes() = 0;

    insert or replace into words (rowid, text)
    select number, new.words from stream where name = new.stream and new.words is not null;
end
"""

_ROW_PLACEHOLDERS = f"({', '.join('?' * len(ROW_COLUMNS.split()))})"

INSERT_ROW = f"insert into appended ({ROW_COLUMNS}) values {_ROW_PLACEHOLDERS}"

MAX_ENTRIES_PER_STATEMENT = 64
"""More entries than this use an explicit transaction."""

MAX_CACHED_HEADS = 1000  # streams


class SqliteJournal:
    def __init__(self, writer: Connection, reader: Connection) -> None:
        # Two connections, so that reads and appends do not wait for each other. An in-memory database has
        # one, and its reads take the lock: they must not see half a transaction.
        self._writer = writer
        self._reader = reader
        self._lock = asyncio.Lock()
        self._read_lock: AbstractAsyncContextManager[Any] = self._lock if writer is reader else nullcontext()
        self._pending: list[tuple[PreparedAppend, asyncio.Future[list[Entry]]]] = []
        self._commit_task: asyncio.Task[None] | None = None
        # May be stale if another process appended; the trigger rejects such an append.
        self._cached_heads: dict[str, Head] = {}
        self.outbox = SqliteOutbox(writer, self._lock, self._fetch)

    @classmethod
    async def open(
        cls, path: str | Path, *, lock_timeout: float = 30.0, migrations: Sequence[Migration] = MIGRATIONS
    ) -> Self:
        """Open or create a file, or ":memory:". Every call waits up to `lock_timeout` seconds for the lock.

        Raises:
            StorageError: it cannot be opened, is not a journal, or belongs to a newer release.
        """
        name = str(path)
        memory = name == ":memory:"
        if not memory:
            ensure_file_exists(Path(path))
        async with AsyncExitStack() as opened:
            writer = reader = await Connection.open(name, lock_timeout=lock_timeout)
            opened.push_async_callback(writer.close)
            await migrate(writer, migrations)
            for statement in (TEMP_STORE_IN_MEMORY, CREATE_APPEND_VIEW, CREATE_APPEND_TRIGGER):
                await writer.fetch_all(statement)
            if not memory:
                reader = await Connection.open(name, lock_timeout=lock_timeout)
            opened.pop_all()
        return cls(writer, reader)

    async def close(self) -> None:
        """Finish the running commit, then close. A second call does nothing."""
        with anyio.CancelScope(shield=True):
            if self._commit_task and not self._commit_task.done():
                await asyncio.wait([self._commit_task])
            await self._reader.close()
            await self._writer.close()  # the last connection to close checkpoints the log

    # Appending

    async def append(
        self,
        stream: str,
        *,
        after: int,
        at: str,
        actor: str,
        bodies: Sequence[Mapping[str, Any]],
        summary: StreamSummary | None = None,
    ) -> list[Entry]:
        write = PreparedAppend.from_bodies(stream, after, at, actor, bodies, summary)
        done: asyncio.Future[list[Entry]] = asyncio.get_running_loop().create_future()
        self._pending.append((write, done))
        if self._commit_task is None or self._commit_task.done():
            # A separate task: cancelling one caller must not cancel a transaction with other appends.
            self._commit_task = asyncio.create_task(self._commit_all(), name="journal")
        return await done

    async def _commit_all(self) -> None:
        while self._pending:
            async with self._lock:
                # Skips cancelled callers.
                taken = [(write, done) for write, done in self._pending if not done.done()]
                self._pending = []
                if taken:
                    await self._commit(taken)

    async def _commit(self, pending: Sequence[tuple[PreparedAppend, asyncio.Future[list[Entry]]]]) -> None:
        outcomes: Sequence[list[Entry] | BaseException]
        try:
            outcomes = await self._write([write for write, _ in pending])
        except StorageError as error:
            outcomes = [
                StorageError(str(error)) for _ in pending
            ]  # one object each: they get separate tracebacks
        except BaseException as error:  # noqa: BLE001  (the callers wait for it)
            outcomes = [error for _ in pending]
        for (_, done), outcome in zip(pending, outcomes, strict=True):
            if done.done():
                continue
            if isinstance(outcome, BaseException):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)

    async def _write(self, appends: Sequence[PreparedAppend]) -> Sequence[list[Entry] | BaseException]:
        batch = await self._write_in_one_statement(appends)
        if batch is None:
            async with self._writer.transaction():
                batch = Batch.from_appends(
                    appends, await self._read_heads({write.stream for write in appends})
                )
                await self._writer.execute_many(INSERT_ROW, batch.rows)
        self._cache_heads(batch.new_heads)
        return batch.results

    async def _write_in_one_statement(self, appends: Sequence[PreparedAppend]) -> Batch | None:
        """Write with the cached heads in one statement; None, with nothing written, if that is not possible.

        A conflict here is not final: another process may have moved the head on.
        """
        if sum(len(write.texts) for write in appends) > MAX_ENTRIES_PER_STATEMENT:
            return None
        batch = Batch.from_appends(appends, self._cached_heads)
        if batch.has_conflict:
            return None
        statement = ", ".join([INSERT_ROW, *[_ROW_PLACEHOLDERS] * (len(batch.rows) - 1)])
        try:
            await self._writer.fetch_all(statement, *chain.from_iterable(batch.rows))
        except ConstraintError:
            return None
        return batch

    def _cache_heads(self, heads: Mapping[str, Head]) -> None:
        for stream, head in heads.items():
            self._cached_heads.pop(stream, None)  # moves it to the end
            self._cached_heads[stream] = head
        while len(self._cached_heads) > MAX_CACHED_HEADS:
            del self._cached_heads[next(iter(self._cached_heads))]

    async def _read_heads(self, streams: set[str]) -> dict[str, Head]:
        marks = ", ".join("?" * len(streams))
        sql = f"select name, seq, cast(head as blob) from stream where name in ({marks})"
        return {name: Head(seq, digest) for name, seq, digest in await self._writer.fetch_all(sql, *streams)}

    async def restore(self, stream: str, entries: Sequence[Entry], summary: StreamSummary) -> int:
        if not entries:
            raise ValueError("there is nothing to restore")
        texts, columns = verify_entries(stream, entries), encode_summary(summary)
        async with self._lock, self._writer.transaction():
            hashes = [stored for (stored,) in await self._writer.fetch_all(SELECT_HASHES, stream)]
            batch = Batch.from_copy(stream, entries, texts, columns, hashes)
            await self._writer.execute_many(INSERT_ROW, batch.rows)
        return len(batch.rows)

    # Reading

    async def _fetch(self, sql: str, *values: str | float) -> list[Any]:
        async with self._read_lock:
            return await self._reader.fetch_all(sql, *values)

    async def read(self, stream: str, *, after: int = 0) -> list[Entry]:
        rows = await self._fetch(SELECT_ENTRIES, stream)
        if not rows:
            return []
        ends = [(seq, head) for seq, text, head in rows if text is None]
        seq, head = ends[0] if ends else (0, genesis_hash(stream))
        stored = {seq: (text, digest) for seq, text, digest in rows if text is not None}
        return verify_stored_entries(stream, stored, seq, head)[after:]

    async def version(self, stream: str) -> int:
        rows = await self._fetch("select seq from stream where name = ?", stream)
        return int(rows[0][0]) if rows else 0

    async def find(
        self, query: str = "", *, status: str = "", changed_since: str = "", before: int = 0, limit: int = 20
    ) -> list[StreamListing]:
        until = min(before, MAX_STREAM_NUMBER) or MAX_STREAM_NUMBER
        if query.strip():
            wanted = build_fts_query(query)
            rows = await self._fetch(SEARCH_LISTINGS, wanted, until, status, limit) if wanted else []
        elif status:
            rows = await self._fetch(SELECT_LISTINGS_BY_STATUS, status, until, changed_since, limit)
        else:
            rows = await self._fetch(SELECT_LISTINGS, until, limit)
        return [_parse_listing(row) for row in rows]

    async def get_listing(self, stream: str) -> StreamListing | None:
        rows = await self._fetch(SELECT_LISTING, stream)
        return _parse_listing(rows[0]) if rows else None

    async def find_details_since(self, at: str) -> list[Mapping[str, Any]]:
        rows = await self._fetch("select cast(details as blob) from stream where changed_at >= ?", at)
        found = [_parse_details(bytes(text or b"").decode(errors="replace")) for (text,) in rows]
        return [details for details in found if details is not None]

    async def find_by_prefix(self, prefix: str, *, limit: int = 100) -> list[str]:
        # A range needs no escaping and uses the index.
        sql = "select name from stream where name >= ?1 and name < ?2 order by number desc limit ?3"
        return [name for (name,) in await self._fetch(sql, prefix, prefix + "\U0010ffff", limit)]

    async def find_changes(self, after: int) -> tuple[int, list[str]]:
        if after < 0:
            rows = await self._fetch("select coalesce(max(position), 0) from journal")
            return rows[0][0], []
        # SQLite serialises writers, so positions become visible in order.
        sql = "select max(position), stream from journal where position > ? group by stream order by 1"
        rows = await self._fetch(sql, after)
        return (rows[-1][0] if rows else after), [stream for _, stream in rows]

    # Leases

    async def _execute_lease_statement(self, sql: str, *values: str | float) -> list[Any]:
        # The lock keeps it out of an append's transaction, which could roll it back.
        async with self._lock:
            return await self._writer.fetch_all(sql, *values)

    async def acquire_lease(self, stream: str, owner: str, *, now: float, seconds: float) -> str:
        [(holder,)] = await self._execute_lease_statement(ACQUIRE_LEASE, stream, owner, now + seconds, now)
        return str(holder)

    async def renew_leases(
        self, owner: str, streams: Collection[str], *, now: float, seconds: float
    ) -> set[str]:
        renewed = await self._execute_lease_statement(
            RENEW_LEASES, now + seconds, owner, json.dumps(list(streams))
        )
        return {stream for (stream,) in renewed}

    async def active_leases(self, *, now: float) -> Mapping[str, str]:
        return dict(
            await self._execute_lease_statement("select stream, owner from lease where until > ?", now)
        )

    async def release_lease(self, stream: str, owner: str) -> None:
        await self._execute_lease_statement("delete from lease where stream = ? and owner = ?", stream, owner)


def build_fts_query(query: str) -> str:
    """Any text as an FTS5 query: each word quoted, so that none is an operator; "" for no words."""
    words = query.replace('"', " ").replace("\0", " ").split()
    return " ".join(f'"{word}"' for word in words) + "*" if words else ""


def _parse_details(text: str) -> dict[str, Any] | None:
    """The details of a summary; None if they cannot be decoded."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _parse_listing(row: Sequence[Any]) -> StreamListing:
    """A listing; a damaged one gets a mark in its title, so that it does not hide the others."""
    name, number, *texts = row
    title, status, details, opened_at, changed_at = (
        bytes(text or b"").decode(errors="replace") for text in texts
    )
    parsed = _parse_details(details)
    if parsed is None:
        title, parsed = f"(damaged summary) {title}", {}
    return StreamListing(str(name), number, title, status, parsed, opened_at, changed_at)
