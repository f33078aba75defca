"""Live updates of resources, in both protocol eras, for changes made by this process or by another.

Both come by one road: the journal's own feed of changes. A commit in this process only makes the next
look at it happen at once; while somebody is subscribed it is looked at every PULSE anyway, because
another process may have written. While nobody is, nothing is.

What is announced are the addresses that somebody asked to hear of, each as it was written: all those of
a debate that has changed, whatever part, round or format of it they name.
"""

import logging
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
from mcp.server import MCPServer, ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.context import HandlerResult
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp.types import (
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)

from server.engine.debates import DebateManager
from server.engine.store import DebateSnapshot

POLL_INTERVAL = 0.2
"""Seconds between looks for what other processes wrote."""

INDEX_ID = "index"
"""In the place of a debate's id: the list, which changes with every debate."""

UNKNOWN_POSITION = -1
"""The position before the journal has been asked for it."""

logger = logging.getLogger(__name__)


class UpdateBus:
    """The SDK's subscription bus (2026-07-28), and who subscribed by `resources/subscribe` (before that)."""

    def __init__(self) -> None:
        self.listeners: dict[object, Callable[[ServerEvent], None]] = {}
        self.subscribed_uris: Counter[str] = Counter()
        self.legacy_subscribers: dict[str, weakref.WeakSet[Connection]] = {}
        self.wake_events: list[anyio.Event] = []

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        token = object()
        self.listeners[token] = listener
        self.wake()
        return lambda: self.listeners.pop(token, None) and None

    async def publish(self, event: ServerEvent) -> None:
        for listener in list(self.listeners.values()):
            listener(event)
        await anyio.lowlevel.checkpoint()  # lets the streams send what they have before there is more

    def wake(self) -> None:
        for event in self.wake_events:
            event.set()

    @property
    def has_subscribers(self) -> bool:
        return bool(self.listeners) or any(self.legacy_subscribers.values())

    async def run(self, manager: DebateManager) -> None:
        """Announce every change of the journal, for as long as the hall is open. Raises nothing."""

        def on_commit(_snapshot: DebateSnapshot) -> None:
            self.wake()

        manager.subscribe(on_commit)
        position = UNKNOWN_POSITION
        while True:
            position = await self.poll(manager, position)
            awake = anyio.Event()
            self.wake_events.append(awake)
            with anyio.move_on_after(
                POLL_INTERVAL if self.has_subscribers or position == UNKNOWN_POSITION else None
            ):
                await awake.wait()
            self.wake_events.remove(awake)

    async def poll(self, manager: DebateManager, position: int) -> int:
        """Announce what has changed since a position; the position to look from next time."""
        if position != UNKNOWN_POSITION and not self.has_subscribers:
            return position
        try:
            position, streams = await manager.find_changes(position)
        except Exception:  # a busy database now is no reason to stop announcing later
            logger.exception("The journal's changes could not be read")
            return position
        if streams:
            await self.publish(ResourcesListChanged())
            changed = {INDEX_ID, *streams}
            for uri in {*self.subscribed_uris, *self.legacy_subscribers}:
                if parse_debate_id(uri) in changed:
                    await self.announce(uri)
        return position

    async def announce(self, uri: str) -> None:
        await self.publish(ResourceUpdated(uri=uri))
        for connection in list(self.legacy_subscribers.get(uri, ())):
            try:
                await connection.notify("notifications/resources/updated", {"uri": uri})
            except Exception:  # one client that cannot be reached keeps nobody else from hearing
                logger.exception("A subscriber of %s could not be told", uri)

    def add_handlers(self, mcp: MCPServer[DebateManager]) -> None:
        """`resources/subscribe` of the older protocols, and a note of what is listened to in the newer one.

        For the first MCPServer has no hook, and its handler of the other keeps the addresses to itself.

        `_lowlevel_server` and `_connection` are private to the SDK; `tests/mcp/test_subscriptions.py` notices
        when they go.
        """
        lowlevel = mcp._lowlevel_server  # noqa: SLF001
        served = lowlevel.get_request_handler("subscriptions/listen")
        assert served is not None

        async def listen(
            ctx: ServerRequestContext[DebateManager, Any], params: SubscriptionsListenRequestParams
        ) -> HandlerResult:
            uris = Counter(set(params.notifications.resource_subscriptions or ()))
            self.subscribed_uris += uris
            try:
                return await served.handler(ctx, params)
            finally:
                self.subscribed_uris -= uris

        async def subscribe(
            ctx: ServerRequestContext[DebateManager, Any], params: SubscribeRequestParams
        ) -> EmptyResult:
            self.legacy_subscribers = {uri: who for uri, who in self.legacy_subscribers.items() if who}
            self.legacy_subscribers.setdefault(str(params.uri), weakref.WeakSet()).add(
                ctx.session._connection  # noqa: SLF001
            )
            self.wake()
            return EmptyResult()

        async def unsubscribe(
            ctx: ServerRequestContext[DebateManager, Any], params: UnsubscribeRequestParams
        ) -> EmptyResult:
            self.legacy_subscribers.get(str(params.uri), weakref.WeakSet()).discard(ctx.session._connection)  # noqa: SLF001
            return EmptyResult()

        lowlevel.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listen)
        lowlevel.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
        lowlevel.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)


def parse_debate_id(uri: str) -> str:
    """The id in the address of a debate or of a part of it."""
    return uri.removeprefix("debate://").partition("?")[0].partition("/")[0]
