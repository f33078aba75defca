"""One SQLite connection: opened for WAL, spoken to through few calls, its errors put in plain words."""

import sqlite3
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self

import aiosqlite
import anyio

from storage.journal import StorageError

MIN_SQLITE_VERSION = (3, 37, 0)
"""The first SQLite with STRICT tables."""

RETRY_SECONDS = 0.01

ERROR_TEXTS = {
    sqlite3.SQLITE_BUSY: "is locked by another program",
    sqlite3.SQLITE_LOCKED: "is locked by another program",
    sqlite3.SQLITE_READONLY: "is read-only",
    sqlite3.SQLITE_PERM: "may not be written by this user",
    sqlite3.SQLITE_FULL: "does not fit on the disk, which is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written, the disk reports an error",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_NOTADB: "is no SQLite database",
    sqlite3.SQLITE_CORRUPT: "is damaged, restore it from a backup",
}


class LockedError(StorageError):
    """Somebody else is writing, and has been for longer than we wait."""


class ConstraintError(StorageError):
    """A row does not fit what is there: a key is taken, or a trigger said no."""


ERROR_TYPES: Mapping[int, type[StorageError]] = {
    sqlite3.SQLITE_BUSY: LockedError,
    sqlite3.SQLITE_LOCKED: LockedError,
    sqlite3.SQLITE_CONSTRAINT: ConstraintError,
}


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Turn whatever SQLite or the file system raises into a StorageError that a user can act on."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"the database {name} cannot be opened: {error.strerror}") from error
    except UnicodeDecodeError as error:  # The driver met damage where it expected a text.
        raise StorageError(f"the database {name} {ERROR_TEXTS[sqlite3.SQLITE_CORRUPT]} ({error})") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # The upper bits are details.
        kind = ERROR_TYPES.get(code, StorageError)
        raise kind(f"the database {name} {ERROR_TEXTS.get(code, 'cannot be used')} ({error})") from error


def require_sqlite(version: tuple[int, ...], modules: Collection[str]) -> None:
    """Say what is missing before a statement fails for a reason that nobody understands.

    Raises:
        StorageError: this SQLite is too old or was built without full-text search.
    """
    if version < MIN_SQLITE_VERSION:
        have, want = (".".join(map(str, numbers)) for numbers in (version, MIN_SQLITE_VERSION))
        raise StorageError(f"SQLite {want} or newer is needed, this Python has {have}")
    if "fts5" not in modules:
        raise StorageError("SQLite with FTS5 (full-text search) is needed, this Python has one without")


def ensure_file_exists(path: Path) -> None:
    """Create what is missing of the file and its directory, for this user alone.

    SQLite gives its -wal and -shm files the permissions of the database.
    """
    with translate_errors(str(path)):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
    # Never open the file to look: closing it again would drop the locks that SQLite has on it.
    if not path.is_file():
        raise StorageError(f"the database {path} cannot be opened: it is no file")


class Connection:
    def __init__(self, db: aiosqlite.Connection, name: str) -> None:
        self._db = db
        self._name = name
        self._is_closed = False

    @classmethod
    async def open(cls, path: str, *, lock_timeout: float) -> Self:
        """Wait up to `patience` seconds for a lock, now and in every later call.

        Raises:
            StorageError: it cannot be opened, or SQLite is not what we need.
        """
        with translate_errors(path):
            # No isolation level: transactions are begun by `transaction` and by nothing else.
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
            # SQLite may report the switch as locked without waiting when two processes open a new file.
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
        """Every row of one statement; outside a transaction it is one by itself, done on return."""
        self._require_open()
        # JSON may bring half of a surrogate pair: nothing has such a name, and nothing breaks on it.
        given = [v.encode(errors="backslashreplace").decode() if isinstance(v, str) else v for v in values]
        with translate_errors(self._name):
            return list(await self._db.execute_fetchall(sql, given))

    async def execute_many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._require_open()
        with translate_errors(self._name):
            await self._db.executemany(sql, rows)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """All or nothing. The caller sees to it that nobody else uses this connection meanwhile."""
        try:
            # Inside the try: when we are cancelled here, the thread begins it all the same.
            await self.fetch_all("begin immediate")
            yield
            await self.fetch_all("commit")
        except BaseException:
            with translate_errors(self._name), anyio.CancelScope(shield=True):
                if not self._is_closed:
                    await self._db.rollback()  # Does nothing outside a transaction.
            raise

    async def close(self) -> None:
        # Calls that came before this line are in the connection's queue already, and are answered.
        self._is_closed = True
        # Shielded, because a connection left open keeps the process alive.
        with translate_errors(self._name), anyio.CancelScope(shield=True):
            await self._db.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise StorageError(f"the database {self._name} was closed")
