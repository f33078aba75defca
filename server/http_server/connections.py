"""Connections of a server that has no proxy in front of it: nobody may hold one without asking for something.

A client that sends its headers a byte at a time ("slow loris"), or the rest of a body that was answered already, is
left after `HEAD_SECONDS`. A body that is read has a limit of its own (`bodies`), an idle connection one of uvicorn's.

Where there are too many, those on which nothing was asked for longest make room: a server that is out of file
descriptors could not be reached at all.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from server.http_server.shares import PARTS, find_network

HEAD_SECONDS = 10.0
MAX_CONNECTIONS = 2_000
OTHER_FILES = (
    500  # descriptors for all that is no connection of a client, and for those that are being closed
)
MOST_AT_ONCE = (
    128  # that are accepted before others are closed: a few times so many are open beyond the limit
)
FEWEST = 50

logger = logging.getLogger(__name__)


def find_most_connections() -> int:
    """As many as this process may have open, after raising its own limit as far as it may."""
    try:
        import resource  # noqa: PLC0415  (Windows has none)
    except ImportError:
        return MAX_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MAX_CONNECTIONS + OTHER_FILES
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < needed:
        soft = needed if hard == unlimited else min(needed, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft == unlimited else max(min(MAX_CONNECTIONS, soft - OTHER_FILES), FEWEST)


class BoundedProtocol(H11Protocol):
    """Closes a connection on which no request has become complete in time, and idle ones where there are too many.

    `limit_concurrency` of uvicorn's configuration: from how many on it would refuse requests.
    """

    head_seconds = HEAD_SECONDS

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self.used_at, self.network = 0.0, ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the parent has it
        super().connection_made(transport)
        self.used_at, self.network = self.loop.time(), find_network(self.client[0] if self.client else "")
        self._begin()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        self.used_at = self.loop.time()
        super().data_received(data)
        if self.is_answering():
            self._end()
        elif self._deadline is None:
            self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        super().connection_lost(exc)

    def _make_room(self) -> None:
        """Where an address has more than its share, or all have too many, close the one that is idle for longest."""
        most = (self.limit_concurrency or MAX_CONNECTIONS + 1) - 1
        everybody = [one for one in self.connections if isinstance(one, BoundedProtocol)]
        crowd = [one for one in everybody if one.network == self.network]
        if len(crowd) <= most // PARTS[1]:
            if len(everybody) <= most:
                return
            crowd = everybody
        logger.warning("There are too many connections: those that are idle for longest are closed")
        idle = [one for one in crowd if one is not self and not one.is_answering()]
        # Those that asked for nothing yet go first: a client that asks often keeps its connection.
        left = min(idle, key=lambda one: (one.cycle is not None, one.used_at), default=self)
        self.connections.discard(left)
        left.transport.abort()

    def is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _begin(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self._give_up)

    def _end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.is_answering():
            self.transport.close()
