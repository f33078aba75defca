"""Messages on their way to a client that reads them from a pipe.

All waiting messages are written together, in a thread. The SDK changes threads twice for each message: the answers to
debates that end together would then delay every answer behind them.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
from anyio import to_thread
from anyio.abc import ObjectSendStream
from mcp.shared.message import SessionMessage

MAX_WAITING = 16
"""Messages that may wait for the client. While more wait, nothing is read from the client."""


@dataclass
class OutgoingMessages(ObjectSendStream[SessionMessage]):
    """`write`: writes bytes to the client, and blocks until they are written. `deliver` calls it in a thread."""

    write: Callable[[bytes], None]
    waiting: int = 0  # messages that are not written yet
    _lines: list[bytes] = field(default_factory=list)  # messages that no thread is writing yet
    _added: anyio.Event = field(default_factory=anyio.Event)  # set and replaced with each message
    _written: anyio.Event = field(default_factory=anyio.Event)  # set and replaced after each write
    _is_closed: bool = False
    _limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    async def send(self, item: SessionMessage) -> None:
        """Queue a message. Returns once fewer than MAX_WAITING messages wait. Raises ClosedResourceError."""
        if self._is_closed:
            raise anyio.ClosedResourceError
        self._lines.append(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        self.waiting += 1
        self._added.set()
        await self.wait_for_room()

    async def wait_for_room(self) -> None:
        while self.waiting >= MAX_WAITING:
            await self._written.wait()

    async def deliver(self) -> None:
        """Write messages until the stream is closed and all are written. Raises OSError if the client is gone."""
        while self._lines or not self._is_closed:
            if not self._lines:
                await self._added.wait()
                self._added = anyio.Event()
                continue
            lines, self._lines = self._lines, []
            await to_thread.run_sync(self.write, b"".join(lines), limiter=self._limiter)
            self.waiting -= len(lines)
            self._written.set()
            self._written = anyio.Event()

    async def aclose(self) -> None:
        self._is_closed = True
        self._added.set()


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all of it to a file. Raises OSError."""
    unwritten = memoryview(data)
    while unwritten:
        unwritten = unwritten[os.write(descriptor, unwritten) :]
