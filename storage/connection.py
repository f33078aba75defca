"""One SQLite connection in WAL mode. Translates every error into a `StorageError`."""

import sqlite3
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self

import aiosqlite
import anyio

from storage.journal import StorageError

MIN_SQLITE_VERSION = (3, 37, 0)
"""The first version with STRICT tables."""

RETRY_SECONDS = 0.01

ERROR_TEXTS = {
    sqlite3.SQLITE_BUSY: "is locked by another program",
    sqlite3.SQLITE_LOCKED: "is locked by another program",
    sqlite3.SQLITE_READONLY: "is read-only",
    sqlite3.SQLITE_PERM: "may not be written by this user",
    sqlite3.SQLITE_FULL: "does not fit on the disk, which is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written, the disk reports an error",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_NOTADB: "is not an SQLite database",
    sqlite3.SQLITE_CORRUPT: "is damaged, restore it from a backup",
}


class LockedError(StorageError):
    """Another process held the write lock for longer than the lock timeout."""


class ConstraintError(StorageError):
    """A key exists already, or a trigger aborted the statement."""


ERROR_TYPES: Mapping[int, type[StorageError]] = {
    sqlite3.SQLITE_BUSY: LockedError,
    sqlite3.SQLITE_LOCKED: LockedError,
    sqlite3.SQLITE_CONSTRAINT: ConstraintError,
}


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Convert errors of SQLite and the file system into a StorageError that a user can act on."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"the database {name} cannot be opened: {error.strerror}") from error
    except UnicodeDecodeError as error:  # damaged text in the file
        raise StorageError(f"the database {name} {ERROR_TEXTS[sqlite3.SQLITE_CORRUPT]} ({error})") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the upper bits are details
        kind = ERROR_TYPES.get(code, StorageError)
        raise kind(f"the database {name} {ERROR_TEXTS.get(code, 'cannot be used')} ({error})") from error


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
    def __init__(self, db: aiosqlite.Connection, name: str) -> None:
        self._db = db
        self._name = name
        self._is_closed = False

    @classmethod
    async def open(cls, path: str, *, lock_timeout: float) -> Self:
        """Open a database. Every call waits up to `lock_timeout` seconds for the lock.

        Raises:
            StorageError: it cannot be opened, or SQLite is unsuitable.
        """
        with translate_errors(path):
            # No isolation level: only `transaction` begins transactions.
            db = await aiosqlite.connect(path, timeout=0, isolation_level=None)
        self = cls(db, path)
        try:
            await self._prepare(lock_timeout)
        except BaseException:
            await self.close()
            raise
        return self

    async def _prepare(self, lock_timeout: float) -> None:
        require_sqlite(
            sqlite3.sqlite_version_info, [name for (name,) in await self.fetch_all("pragma module_list")]
        )
        deadline = anyio.current_time() + lock_timeout
        while True:
            # When two processes open a new file, SQLite may report it as locked without waiting.
            try:
                await self.fetch_all("pragma journal_mode = wal")
                break
            except LockedError:
                if anyio.current_time() >= deadline:
                    raise
                await anyio.sleep(RETRY_SECONDS)
        await self.fetch_all(f"pragma busy_timeout = {round(lock_timeout * 1000)}")
        await self.fetch_all("pragma synchronous = full")

    async def fetch_all(self, sql: str, *values: str | bytes | float | None) -> list[Any]:
        """Run one statement and return its rows. Outside a transaction it is committed on return."""
        self._require_open()
        # A lone surrogate, which JSON allows, matches no name and must not raise.
        given = [v.encode(errors="backslashreplace").decode() if isinstance(v, str) else v for v in values]
        with translate_errors(self._name):
            return list(await self._db.execute_fetchall(sql, given))

    async def execute_many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._require_open()
        with translate_errors(self._name):
            await self._db.executemany(sql, rows)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Commit on success, else roll back. The caller keeps other users off this connection."""
        try:
            # Inside the try: on cancellation the driver's thread still begins the transaction.
            await self.fetch_all("begin immediate")
            yield
            await self.fetch_all("commit")
        except BaseException:
            with translate_errors(self._name), anyio.CancelScope(shield=True):
                if not self._is_closed:
                    await self._db.rollback()  # no effect outside a transaction
            raise

    async def close(self) -> None:
        self._is_closed = True
        # Shielded: an open connection keeps the process alive.
        with translate_errors(self._name), anyio.CancelScope(shield=True):
            await self._db.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise StorageError(f"the database {self._name} was closed")
