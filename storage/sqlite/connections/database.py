"""The connections to one SQLite file: opening, reopening after a loss, checkpoints; and copies of it."""

import os
import re
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import aiosqlite
import anyio

from storage.database import Database, LockName, Session, T
from storage.errors import StorageError, StorageLostError
from storage.sqlite.connections.connection import (
    CheckFile,
    Connection,
    DamagedError,
    Outage,
    translate_errors,
)
from storage.sqlite.connections.database_file import (
    DatabaseFile,
    ensure_file_exists,
    has_log,
    is_on_read_only_media,
)
from storage.sqlite.connections.statements import encode_values, translate

IN_MEMORY = ":memory:"
CHECKPOINT_RETRY_DELAYS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Seconds. A reader that is in the middle of the log holds up a checkpoint."""

Prepare = Callable[[Connection], Awaitable[None]]

SELECT_SCHEMA = "select name, sql from main.sqlite_schema where sql is not null order by name"

DATA = re.compile(r"create (virtual )?table\b|create (unique )?index\b")
"""What runs nothing by itself. SQLite goes by the statement, whatever else a row of the schema says."""


class ForeignProgramError(StorageError):
    """The file holds code that another program has put there."""


def normalize_sql(sql: str) -> str:
    """SQL without what its layout adds: SQLite keeps the text as it was given, but for its first words."""
    return " ".join(sql.split()).casefold()


class SqliteSession(Session):
    """A transaction. Nobody else writes until its end: there is nothing to lock."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *values: Any) -> list[Any]:
        return list(await self._connection.execute_fetchall(translate(sql), encode_values(values)))

    async def fetch_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        await self._connection.executemany(translate(sql), map(encode_values, rows))

    async def lock(self, name: LockName) -> None:
        pass

    async def try_lock(self, name: LockName) -> bool:  # noqa: ARG002
        return True


class SqliteDatabase(Database):
    """Two connections, so that reads and appends do not wait for each other. An in-memory database has one.

    `writer`: for what has to survive a power failure when it returns.
    `reader`: for reading, and for what concerns only processes that are alive, which needs no disk sync.
    """

    writer: Connection
    reader: Connection

    def __init__(
        self,
        path: str,
        prepare: Prepare,
        lock_timeout: float,
        programs: Collection[str],
        clock: Callable[[], float],
    ) -> None:
        self.path = path
        self.clock = clock
        self._programs = programs
        self._prepare = prepare
        self.lock_timeout = lock_timeout
        self._outage = Outage(path)
        self._file = DatabaseFile(path)
        self._failure = ""  # why nothing is open after a loss

    @classmethod
    async def open(
        cls,
        path: str,
        *,
        prepare: Prepare,
        lock_timeout: float,
        programs: Collection[str],
        clock: Callable[[], float],
    ) -> Self:
        """Open or create a file. `prepare` gets the writer when it has been opened, and reopened.

        `programs`: the triggers and views that may be in it, as SQL. A file with others is refused: they would run with
        our statements, and whoever has made the file could have them do anything to what is stored.

        Raises StorageError.
        """
        self = cls(path, prepare, lock_timeout, programs, clock)
        await self._connect()
        self._outage.is_open = True
        return self

    async def _connect(self) -> None:
        path = Path(self.path)
        is_file = self.path != IN_MEMORY
        with translate_errors(self.path):
            self.is_read_only = is_file and is_on_read_only_media(path)
            is_behind = self.is_read_only and has_log(path)
        if is_behind:
            raise StorageError(
                f"the database {path} cannot be written here, and its newest entries are in {path}-wal: copy "
                "both into a directory that can be written"
            )
        if is_file:
            ensure_file_exists(path)
        file = DatabaseFile(self.path)
        file.remember()
        async with AsyncExitStack() as opened:

            async def connect(check_file: CheckFile, synchronous: str) -> Connection:
                made = await Connection.open(
                    self.path,
                    check_file,
                    self._outage,
                    lock_timeout=self.lock_timeout,
                    synchronous=synchronous,
                    immutable=self.is_read_only,
                )
                opened.push_async_callback(made.close)
                return made

            writer = reader = await connect(file.check_with_log, "full")
            await self._check_programs(writer)
            await self._prepare(writer)
            if is_file and not self.is_read_only:
                reader = await connect(file.check, "normal")
                file.remember_log()
                for connection in (writer, reader):
                    connection.take_turns()
            opened.pop_all()
        self.writer, self.reader, self._file = writer, reader, file

    async def _check_programs(self, writer: Connection) -> None:
        """Raises ForeignProgramError."""
        known = {normalize_sql(sql) for sql in self._programs}
        for name, sql in await writer.fetch_all(SELECT_SCHEMA):
            statement = normalize_sql(str(sql))
            if not DATA.match(statement) and statement not in known:
                kind = "view" if "view" in statement.partition(" as ")[0] else "trigger"
                raise ForeignProgramError(
                    f"the database {self.path} holds a {kind} that is not of this release, {str(name)[:60]!r}, and is "
                    "not opened: it would run with every statement. Have its debates exported, or copied with "
                    "`counterpoint db copy` where it was made"
                )

    async def read(self, sql: str, *values: Any, is_long: bool = False) -> list[Any]:  # noqa: ARG002
        return await self.reader.fetch_all(translate(sql), *encode_values(values))

    async def write(self, sql: str, *values: Any, is_durable: bool = True) -> list[Any]:
        return await self._choose(is_durable=is_durable).write(translate(sql), *encode_values(values))

    async def transact(
        self,
        body: Callable[[Session], Awaitable[T]],
        *,
        is_durable: bool = True,
        is_long: bool = False,  # noqa: ARG002
    ) -> T:
        async with self._choose(is_durable=is_durable).transaction() as connection:
            return await body(SqliteSession(connection))

    def _choose(self, *, is_durable: bool) -> Connection:
        return self.writer if is_durable else self.reader

    def find_time(self, now: float | None) -> float:
        return self.clock() if now is None else now

    @asynccontextmanager
    async def erase_freed_space(self) -> AsyncIterator[None]:
        await self.writer.fetch_all("pragma secure_delete = on")
        try:
            yield
        finally:
            await self.writer.fetch_all("pragma secure_delete = off")

    def check(self) -> None:
        """Raise StorageLostError if the file is not the one that was opened, or its log is not."""
        if self._failure:
            raise StorageLostError(self._failure)
        self._file.check_with_log()

    async def reopen(self, before_another: Callable[[], Awaitable[None]]) -> bool:
        """Open the file that is there now, or a new one; whether it is another one than before.

        `before_another` is awaited before another one is opened. Raises StorageError.
        """
        with suppress(StorageLostError):
            self.check()
            return False
        is_another = bool(self._failure) or not self._file.is_in_place()
        if is_another:
            await before_another()
        is_open = not self._failure
        self._failure = f"the database {self.path} is being opened anew"
        try:
            if is_open:
                await self._disconnect(is_another=is_another)
            await self._connect()
            if is_another:
                await self._check_pages()
        except StorageError as error:
            self._failure = str(error)
            with suppress(StorageError):
                await self.close()
            raise
        self._failure = ""
        return is_another

    async def _disconnect(self, *, is_another: bool) -> None:
        if is_another:
            with translate_errors(self.path):
                self._file.set_remains_aside()
        else:  # what is in a log that nobody else can find any more is copied into the file
            with suppress(StorageError):
                await self.reader.fetch_all("pragma wal_checkpoint(truncate)")
        with suppress(StorageError):
            await self.close()

    async def _check_pages(self) -> None:
        """Raises DamagedError: a file that was cut short can look whole until a missing page is needed."""
        problems = await self.reader.fetch_all("pragma quick_check(1)")
        if problems != [("ok",)]:
            raise DamagedError(f"the database {self.path} is damaged, restore it from a backup")

    async def checkpoint(self) -> None:
        """Copy the log into the file, so that a plain copy of the file is whole. Waits for nobody for long.

        The log is emptied, too: whatever takes the place of the file, no log of old is played into it.
        """
        for delay in (*CHECKPOINT_RETRY_DELAYS, 0):
            [(is_busy, _, _)] = await self.writer.fetch_all("pragma wal_checkpoint(truncate)")
            if not is_busy:
                break
            await anyio.sleep(delay)

    async def close(self) -> None:
        try:
            await self.reader.close()
        finally:
            await self.writer.close()  # the last connection to close checkpoints the log


def copy_database(source: Path, target: Path, *, overwrite: bool) -> None:
    """Write a whole copy that only this user may read. Servers go on meanwhile: it shows one moment of theirs.

    It is made under another name beside the target, so that what has the target's name is always whole.

    Raises:
        StorageError: the source cannot be read, or the target cannot be written, or exists.
    """
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with translate_errors(str(partial)):
            partial.touch(mode=0o600, exist_ok=False)
            with closing(open_source(source)) as reading, closing(sqlite3.connect(partial)) as writing:
                reading.backup(writing)  # all pages in one step: nobody's write makes it begin again
                writing.execute("pragma journal_mode = delete")  # so that it needs no files beside it
            sync(partial)
        with translate_errors(str(target)):
            if not overwrite:
                target.touch(mode=0o600, exist_ok=False)
            partial.replace(target)
            with suppress(PermissionError):  # Windows opens no directories
                sync(target.parent)
    finally:
        with suppress(OSError):
            partial.unlink()


def open_source(path: Path) -> sqlite3.Connection:
    with translate_errors(str(path)):
        mode = "immutable=1" if is_on_read_only_media(path) else "mode=rw"
        source = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True)
        source.execute("select count(*) from sqlite_schema")  # opens it
    return source


def sync(path: Path) -> None:
    """Have a file, or the names in a directory, survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
