"""Live updates of resources, in both protocol eras, for changes made by any process, to whose debates they are.

The journal's feed of changes is polled while there are subscribers. A commit in this process triggers the
next poll at once. When a debate changes, every subscribed address of it is announced as the subscriber
wrote it, whatever view, round or format it names.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakSet

import anyio
from mcp import types
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)

from server.access.caller import read_caller
from server.debate.facts.errors import DebateError
from server.mcp.late_manager import RequestContext
from server.tools.listing import require_tasks

if TYPE_CHECKING:
    from server.engine.debates import DebateManager

SCHEME = "debate://"
POLL_INTERVAL = 0.2  # seconds between polls for changes by other processes
LIST_INTERVAL = 1.0  # seconds between announcements that the list of resources has changed
INDEX_ID = "index"  # the id of the list of debates, which changes with every debate

UNKNOWN_POSITION = -1

Address = tuple[str, str]
"""An owner, and an address as somebody who sees their debates has written it."""

logger = logging.getLogger(__name__)


class UpdateBus(InMemorySubscriptionBus):
    """The SDK's subscription bus (2026-07-28), and subscribers by `resources/subscribe` (earlier protocols)."""

    def __init__(self) -> None:
        super().__init__()
        self.listener_count = 0
        # By owner, as who listens is: an address is announced to those whose debate it names.
        self.listening: defaultdict[str, InMemorySubscriptionBus] = defaultdict(InMemorySubscriptionBus)
        self.subscribed_uris: Counter[Address] = Counter()
        self.legacy_subscribers: defaultdict[Address, WeakSet[Connection]] = defaultdict(WeakSet)
        self.stale_lists: set[str] = set()  # of owners
        self.list_announced_at = -LIST_INTERVAL
        self.position = UNKNOWN_POSITION  # in the feed of changes
        self.woken = anyio.Event()
        self.serve_listener = ListenHandler(self)
        self.is_started, self.start_lock = False, anyio.Lock()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Called in the handler of the request that listens."""
        return self.listening[read_caller().owner].subscribe(listener)

    def wake(self) -> None:
        self.woken.set()
        self.woken = anyio.Event()

    async def start(self, context: RequestContext) -> None:
        """Announce every change from now on."""
        async with self.start_lock:
            if not self.is_started:
                manager = await context.lifespan_context.get_whole()
                await self.poll(manager)  # from where
                manager.store.subscribe(lambda _snapshot: self.wake())
                manager.presence.reopening_listeners.append(self.begin_again)
                manager.keep_running(self.run, manager)
                self.is_started = True

    async def run(self, manager: "DebateManager") -> None:
        """Announce every change of the journal while the manager is open."""
        while True:
            woken = self.woken  # before the poll, which may miss what is committed meanwhile
            is_followed = self.listener_count or any(self.legacy_subscribers.values())
            is_polling = is_followed or self.position == UNKNOWN_POSITION
            if is_polling:
                await self.poll(manager)
                await self.announce_list()
            hints = manager.store.journal.watch_changes(lambda _debate_ids: self.wake())
            with hints, anyio.move_on_after(POLL_INTERVAL if is_polling else None):
                await woken.wait()

    def begin_again(self) -> None:
        """Another database is used now, whose changes are numbered anew."""
        self.position = UNKNOWN_POSITION

    async def poll(self, manager: "DebateManager") -> None:
        """Announce the changes since the last poll."""
        try:
            self.position, streams = await manager.store.find_changes(self.position)
            owners = await manager.store.find_owners(streams) if streams else {}
        except DebateError:  # the journal logs it, and the next poll may succeed
            return
        self.stale_lists.update(owners.values())
        changed = {*((owner, INDEX_ID) for owner in owners.values()), *((owners[one], one) for one in owners)}
        for address in [*{*self.subscribed_uris, *self.legacy_subscribers}] if changed else ():
            owner, uri = address
            if (owner, uri.removeprefix(SCHEME).partition("?")[0].partition("/")[0]) in changed:
                await self.announce(address)

    async def announce(self, address: Address) -> None:
        owner, uri = address
        await self.listening[owner].publish(ResourceUpdated(uri=uri))
        for connection in list(self.legacy_subscribers[address]):
            try:
                await connection.notify("notifications/resources/updated", {"uri": uri})
            except Exception:  # other subscribers are still notified
                logger.exception("Notifying a subscriber of %s failed", uri)

    async def announce_list(self) -> None:
        """Announce that the list has changed: at once, then once in a while for all changes since."""
        now = anyio.current_time()
        if self.stale_lists and now >= self.list_announced_at + LIST_INTERVAL:
            stale, self.stale_lists, self.list_announced_at = self.stale_lists, set(), now
            for owner in stale:
                await self.listening[owner].publish(ResourcesListChanged())

    async def listen(
        self, context: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        if "taskIds" in (params.notifications.model_extra or {}):
            require_tasks(context)  # then they are polled: what is not acknowledged is not announced
        await self.start(context)
        owner = read_caller().owner
        uris = Counter((owner, uri) for uri in set(params.notifications.resource_subscriptions or ()))
        self.subscribed_uris += uris
        self.listener_count += 1
        self.wake()
        try:
            return await self.serve_listener(context, params)
        finally:
            self.subscribed_uris -= uris
            self.listener_count -= 1

    async def follow(
        self, context: RequestContext, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """`resources/subscribe` of the earlier protocols."""
        await self.start(context)
        self.legacy_subscribers[read_caller().owner, params.uri].add(find_connection(context))
        self.wake()
        return types.EmptyResult()

    async def unfollow(
        self, context: RequestContext, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self.legacy_subscribers[read_caller().owner, params.uri].discard(find_connection(context))
        return types.EmptyResult()


def find_connection(context: RequestContext) -> Connection:
    """Private to the SDK, which has no public name for a client; tests/mcp/test_subscriptions.py covers it."""
    return context.session._connection  # noqa: SLF001
