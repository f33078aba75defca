"""Live updates of resources, in both protocol eras, for changes made by this process or by another.

Both come by one road: the journal's own feed of changes. A commit in this process only makes the next
look at it happen at once; while somebody is subscribed it is looked at every PULSE anyway, because
another process may have written. While nobody is, nothing is.
"""

import logging
import weakref
from collections.abc import Callable
from typing import Any

import anyio
from mcp.server import MCPServer, ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp.types import EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams

from server.hall import Hall
from server.runner import Case
from storage.journal import Journal

PULSE = 0.2
"""Seconds between looks for what other processes wrote."""

PARTS = ("", "/transcript", "/verdict", "/analysis", "/interventions", "/receipt", "/events")

log = logging.getLogger(__name__)


class Updates:
    """The SDK's subscription bus (2026-07-28), and who subscribed by `resources/subscribe` (before that)."""

    def __init__(self) -> None:
        self.listeners: dict[object, Callable[[ServerEvent], None]] = {}
        self.legacy: dict[str, weakref.WeakSet[Connection]] = {}
        self.wakeners: list[anyio.Event] = []

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        token = object()
        self.listeners[token] = listener
        self.wake()
        return lambda: self.listeners.pop(token, None) and None

    async def publish(self, event: ServerEvent) -> None:
        for listener in list(self.listeners.values()):
            listener(event)

    def wake(self) -> None:
        for event in self.wakeners:
            event.set()

    @property
    def wanted(self) -> bool:
        return bool(self.listeners) or any(self.legacy.values())

    async def run(self, hall: Hall) -> None:
        """Announce every change of the journal, for as long as the hall is open."""

        def committed(_case: Case) -> None:
            self.wake()

        hall.listeners.append(committed)
        position, _ = await hall.journal.changes(-1)
        while True:
            position = await self.look(hall.journal, position)
            awake = anyio.Event()
            self.wakeners.append(awake)
            with anyio.move_on_after(PULSE if self.wanted else None):
                await awake.wait()
            self.wakeners.remove(awake)

    async def look(self, journal: Journal, position: int) -> int:
        """Announce what has changed since a position; the position to look from next time."""
        if not self.wanted:
            return position
        try:
            position, streams = await journal.changes(position)
        except Exception:  # a busy database now is no reason to stop announcing later
            log.exception("The journal's changes could not be read")
            return position
        if streams:
            await self.publish(ResourcesListChanged())
            await self.announce("debate://index")
        for stream in streams:
            for part in PARTS:
                await self.announce(f"debate://{stream}{part}")
        return position

    async def announce(self, uri: str) -> None:
        await self.publish(ResourceUpdated(uri=uri))
        for connection in list(self.legacy.get(uri, ())):
            await connection.notify("notifications/resources/updated", {"uri": uri})

    def add_handlers(self, mcp: MCPServer[Hall]) -> None:
        """`resources/subscribe` of the older protocols, for which MCPServer has no hook.

        `_lowlevel_server` and `_connection` are private to the SDK; `tests/server/test_updates.py` notices
        when they go.
        """

        async def subscribe(
            ctx: ServerRequestContext[Hall, Any], params: SubscribeRequestParams
        ) -> EmptyResult:
            self.legacy.setdefault(str(params.uri), weakref.WeakSet()).add(ctx.session._connection)  # noqa: SLF001
            self.wake()
            return EmptyResult()

        async def unsubscribe(
            ctx: ServerRequestContext[Hall, Any], params: UnsubscribeRequestParams
        ) -> EmptyResult:
            self.legacy.get(str(params.uri), weakref.WeakSet()).discard(ctx.session._connection)  # noqa: SLF001
            return EmptyResult()

        lowlevel = mcp._lowlevel_server  # noqa: SLF001
        lowlevel.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
        lowlevel.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
