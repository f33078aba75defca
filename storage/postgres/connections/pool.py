"""The connections to a PostgreSQL database: few, with timeouts, made anew after they were lost."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import chain, repeat
from math import inf
from typing import Any, Self

import anyio
import asyncpg

from storage.addresses import find_name
from storage.database import Database, LockName, Session, T
from storage.errors import BusyError, StorageError
from storage.postgres.connections.errors import LostError, describe, is_repeatable, translate_error

MAX_CONNECTIONS = 6  # of a process
RETRY_DELAYS = (0.01, 0.05, 0.1, 0.2, 0.5)  # seconds; the last one repeats
LONG_SECONDS = 600.0  # for what goes through all there is
MIN_STATEMENT_SECONDS = 0.5
CANCEL_SECONDS = 1.0  # for the server to end a statement that nobody waits for any more
BUSY_WARNING_SECONDS = 60.0  # between lines of the log that say so
ATTEMPTS_BEFORE_WARNING = 3  # a connection that was cut is made anew without a word

SCHEMA = "counterpoint"

SERVER_SETTINGS = {
    "application_name": "counterpoint",
    "search_path": SCHEMA,
    "statement_timeout": "600s",  # of upkeep; others are given up sooner by this side
    "lock_timeout": "10s",
    # A process that is stopped in the middle of a transaction must not hold up the others.
    "idle_in_transaction_session_timeout": "5s",
    "client_connection_check_interval": "5s",
    "jit": "off",  # compiling takes longer than any statement here
}

ESCAPE = "\ue001"
"""PostgreSQL has no NUL character. This one, for private use, stands before "0" for it, and before "1" for itself."""

EXPECTED_ERRORS = (
    asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError
)  # fmt: skip
"""Any other is a bug of ours. The driver reports some cut connections as errors of its own."""

Password = Callable[[], str]
"""Reads the password whenever a connection is made, so that it can be changed while the server runs."""

LOCKS: dict[LockName, str] = {
    # As an append does before its first row.
    "sums": "lock table spending, daily_spending, owner_spending in row exclusive mode",
    # Sums are compared and written while nobody writes others.
    "all sums": "lock table spending, daily_spending, owner_spending in share row exclusive mode",
    "ledger": "select value from counter where name = 'ledger' for update",
    "reservations": "select value from counter where name = 'reservations' for update",
    "cache": "select pg_advisory_xact_lock(20261123)",
}

TRY_LOCKS: dict[LockName, str] = {"cache": "select pg_try_advisory_xact_lock(20261123)"}

WAIT_LONG = f"set local idle_in_transaction_session_timeout = {1000 * int(LONG_SECONDS)}"
"""For a transaction that does much between its statements."""

logger = logging.getLogger(__name__)


class Connection(asyncpg.Connection):  # type: ignore[misc]
    def get_reset_query(self) -> str:
        """Nothing that is done here outlasts a transaction: a reset would take a round trip each time."""
        return ""


class PostgresSession(Session):
    """One connection."""

    def __init__(self, connection: Any, deadline: float) -> None:
        self.connection = connection
        self._deadline = deadline

    async def fetch(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        seconds = max(self._deadline - anyio.current_time(), MIN_STATEMENT_SECONDS)
        rows = await self.connection.fetch(sql, *map(encode_value, values), timeout=seconds)
        return [tuple(map(decode_value, row)) for row in rows]

    async def fetch_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        seconds = max(self._deadline - anyio.current_time(), MIN_STATEMENT_SECONDS)
        row_values = [[encode_value(value) for value in row] for row in rows]
        await self.connection.executemany(sql, row_values, timeout=seconds)

    async def lock(self, name: LockName) -> None:
        await self.fetch(LOCKS[name])

    async def try_lock(self, name: LockName) -> bool:
        [(is_free,)] = await self.fetch(TRY_LOCKS[name])
        return bool(is_free)


class PostgresDatabase(Database):
    """Statements, each on a connection that is free. Lost connections are made anew for up to `patience` seconds.

    Every method may raise StorageError: BusyError where the server answered others meanwhile, and no write is open.
    """

    def __init__(self, address: str, patience: float) -> None:
        self.name = find_name(address)
        self.patience = patience
        self._pool: Any = None
        self._is_closed = False
        self._is_out = False  # it could not be reached last time
        self._answered_at = -inf  # when it answered last, whatever it was
        self._busy_told_at = -inf
        self._tasks: set[asyncio.Task[Any]] = set()

    @classmethod
    async def open(cls, address: str, *, password: Password | None, patience: float) -> Self:
        """Connections are made when they are needed."""
        self = cls(address, patience)
        self._pool = await asyncpg.create_pool(
            address,
            password=password,
            min_size=0,
            max_size=MAX_CONNECTIONS,
            timeout=patience,
            connection_class=Connection,
            server_settings=SERVER_SETTINGS,
        )
        return self

    async def fetch(self, sql: str, *values: Any, wait: float | None = None) -> list[Any]:
        """Run a statement that may be run twice; it is run again if the connection is lost."""
        return await self._use(lambda session: session.fetch(sql, *values), wait, may_repeat=True)

    async def read(self, sql: str, *values: Any, is_long: bool = False) -> list[Any]:
        return await self.fetch(sql, *values, wait=LONG_SECONDS if is_long else None)

    async def write(self, sql: str, *values: Any, is_durable: bool = True) -> list[Any]:  # noqa: ARG002
        return await self.finish(self.fetch(sql, *values))

    async def write_once(self, sql: str, *values: Any, wait: float | None = None) -> list[tuple[Any, ...]]:
        """Run a statement once. Raises LostError where nobody knows whether it was."""
        return await self._use(lambda session: session.fetch(sql, *values), wait, may_repeat=False)

    async def transact(
        self,
        body: Callable[[Session], Awaitable[T]],
        *,
        is_durable: bool = True,  # noqa: ARG002
        is_long: bool = False,
        wait: float | None = None,
    ) -> T:
        """As `Database.transact`. It is begun again after a deadlock.

        Raises LostError where nobody knows whether it was committed.
        """

        async def use(session: PostgresSession) -> T:
            async with session.connection.transaction():
                if is_long:
                    await session.fetch(WAIT_LONG)
                return await body(session)

        seconds = LONG_SECONDS if is_long else wait
        return await self.finish(self._use(use, seconds, may_repeat=False))

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work that goes on if the caller is cancelled; `close` waits for it."""
        return await asyncio.shield(self._start(work))

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        with suppress(asyncio.CancelledError):
            task.exception()  # a caller who is gone does not ask for it

    async def _use(
        self, use: Callable[[PostgresSession], Awaitable[T]], wait: float | None, *, may_repeat: bool
    ) -> T:
        deadline = anyio.current_time() + (self.patience if wait is None else wait)
        delays = chain(RETRY_DELAYS, repeat(RETRY_DELAYS[-1]))
        attempt = 0
        while True:
            attempt += 1
            is_begun, asked_at = False, anyio.current_time()
            try:
                async with self._connect(deadline) as connection:
                    is_begun = True
                    result = await use(PostgresSession(connection, deadline))
            except EXPECTED_ERRORS as raised:
                error = translate_error(raised, self.name)
                delay = next(delays)
                is_over = anyio.current_time() + delay >= deadline
                is_busy = isinstance(raised, TimeoutError) and self._has_answered_since(asked_at)
                if is_busy and is_over and (may_repeat or not is_begun):
                    raise self._tell_busy() from raised
                if isinstance(error, LostError):
                    self.lost_at = self.lost_at if is_busy else anyio.current_time()
                    error.is_outcome_known = not is_begun
                    may_go_on = may_repeat or not is_begun
                else:
                    self._answered_at = anyio.current_time()
                    may_go_on = is_repeatable(raised)
                will_raise = is_over or not may_go_on
                if isinstance(error, LostError) and (will_raise or attempt >= ATTEMPTS_BEFORE_WARNING):
                    self._begin_outage(error)
                if will_raise:
                    raise error from raised
                await anyio.sleep(delay)
            else:
                self._answered_at = anyio.current_time()
                self._end_outage()
                return result

    @asynccontextmanager
    async def _connect(self, deadline: float) -> AsyncIterator[Any]:
        if self._is_closed:
            raise StorageError(f"the database {self.name} was closed")
        seconds = max(deadline - anyio.current_time(), MIN_STATEMENT_SECONDS)
        try:
            connection = await self._pool.acquire(timeout=seconds)
        except ValueError as error:
            text = f"the address of the database {self.name} cannot be used ({describe(error)})"
            raise StorageError(text) from None
        release = self._pool.release
        try:
            yield connection
        except asyncio.CancelledError:
            # The driver asks the server to cancel the statement. The connection is free after the answer, or is
            # terminated without one: who is gone does not wait for it, and no other takes its place meanwhile.
            self._start(release(connection, timeout=CANCEL_SECONDS))
            raise
        except BaseException as error:
            if isinstance(error, TimeoutError | asyncpg.InternalClientError):
                connection.terminate()  # it may hang, or be cut: nobody is to wait for it
            await release(connection)
            raise
        await release(connection)

    def _has_answered_since(self, asked_at: float) -> bool:
        """Whether it answered others while this waited: in the second half, or an outage may have begun after it."""
        return self._answered_at > (asked_at + anyio.current_time()) / 2

    def _tell_busy(self) -> BusyError:
        """For what was not answered in time while others were: the server is not away."""
        error = BusyError(f"the database {self.name} is busy: it answers, but not to all in time")
        if anyio.current_time() >= self._busy_told_at + BUSY_WARNING_SECONDS:
            self._busy_told_at = anyio.current_time()
            logger.warning("%s", error)
        return error

    def _begin_outage(self, error: StorageError) -> None:
        if not self._is_out:
            self._is_out = True
            logger.warning("%s", error)

    def _end_outage(self) -> None:
        if self._is_out:
            self._is_out = False
            logger.info("The database %s can be used again", self.name)

    async def close(self) -> None:
        """Wait for what is being written, then close. A second call does nothing."""
        with anyio.CancelScope(shield=True):
            if self._tasks:
                await asyncio.wait(self._tasks)
            if not self._is_closed:
                self._is_closed = True
                self._pool.terminate()


def transpose(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """The columns of rows, for `unnest`."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def encode_value(value: Any) -> Any:
    """A value for a statement; texts in lists too, and what functions return. Bytes go unchanged."""
    if isinstance(value, str):
        return encode_text(value)
    if isinstance(value, list):
        return [encode_value(element) for element in value]
    return value() if callable(value) else value


def encode_text(text: str) -> str:
    if not text.isascii():
        # A lone surrogate, which JSON allows, matches no name and must not raise.
        text = text.encode(errors="backslashreplace").decode().replace(ESCAPE, f"{ESCAPE}1")
    return text.replace("\0", f"{ESCAPE}0")


def decode_value(value: Any) -> Any:
    """A value of a row, as it was before `encode_value`."""
    if isinstance(value, str) and ESCAPE in value:
        return value.replace(f"{ESCAPE}0", "\0").replace(f"{ESCAPE}1", ESCAPE)
    return value
