"""The journal in a PostgreSQL database."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Self

import anyio

from storage.chain import (
    NO_HEAD,
    Append,
    Batch,
    build_restored,
    decode_stream,
    decode_streams,
    find_missing,
    link_appends,
    require_no_tombstone,
)
from storage.commits import GroupedAppends, HeadMovedError
from storage.contract.errors import StorageError
from storage.contract.streams import Entry, OpeningKey, StreamHead, StreamSummary
from storage.migrations import Migration, require_release
from storage.postgres.appends import APPEND, build_values, lock_streams, takes_away, write_rows
from storage.postgres.cache import PostgresCache
from storage.postgres.connections.errors import ConstraintError, LostError
from storage.postgres.connections.feed import Feed, Listener
from storage.postgres.connections.pool import UPKEEP_SECONDS, Database, Password, Session, transpose
from storage.postgres.deletion import FIND_TOMBSTONE, PostgresDeletion
from storage.postgres.leases import TIME, PostgresLeases
from storage.postgres.ledger import PostgresLedger
from storage.postgres.lists import PostgresLists
from storage.postgres.migrations import (
    MIGRATIONS,
    SELECT_APPLIED,
    apply_migrations,
    check_server,
    prepare,
)
from storage.postgres.outbox import PostgresOutbox
from storage.postgres.tokens import PostgresTokens
from storage.postgres.upkeep import PostgresUpkeep
from storage.words import Tokenizer

# One statement, hence one snapshot. A row with a null text has the stream's head and its seal.
SELECT_ENTRIES = """
select seq, convert_to(entry, 'UTF8'), convert_to(encode(hash, 'hex'), 'UTF8'),
    case when restored then 'restored' else '' end
from journal where stream = $1
union all
select seq, null, convert_to(encode(head, 'hex'), 'UTF8'), seal from stream where name = $1
"""

SELECT_ENTRIES_OF_MANY = """
select stream, seq, convert_to(entry, 'UTF8'), convert_to(encode(hash, 'hex'), 'UTF8'),
    case when restored then 'restored' else '' end
from journal where stream = any($1::text[])
union all
select name, seq, null, convert_to(encode(head, 'hex'), 'UTF8'), seal from stream where name = any($1::text[])
"""

SELECT_HEADS_OF_MANY = """
select name, seq, encode(head, 'hex'), owner, seal from stream where name = any($1::text[])
"""

SELECT_DELETED = "select stream from journal where seq = 0 and stream = any($1::text[])"

SELECT_HASHES = "select encode(hash, 'hex') from journal where stream = $1 order by seq"

IS_OLD = f"""
opening.at < $1 and opening.stream not in (select stream from lease where until > {TIME.format("$2")})
"""

CLAIM_KEY = f"""
insert into opening (key, stream, at) values ($3, $4, $5)
on conflict (key) do update set (stream, at) = (
    select case when is_old then excluded.stream else opening.stream end,
        case when is_old then excluded.at else opening.at end
    from (select {IS_OLD} as is_old) as claimed
)
returning stream
"""

# Those that others are claiming are left to them.
DELETE_OLD_KEYS = f"""
delete from opening where key in (select key from opening where {IS_OLD} for update skip locked)
"""

RESTORE_KEYS = """
insert into opening (key, stream, at)
select key, stream, at from unnest($1::text[], $2::text[], $3::text[]) as given (key, stream, at)
where exists (select 1 from stream where stream.name = given.stream) order by key
on conflict (key) do nothing
"""

SET_SEAL = "update stream set seal = $1 where name = $2 and seq = $3 returning seq"

KEEP_TEXT = """
insert into kept_text (stream, name, text)
select $1::text, $2::text, $3::text where exists (select 1 from stream where stream.name = $1)
on conflict (stream, name) do update set text = excluded.text where kept_text.text = $4
returning text
"""

FIND_TEXT = "select text from kept_text where stream = $1 and name = $2"


FIND_TEXTS = "select stream, text from kept_text where stream = any($1::text[]) and name = $2"


class PostgresJournal(
    GroupedAppends,
    PostgresLists,
    PostgresLeases,
    PostgresUpkeep,
    PostgresLedger,
    PostgresDeletion,
    PostgresCache,
    PostgresTokens,
):
    def __init__(self, database: Database, *, is_read_only: bool, release: int) -> None:
        super().__init__(database.patience)
        self._db = database
        self._release = release
        self._tokenizer = Tokenizer()
        self._is_read_only = is_read_only
        self._feed = Feed(database)
        self.outbox = PostgresOutbox(database)

    @classmethod
    async def open(
        cls,
        address: str,
        *,
        password: Password | None = None,
        patience: float = 30.0,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> Self:
        """Use the database of an address. Every call waits up to `patience` seconds for the server, and for locks.

        Raises:
            StorageError: it cannot be used, is not one of ours, or belongs to a newer release.
        """
        database = await Database.open(address, password=password, patience=patience)
        try:
            is_read_only = await prepare(database, migrations)
            return cls(database, is_read_only=is_read_only, release=migrations[-1].release)
        except BaseException:
            await database.close()
            raise

    @property
    def is_read_only(self) -> bool:
        return self._is_read_only

    def check_presence(self) -> None:
        """A server that cannot be reached is an outage, not a loss: what it has committed is still there."""

    async def probe(self, seconds: float) -> None:
        applied = await self._db.fetch(SELECT_APPLIED, wait=seconds)
        require_release(dict(applied), self._release, self._db.name)

    async def reopen(self, before_another: Callable[[], Awaitable[None]]) -> bool:  # noqa: ARG002
        return False

    def checkpoint_soon(self) -> None:
        """The server does so by itself."""

    async def close(self) -> None:
        """Finish what is being written, then close. A second call does nothing."""
        with anyio.CancelScope(shield=True):
            await self.finish_appends()
            await self._feed.close()
            self._tokenizer.close()
            await self._db.close()

    def watch_changes(self, listener: Listener, stream: str = "") -> AbstractContextManager[None]:
        return self._feed.watch(listener, stream)

    # Appending

    async def _write_linked(self, batch: Batch, wait: float) -> None:
        deadline = anyio.current_time() + wait
        while True:
            try:
                await self._write_batch(batch, deadline - anyio.current_time())
            except ConstraintError as error:
                raise HeadMovedError from error
            except LostError as error:
                if error.is_outcome_known or not await self._was_written(batch, deadline):
                    if anyio.current_time() >= deadline:
                        raise
                    continue
            self._feed.announce(batch.heads)
            return

    async def _write_batch(self, batch: Batch, wait: float) -> None:
        async def write(session: Session) -> None:
            await lock_streams(session, batch.heads)
            await write_rows(session, batch.rows, self._tokenizer)

        if takes_away(batch):
            await self._db.transact(write, wait)
        else:
            await self._db.write_once(APPEND, *build_values(batch.rows, self._tokenizer), wait=wait)

    async def _write_checked(self, appends: Sequence[Append], wait: float) -> Batch:
        deadline = anyio.current_time() + wait
        batch: Batch | None = None

        async def write(session: Session) -> None:
            nonlocal batch
            names = [append.stream for append in appends]
            stored = await lock_streams(session, names)
            stored |= {name: NO_HEAD for (name,) in await session.fetch(SELECT_DELETED, names)}
            opening = [append for append in appends if append.stream not in stored]
            batch = link_appends(appends, stored, await claim_keys(session, opening))
            await write_rows(session, batch.rows, self._tokenizer)

        while True:
            try:
                await self._db.transact(write, deadline - anyio.current_time())
            except (ConstraintError, LostError) as error:
                # Another process has just begun one of the streams, or the answer was lost.
                is_open = isinstance(error, LostError) and not error.is_outcome_known
                if not (is_open and await self._was_written(batch, deadline)):
                    if anyio.current_time() >= deadline:
                        raise
                    batch = None
                    continue
            assert batch
            self._feed.announce(batch.heads)
            return batch

    async def _was_written(self, batch: Batch | None, deadline: float) -> bool:
        """Whether a batch was written whose commit was not answered. Raises LostError where nobody knows."""
        if batch is None or not batch.rows:
            return batch is not None
        left = deadline - anyio.current_time()
        first = batch.rows[0]
        sql = "select 1 from journal where stream = $1 and seq = $2 and hash = $3"
        return bool(await self._db.fetch(sql, first.stream, first.seq, first.head, wait=left))

    async def read_keys(self) -> list[tuple[str, str, str]]:
        sql = "select key, stream, at from opening order by at, key"
        return [tuple(row) for row in await self._db.fetch(sql, wait=UPKEEP_SECONDS)]

    async def restore_keys(self, keys: Sequence[tuple[str, str, str]]) -> None:
        await self._db.write(RESTORE_KEYS, *transpose(keys, 3))

    async def restore(
        self, stream: str, entries: Sequence[Entry], summary: StreamSummary, *, seal: str | None = None
    ) -> int:
        rows = build_restored(stream, entries, summary, seal)

        async def write(session: Session) -> int:
            await lock_streams(session, [stream])
            buried = await session.fetch(FIND_TOMBSTONE, stream)
            require_no_tombstone(stream, [text for (text,) in buried])
            stored = await session.fetch(SELECT_HASHES, stream)
            missing = find_missing(rows, [digest for (digest,) in stored])
            await write_rows(session, missing, self._tokenizer)
            return len(missing)

        added = await self._db.transact(write)
        self._feed.announce([stream] if added else [])
        return added

    # Reading

    async def read(self, stream: str, *, after: int = 0) -> list[Entry]:
        return (await self.read_sealed(stream))[0][after:]

    async def read_sealed(self, stream: str) -> tuple[list[Entry], str]:
        return decode_stream(stream, await self._db.fetch(SELECT_ENTRIES, stream))

    async def read_many(
        self, streams: Collection[str]
    ) -> Mapping[str, tuple[list[Entry], str] | StorageError]:
        return decode_streams(await self._db.fetch(SELECT_ENTRIES_OF_MANY, list(streams)))

    async def heads(self, streams: Collection[str]) -> Mapping[str, StreamHead]:
        rows = await self._db.fetch(SELECT_HEADS_OF_MANY, list(streams))
        return {name: StreamHead(*head) for name, *head in rows}

    async def head(self, stream: str) -> StreamHead:
        sql = "select seq, encode(head, 'hex'), owner, seal from stream where name = $1"
        rows = await self._db.fetch(sql, stream)
        return StreamHead(*rows[0]) if rows else StreamHead()

    # Seals, and texts kept beside streams

    async def set_seal(self, stream: str, seq: int, seal: str) -> bool:
        return bool(await self._db.write(SET_SEAL, seal, stream, seq))

    async def find_text(self, stream: str, name: str) -> str:
        rows = await self._db.fetch(FIND_TEXT, stream, name)
        return str(rows[0][0]) if rows else ""

    async def find_texts(self, streams: Collection[str], name: str) -> Mapping[str, str]:
        return dict(await self._db.fetch(FIND_TEXTS, list(streams), name))

    async def read_texts(self, stream: str) -> Mapping[str, str]:
        return dict(await self._db.fetch("select name, text from kept_text where stream = $1", stream))

    async def keep_text(self, stream: str, name: str, text: str, *, instead_of: str = "") -> str:
        rows = await self._db.write(KEEP_TEXT, stream, name, text, instead_of)
        return str(rows[0][0]) if rows else await self.find_text(stream, name)


async def claim_keys(session: Session, opening: Sequence[Append]) -> dict[str, str]:
    """Claim the keys of new streams, as far as they are free or old. Returns the stream of each key."""
    firsts: dict[str, tuple[OpeningKey, Append]] = {}
    for append in opening:
        if append.key:
            firsts.setdefault(append.key.name, (append.key, append))
    claimed: dict[str, str] = {}
    for name in sorted(firsts):
        key, append = firsts[name]
        values = key.since, key.now, name, append.stream, append.at
        [(claimed[name],)] = await session.fetch(CLAIM_KEY, *values)
    for key, _ in firsts.values():
        await session.fetch(DELETE_OLD_KEYS, key.since, key.now)
    return claimed


async def upgrade(
    address: str,
    *,
    password: Password | None = None,
    patience: float = 30.0,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> list[str]:
    """Apply all migrations that are missing, those too that end older releases. Returns their names.

    Raises StorageError.
    """
    database = await Database.open(address, password=password, patience=patience)
    try:
        await check_server(database)
        return await apply_migrations(database, migrations, every=True)
    finally:
        await database.close()
