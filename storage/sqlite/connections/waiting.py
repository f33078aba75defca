"""How a statement waits for the locks of other connections: how long, and when it is its turn to write."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import monotonic

import anyio

from storage.sqlite.connections.database_file import LOG_SUFFIX

if sys.platform != "win32":  # pragma: no branch
    import fcntl

RETRY_DELAY = 0.002  # seconds
LONGEST_COURTESY = 0.5
"""Seconds for which others are let go first: who is before them may have been stopped (SIGSTOP) while it waited."""


class Patience:
    """How long a statement goes on trying while others have the lock."""

    def __init__(self, seconds: float) -> None:
        self._deadline = monotonic() + seconds

    @property
    def is_over(self) -> bool:
        return monotonic() + RETRY_DELAY >= self._deadline

    def end(self) -> None:
        self._deadline = 0.0

    async def pause(self) -> None:
        await anyio.sleep(RETRY_DELAY)


class Turns:
    """When a connection may write, among all connections to a file, of any process.

    SQLite keeps no turn for who finds the file locked: who has just written would be the next again, for as long as it
    has something to write. So a connection that has to wait locks the log until it has written, and the others begin
    no write meanwhile. SQLite itself does not look at this lock (`flock`), and it ends with the process. Windows has
    none: there it stays a matter of luck.
    """

    def __init__(self) -> None:
        self._queue = asyncio.Lock()  # of what this connection writes
        self._log: int | None = None  # a descriptor
        self._is_next = False

    def open(self, path: str) -> None:
        """Begin to take turns. `path`: that of the database. Raises OSError."""
        if sys.platform != "win32":  # pragma: no branch
            self._log = os.open(path + LOG_SUFFIX, os.O_RDONLY)

    def close(self) -> None:
        if self._log is not None:
            os.close(self._log)
            self._log = None

    @asynccontextmanager
    async def take(self, seconds: float) -> AsyncIterator[Patience]:
        """Wait until it is this connection's turn. Yields the patience for what is written in it."""
        patience = WriterPatience(seconds, self)
        async with self._queue:
            courtesy = Patience(LONGEST_COURTESY)
            try:
                if self.line_up():
                    self._leave()  # nobody waits
                else:
                    while not (self.line_up() or courtesy.is_over or patience.is_over):
                        await courtesy.pause()
                yield patience
            finally:
                self._leave()

    def line_up(self) -> bool:
        """Be the next to write, unless another connection is. Returns whether this one is now."""
        if self._log is not None and not self._is_next:
            with suppress(BlockingIOError):
                fcntl.flock(self._log, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._is_next = True
        return self._is_next or self._log is None

    def _leave(self) -> None:
        if self._log is not None and self._is_next:
            fcntl.flock(self._log, fcntl.LOCK_UN)
        self._is_next = False


class WriterPatience(Patience):
    """That of a connection which is the next to write from its first failure on."""

    def __init__(self, seconds: float, turns: Turns) -> None:
        super().__init__(seconds)
        self._turns = turns

    async def pause(self) -> None:
        self._turns.line_up()
        await super().pause()
