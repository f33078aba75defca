"""One SQLite connection in WAL mode. Translates every error into a `StorageError`."""

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import aiosqlite
import anyio

from storage.errors import OutageError, StorageError, StorageLostError
from storage.sqlite.connections.database_file import NAME_ANOTHER
from storage.sqlite.connections.waiting import Patience, Turns

MIN_SQLITE_VERSION = (3, 37, 0)
"""The first version with STRICT tables."""

FULL_DISK_BYTES = 1 << 20
"""With less space than this an error of the disk is taken for a full one: SQLite reports some of them so."""

REPEATED_WARNING_SECONDS = 60.0

CHECK_INTERVAL = 0.05
"""Seconds for which a file that was found in place is taken to be there before a statement. After it, it is looked for
in any case: system calls take longer than most other things that a statement needs."""

CheckFile = Callable[[float], None]
"""Raises StorageLostError if the path does not mean the database any more that was opened. Given the age in seconds of
an earlier look that is still good enough."""

logger = logging.getLogger(__name__)

Value = str | bytes | float | None


class LockedError(OutageError):
    """Another process held the write lock for longer than the lock timeout."""


class ClosedError(StorageError):
    """This process has closed the database."""


class DamagedError(StorageError):
    """What is in the file is no database, or not a whole one."""


class ReadOnlyError(StorageError):
    """Nothing can be written here."""


class ConstraintError(StorageError):
    """A key exists already, or a trigger aborted the statement."""


ERRORS: dict[int, tuple[type[StorageError], str]] = {
    sqlite3.SQLITE_READONLY_DIRECTORY: (
        ReadOnlyError,
        "is in a directory that cannot be written, and its log has to be beside it: copy it into another directory",
    ),
    sqlite3.SQLITE_BUSY: (LockedError, "is locked by another program"),
    sqlite3.SQLITE_LOCKED: (LockedError, "is locked by another program"),
    sqlite3.SQLITE_CONSTRAINT: (ConstraintError, "cannot be used"),
    sqlite3.SQLITE_READONLY: (
        ReadOnlyError,
        "is read-only: its debates can be read, and new ones need another database (COUNTERPOINT_DB, --db)",
    ),
    sqlite3.SQLITE_PERM: (StorageError, "may not be written by this user"),
    sqlite3.SQLITE_FULL: (StorageError, "does not fit on the disk, which is full"),
    sqlite3.SQLITE_IOERR: (StorageError, "cannot be read or written, the disk reports an error"),
    sqlite3.SQLITE_CANTOPEN: (StorageError, f"cannot be opened, {NAME_ANOTHER}"),
    sqlite3.SQLITE_NOTADB: (DamagedError, f"is not an SQLite database, {NAME_ANOTHER}"),
    sqlite3.SQLITE_CORRUPT: (DamagedError, "is damaged, restore it from a backup"),
}


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Convert errors of SQLite and the file system into a StorageError that a user can act on."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"the database {name} cannot be opened, {NAME_ANOTHER}: {error.strerror}"
        ) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        damaged_text = sqlite3.SQLITE_CORRUPT if isinstance(error, UnicodeDecodeError) else 0
        detailed_code = getattr(error, "sqlite_errorcode", damaged_text)
        code = detailed_code & 0xFF
        if code == sqlite3.SQLITE_IOERR and is_disk_full(name):
            code = sqlite3.SQLITE_FULL
        kind, text = ERRORS.get(detailed_code) or ERRORS.get(code, (StorageError, "cannot be used"))
        raise kind(f"the database {name} {text} ({error})") from error


def is_disk_full(path: str) -> bool:
    directory = Path(path).parent
    return directory.is_dir() and shutil.disk_usage(directory).free < FULL_DISK_BYTES


def require_sqlite(version: tuple[int, ...], modules: Collection[str]) -> None:
    """Raises StorageError if SQLite is too old or was built without full-text search."""
    if version < MIN_SQLITE_VERSION:
        have, want = (".".join(map(str, numbers)) for numbers in (version, MIN_SQLITE_VERSION))
        raise StorageError(f"this Python has SQLite {have}, and {want} or newer is needed")
    if "fts5" not in modules:
        raise StorageError("the SQLite of this Python has no full-text search (FTS5), which is needed")


class Outage:
    """Logs once that a database cannot be used, and once that it can again, for all connections to it.

    Nothing before `is_open`: whoever opens it gets the error.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_open = False
        self._noticed_by: object = None  # the connection that noticed it, and whose success ends it
        self._last: tuple[str, float] = ("", 0.0)  # what was logged, and when

    def begin(self, by: object, error: StorageError) -> None:
        if self._noticed_by is not None:
            return
        self._noticed_by = by
        text, now = str(error), anyio.current_time()
        if self.is_open and (text != self._last[0] or now - self._last[1] > REPEATED_WARNING_SECONDS):
            self._last = (text, now)
            logger.warning("%s", text)

    def end(self, by: object) -> None:
        if self._noticed_by is by:
            self._noticed_by = None
            logger.info("The database %s can be used again", self._name)


class Connection:
    """Statements and transactions wait for each other, so that none gets into another's transaction.

    Each waits for the locks of other connections up to `lock_timeout` seconds after it was asked for: a lock is tried
    for again and again, and meanwhile others can read.

    Every method may raise StorageError.
    """

    def __init__(
        self,
        db: aiosqlite.Connection,
        path: str,
        check_file: CheckFile,
        outage: Outage,
        *,
        lock_timeout: float,
    ) -> None:
        self._db = db
        self._path = path
        self._check_file = check_file
        self._outage = outage
        self.lock_timeout = lock_timeout
        self._lock = asyncio.Lock()
        self._turns = Turns()
        self._is_closed = False

    @classmethod
    async def open(
        cls,
        path: str,
        check_file: CheckFile,
        outage: Outage,
        *,
        lock_timeout: float,
        synchronous: str,
        immutable: bool = False,
    ) -> Self:
        """Open a database.

        `immutable`: a file that nobody can write, with no locks and no log.
        `synchronous`: FULL where a commit survives a power failure, NORMAL where it need not.
        """
        address = f"file:{quote(path)}?immutable=1" if immutable else path
        with translate_errors(path):
            # Not by the driver's thread, which would outlive a failure and have nobody to tell of it.
            # No isolation level: only `transaction` begins transactions.
            plain_connection = sqlite3.connect(
                address, timeout=0, isolation_level=None, uri=immutable, check_same_thread=False
            )
            db = await aiosqlite.Connection(lambda: plain_connection, iter_chunk_size=64)
        # Damaged text is shown as far as it can be. What is hashed is read as bytes.
        db.text_factory = lambda text: text.decode(errors="replace")
        self = cls(db, path, check_file, outage, lock_timeout=lock_timeout)
        try:
            modules = [name for (name,) in await self.fetch_all("pragma module_list")]
            require_sqlite(sqlite3.sqlite_version_info, modules)
            if not immutable:
                await self.fetch_all("pragma journal_mode = wal")
                await self.fetch_all(f"pragma synchronous = {synchronous}")
        except BaseException:
            await self.close()
            raise
        return self

    def take_turns(self) -> None:
        """Write in turn with all other connections to the file, which has its log by now."""
        with translate_errors(self._path):
            self._turns.open(self._path)

    async def create_function(self, name: str, function: Callable[..., Value]) -> None:
        """Give SQL on this connection a deterministic function of any number of arguments."""
        with translate_errors(self._path):
            await self._db.create_function(name, -1, function, deterministic=True)

    async def fetch_all(self, sql: str, *values: Value) -> list[Any]:
        """Run a statement and return its rows."""
        return await self._fetch(Patience(self.lock_timeout), sql, values)

    async def write(self, sql: str, *values: Value, wait: float | None = None) -> list[Any]:
        """Run a statement that writes, in its turn, and return its rows; it is committed on return.

        `wait`: seconds for the locks of others, if not the lock timeout.
        """
        async with self._turns.take(self.lock_timeout if wait is None else wait) as patience:
            return await self._fetch(patience, sql, values)

    async def _fetch(self, patience: Patience, sql: str, values: Sequence[Value]) -> list[Any]:
        while True:
            with self._report_errors(patience):
                async with self._use() as db:
                    return list(await db.execute_fetchall(sql, values))
            await patience.pause()

    @asynccontextmanager
    async def transaction(self, *, wait: float | None = None) -> AsyncIterator[aiosqlite.Connection]:
        """A connection for the statements of a transaction: commit on success, else roll back."""
        async with self._turns.take(self.lock_timeout if wait is None else wait) as patience:
            while True:
                with self._report_errors(patience):
                    async with self._use() as db:
                        try:
                            # Inside the try: on cancellation the driver's thread still begins the transaction.
                            await db.execute_fetchall("begin immediate")
                            patience.end()
                            yield db
                            await db.execute_fetchall("commit")  # unlike `db.commit`, fails if there is none
                        except BaseException:
                            with anyio.CancelScope(shield=True):
                                await db.rollback()  # no effect outside a transaction
                            raise
                        else:
                            return
                await patience.pause()

    @contextmanager
    def _report_errors(self, patience: Patience) -> Iterator[None]:
        """Log what is wrong once. A lock of another process is ignored until patience is over."""
        try:
            yield
        except LockedError as error:
            if patience.is_over:
                self._outage.begin(self, error)
                raise
        except (ClosedError, ConstraintError, ReadOnlyError, StorageLostError):
            raise
        except StorageError as error:
            self._outage.begin(self, error)
            raise
        else:
            self._outage.end(self)

    @asynccontextmanager
    async def _use(self) -> AsyncIterator[aiosqlite.Connection]:
        async with self._lock:
            if self._is_closed:
                raise ClosedError(f"the database {self._path} was closed")
            self._check_file(CHECK_INTERVAL)
            try:
                with translate_errors(self._path):
                    yield self._db
            except StorageError:
                self._check_file(0)  # a loss explains what it caused
                raise
            self._check_file(0)  # what a file took that nobody can find any more is not stored

    async def close(self) -> None:
        """Wait for the running transaction, then close. A second call does nothing."""
        # Shielded: an open connection keeps the process alive.
        with anyio.CancelScope(shield=True):
            async with self._lock:
                self._is_closed = True
                with translate_errors(self._path):
                    await self._db.close()
                self._turns.close()
