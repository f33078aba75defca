"""One SQLite connection in WAL mode. Translates every error into a `StorageError`."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self

import aiosqlite
import anyio

from storage.journal import StorageError

MIN_SQLITE_VERSION = (3, 37, 0)
"""The first version with STRICT tables."""

RETRY_SECONDS = 0.01

Value = str | bytes | float | None


class LockedError(StorageError):
    """Another process held the write lock for longer than the lock timeout."""


class ConstraintError(StorageError):
    """A key exists already, or a trigger aborted the statement."""


ERRORS: dict[int, tuple[type[StorageError], str]] = {
    sqlite3.SQLITE_BUSY: (LockedError, "is locked by another program"),
    sqlite3.SQLITE_LOCKED: (LockedError, "is locked by another program"),
    sqlite3.SQLITE_CONSTRAINT: (ConstraintError, "cannot be used"),
    sqlite3.SQLITE_READONLY: (StorageError, "is read-only"),
    sqlite3.SQLITE_PERM: (StorageError, "may not be written by this user"),
    sqlite3.SQLITE_FULL: (StorageError, "does not fit on the disk, which is full"),
    sqlite3.SQLITE_IOERR: (StorageError, "cannot be read or written, the disk reports an error"),
    sqlite3.SQLITE_CANTOPEN: (StorageError, "cannot be opened"),
    sqlite3.SQLITE_NOTADB: (StorageError, "is not an SQLite database"),
    sqlite3.SQLITE_CORRUPT: (StorageError, "is damaged, restore it from a backup"),
}


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Convert errors of SQLite and the file system into a StorageError that a user can act on."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"the database {name} cannot be opened: {error.strerror}") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        damaged_text = sqlite3.SQLITE_CORRUPT if isinstance(error, UnicodeDecodeError) else 0
        code = getattr(error, "sqlite_errorcode", damaged_text) & 0xFF  # the upper bits are details
        kind, text = ERRORS.get(code, (StorageError, "cannot be used"))
        raise kind(f"the database {name} {text} ({error})") from error


def require_sqlite(version: tuple[int, ...], modules: Collection[str]) -> None:
    """Raises StorageError if SQLite is too old or was built without full-text search."""
    if version < MIN_SQLITE_VERSION:
        have, want = (".".join(map(str, numbers)) for numbers in (version, MIN_SQLITE_VERSION))
        raise StorageError(f"SQLite {want} or newer is needed, this Python has {have}")
    if "fts5" not in modules:
        raise StorageError("SQLite with FTS5 (full-text search) is needed, this Python has one without")


def ensure_file_exists(path: Path) -> None:
    """Create the file and its directory if missing, readable by this user only.

    SQLite gives its -wal and -shm files the same permissions.
    """
    with translate_errors(str(path)):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
    # Never open the file here: closing it again would drop SQLite's locks on it.
    if not path.is_file():
        raise StorageError(f"the database {path} cannot be opened: it is not a file")


class Connection:
    """Statements and transactions wait for each other, so that none gets into another's transaction.

    Every method may raise StorageError.
    """

    def __init__(self, db: aiosqlite.Connection, name: str) -> None:
        self._db = db
        self._name = name
        self._lock = asyncio.Lock()
        self._is_closed = False

    @classmethod
    async def open(cls, path: str, *, lock_timeout: float) -> Self:
        """Open a database. Every call waits up to `lock_timeout` seconds for other processes."""
        with translate_errors(path):
            # No isolation level: only `transaction` begins transactions.
            db = await aiosqlite.connect(path, timeout=0, isolation_level=None)
        # Damaged text is shown as far as it can be. What is hashed is read as bytes.
        db.text_factory = lambda text: text.decode(errors="replace")
        self = cls(db, path)
        try:
            modules = [name for (name,) in await self.fetch_all("pragma module_list")]
            require_sqlite(sqlite3.sqlite_version_info, modules)
            await self._enter_wal_mode(anyio.current_time() + lock_timeout)
            await self.fetch_all(f"pragma busy_timeout = {round(lock_timeout * 1000)}")
            await self.fetch_all("pragma synchronous = full")
        except BaseException:
            await self.close()
            raise
        return self

    async def _enter_wal_mode(self, deadline: float) -> None:
        """When two processes open a new file, SQLite may report it as locked without waiting."""
        while True:
            try:
                await self.fetch_all("pragma journal_mode = wal")
            except LockedError:
                if anyio.current_time() >= deadline:
                    raise
                await anyio.sleep(RETRY_SECONDS)
            else:
                return

    async def fetch_all(self, sql: str, *values: Value) -> list[Any]:
        """Run one statement and return its rows; it is committed on return."""
        # A lone surrogate, which JSON allows, matches no name and must not raise.
        given = [v.encode(errors="backslashreplace").decode() if isinstance(v, str) else v for v in values]
        async with self._use() as db:
            return list(await db.execute_fetchall(sql, given))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[aiosqlite.Connection]:
        """A connection for the statements of a transaction: commit on success, else roll back."""
        async with self._use() as db:
            try:
                # Inside the try: on cancellation the driver's thread still begins the transaction.
                await db.execute_fetchall("begin immediate")
                yield db
                await db.execute_fetchall("commit")  # unlike `db.commit`, fails if there is no transaction
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await db.rollback()  # no effect outside a transaction
                raise

    @asynccontextmanager
    async def _use(self) -> AsyncIterator[aiosqlite.Connection]:
        async with self._lock:
            if self._is_closed:
                raise StorageError(f"the database {self._name} was closed")
            with translate_errors(self._name):
                yield self._db

    async def close(self) -> None:
        """Wait for the running transaction, then close. A second call does nothing."""
        # Shielded: an open connection keeps the process alive.
        with anyio.CancelScope(shield=True):
            async with self._lock:
                self._is_closed = True
                with translate_errors(self._name):
                    await self._db.close()
