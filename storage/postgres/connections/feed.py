"""Tells other processes that something was written, and hears it from them: a hint, sooner than their next poll.

It may be lost, come late or come twice: polling stays the truth.
"""

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from storage.contract.errors import StorageError
from storage.postgres.connections.pool import Database, encode_text

CHANNEL = "counterpoint"
MAX_PAYLOAD = 7_000  # bytes; PostgreSQL takes less than 8,000
RETRY_INTERVAL = 1.0  # seconds before the next attempt to listen

Listener = Callable[[Collection[str]], None]
"""Called with the names of streams that another process has written to; with none where it was too many."""


class Feed:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._own = secrets.token_hex(6)  # what this process tells is no news to it
        self._listeners: list[tuple[Listener, str]] = []
        self._pending: set[str] = set()
        self._telling: asyncio.Task[None] | None = None
        self._hearing: asyncio.Task[None] | None = None

    def announce(self, streams: Collection[str]) -> None:
        """Tell others of these streams soon. Never waits, and raises nothing."""
        self._pending.update(streams)
        if self._pending and (self._telling is None or self._telling.done()):
            self._telling = asyncio.create_task(self._tell(), name="announcements")

    async def _tell(self) -> None:
        while self._pending:
            names = "\n".join(map(encode_text, self._pending))
            self._pending.clear()
            payload = f"{self._own}\n{names}" if len(names.encode()) < MAX_PAYLOAD else self._own
            with suppress(StorageError):  # who listens polls, too
                await self._db.fetch("select pg_notify($1, $2)", CHANNEL, payload)

    @contextmanager
    def watch(self, listener: Listener, stream: str = "") -> Iterator[None]:
        """Call `listener` while this is open. `stream`: only for what may be of this one."""
        self._listeners.append((listener, stream))
        if self._hearing is None:
            self._hearing = asyncio.create_task(self._hear(), name="feed")
        try:
            yield
        finally:
            self._listeners.remove((listener, stream))

    async def _hear(self) -> None:
        """Listen, on a connection of its own, until it is cancelled."""
        while True:
            with suppress(StorageError):
                async with self._db.connect() as connection:
                    await self._hear_on(connection)
            await asyncio.sleep(RETRY_INTERVAL)

    async def _hear_on(self, connection: Any) -> None:
        """Listen until the connection is lost."""
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        await connection.add_listener(CHANNEL, self._receive)
        await lost.wait()

    def _receive(self, _connection: Any, _pid: int, _channel: str, payload: str) -> None:
        own, *streams = payload.split("\n")
        if own != self._own:
            for listener, stream in tuple(self._listeners):
                if not (stream and streams) or stream in streams:
                    listener(streams)

    async def close(self) -> None:
        """Finish telling, and stop listening."""
        if self._telling:
            await asyncio.wait([self._telling])
        if self._hearing:
            self._hearing.cancel()
            await asyncio.wait([self._hearing])
