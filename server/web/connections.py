"""What servers of ours share: a socket that listens, headers, and connections on which somebody asks for something.

A client that sends its headers a byte at a time ("slow loris"), or the rest of a body that was answered already, is
disconnected after `HEAD_SECONDS`. A body that is read has a limit of its own (`http_server.limits`), and uvicorn limits
idle connections.

If there are too many connections, those that are idle for longest are closed, some at a time: a server without file
descriptors could not be reached at all.
"""

import asyncio
import heapq
import ipaddress
import logging
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from starlette.datastructures import MutableHeaders
from starlette.types import Message
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

PROTECTIVE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Make browsers keep responses from the pages of other sites."""

HEAD_SECONDS = 10.0
IPV6_NETWORK = 64  # bits of the network of one customer
ADDRESS_PART = 2  # one address may have half of the connections
MAX_CONNECTIONS = 2_000
OTHER_FILES = 500  # descriptors for everything else, and for connections that are being closed
MAX_AT_ONCE = 128  # accepted before others are closed: a few times as many may exceed the limit
MIN_CONNECTIONS = 50
CLOSED_PART = (
    100  # one of so many makes room at a time: looking at all for each new one would hold a server up
)

MAX_QUEUED = 1024  # that wait to be accepted: a client whose connection is dropped waits for seconds

logger = logging.getLogger(__name__)


def add_headers(message: Message, headers: Mapping[str, str]) -> None:
    """Add the headers that are missing to the start of a response (ASGI)."""
    own_headers = MutableHeaders(scope=message)
    for name, value in headers.items():
        own_headers.setdefault(name, value)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Port 0: any that is free. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
    )[0]
    # Name the protocol: only then asyncio sets TCP_NODELAY. Without it each answer waits 40 ms for the client.
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(MAX_QUEUED)
    except OSError:
        listener.close()
        raise
    return listener


def compute_connection_limit() -> int:
    """How many connections this process may have open, after raising its own limit of files as far as possible."""
    try:
        import resource  # noqa: PLC0415  (Windows has none)
    except ImportError:
        return MAX_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted_limit = MAX_CONNECTIONS + OTHER_FILES
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < wanted_limit:
        soft = wanted_limit if hard == unlimited else min(wanted_limit, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        MAX_CONNECTIONS
        if soft == unlimited
        else max(min(MAX_CONNECTIONS, soft - OTHER_FILES), MIN_CONNECTIONS)
    )


class BoundedProtocol(H11Protocol):
    """Closes connections without a complete request in time, and idle ones if there are too many.

    `limit_concurrency` of uvicorn's configuration is the number from which on uvicorn would refuse requests.
    """

    head_seconds = HEAD_SECONDS

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self.used_at, self.network = 0.0, ""
        self._by_network = open_connections.setdefault(self.server_state, {})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the parent has it
        super().connection_made(transport)
        self.used_at, self.network = self.loop.time(), find_network(self.client[0] if self.client else "")
        self._by_network.setdefault(self.network, set()).add(self)
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
        self._forget()
        super().connection_lost(exc)

    def _make_room(self) -> None:
        """Close those that are idle for longest, if their address has too many, or there are too many in all."""
        limit = (self.limit_concurrency or MAX_CONNECTIONS + 1) - 1
        candidates = self._by_network[self.network]
        if len(candidates) <= limit // ADDRESS_PART:
            if len(self.connections) <= limit:
                return
            candidates = set[BoundedProtocol]().union(*self._by_network.values())
        logger.warning("There are too many connections: the longest idle ones are closed")
        # Connections without any request go first: a client that asks often keeps its connection.
        oldest = heapq.nsmallest(
            1 + limit // CLOSED_PART,
            (each for each in candidates if each is not self and not each.is_answering()),
            key=lambda connection: (connection.cycle is not None, connection.used_at),
        )
        for connection in oldest or [self]:
            connection._forget()  # noqa: SLF001  (it is lost only in the next pass of the loop)
            connection.transport.abort()

    def _forget(self) -> None:
        self.connections.discard(self)
        of_network = self._by_network.get(self.network, set())
        of_network.discard(self)
        if not of_network:
            self._by_network.pop(self.network, None)

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


open_connections = WeakKeyDictionary[ServerState, dict[str, set[BoundedProtocol]]]()
"""Those of each server, by networks."""


def find_network(host: str) -> str:
    """The address itself for IPv4; for IPv6 the network of one customer, who has all its addresses."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # a proxy gave some name
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, IPV6_NETWORK), strict=False))
