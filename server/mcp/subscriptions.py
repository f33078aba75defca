"""Live updates of resources, in both protocol eras, for changes made by any process. Owners see only their own debates.

The journal's feed of changes is polled while there are subscribers. A commit in this process triggers the next poll at
once. When a debate changes, every subscribed address of it is announced as the subscriber wrote it, whatever view,
round or format it names.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import anyio
from mcp import MCPError, types
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)

from server.caller import read_caller
from server.debate.facts.errors import DebateError
from server.mcp.late_manager import RequestContext
from server.tools.listing import require_tasks

if TYPE_CHECKING:
    from server.engine.debates import DebateManager

SCHEME = "debate://"
POLL_INTERVAL = 0.2  # seconds between polls for changes by other processes
LIST_INTERVAL = 1.0  # seconds between announcements that the list of resources has changed
INDEX_ID = "index"  # the id of the list of debates, which changes with every debate

MAX_FOLLOWED = 1_000  # addresses that a client of the earlier protocols follows at a time
MAX_URI_LENGTH = 500
UNKNOWN_POSITION = -1

Address = tuple[str, str]
"""An owner, and an address as a subscriber of this owner wrote it."""

logger = logging.getLogger(__name__)


class UpdateBus(InMemorySubscriptionBus):
    """The SDK's subscription bus (2026-07-28), and subscribers by `resources/subscribe` (earlier protocols)."""

    def __init__(self) -> None:
        super().__init__()
        self.listener_count = 0
        # By owner: a change is announced only to listeners of the debate's owner.
        self.listening: defaultdict[str, InMemorySubscriptionBus] = defaultdict(InMemorySubscriptionBus)
        self.subscribed_uris: Counter[Address] = Counter()
        # Addresses from `resources/subscribe`. Weak: a connection that ends is forgotten.
        self.followed: WeakKeyDictionary[Connection, set[Address]] = WeakKeyDictionary()
        self.stale_lists: set[str] = set()  # of owners
        self.list_announced_at = -LIST_INTERVAL
        self.position = UNKNOWN_POSITION  # in the feed of changes
        self.woken = anyio.Event()
        self.serve_listener = ListenHandler(self)
        self.is_started, self.start_lock = False, anyio.Lock()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Add a listener for the owner of the current request. The SDK calls this in the request's handler."""
        return self.listening[read_caller().owner].subscribe(listener)

    def wake(self) -> None:
        self.woken.set()
        self.woken = anyio.Event()

    async def start(self, context: RequestContext) -> None:
        """Announce every change from now on."""
        async with self.start_lock:
            if not self.is_started:
                manager = await context.lifespan_context.get_unscoped()
                await self.poll(manager)  # to find the present position in the feed
                manager.store.subscribe(lambda _snapshot: self.wake())
                manager.presence.reopening_listeners.append(self.reset_position)
                manager.keep_running(self.run, manager)
                self.is_started = True

    async def run(self, manager: "DebateManager") -> None:
        """Announce every change of the journal while the manager is open."""
        while True:
            woken = self.woken  # taken before the poll, which may miss a commit during it
            is_followed = self.listener_count or any(self.followed.values())
            is_polling = is_followed or self.position == UNKNOWN_POSITION
            if is_polling:
                await self.poll(manager)
                await self.announce_list()
            with anyio.move_on_after(POLL_INTERVAL if is_polling else None):
                await woken.wait()

    def reset_position(self) -> None:
        """Another database is used now, whose changes are numbered anew."""
        self.position = UNKNOWN_POSITION

    async def poll(self, manager: "DebateManager") -> None:
        """Announce the changes since the last poll."""
        try:
            self.position, owners = await manager.store.find_changes(self.position)
        except DebateError:  # the journal logs it, and the next poll may succeed
            return
        self.stale_lists.update(owners.values())
        changes = {(owner, name) for stream, owner in owners.items() for name in (stream, INDEX_ID)}
        for address in {*self.subscribed_uris}.union(*self.followed.values()) if changes else ():
            owner, uri = address
            if (owner, uri.removeprefix(SCHEME).partition("?")[0].partition("/")[0]) in changes:
                await self.announce(address)

    async def announce(self, address: Address) -> None:
        owner, uri = address
        await self.listening[owner].publish(ResourceUpdated(uri=uri))
        # A copy: the weak dictionary may lose connections during a notification.
        for connection in [key for key, addresses in self.followed.items() if address in addresses]:
            try:
                await connection.notify("notifications/resources/updated", {"uri": uri})
            except Exception:  # other subscribers are still notified
                logger.exception("Notifying a subscriber of %s failed", uri)

    async def announce_list(self) -> None:
        """Announce that the list has changed: at once, then at intervals for all changes since."""
        now = anyio.current_time()
        if self.stale_lists and now >= self.list_announced_at + LIST_INTERVAL:
            stale, self.stale_lists, self.list_announced_at = self.stale_lists, set(), now
            for owner in stale:
                await self.listening[owner].publish(ResourcesListChanged())

    async def listen(
        self, context: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        if "taskIds" in (params.notifications.model_extra or {}):
            require_tasks(context)  # tasks are polled: subscriptions to them are not acknowledged
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
        addresses = self.followed.setdefault(get_connection(context), set())
        if len(addresses) >= MAX_FOLLOWED or len(params.uri) > MAX_URI_LENGTH:
            text = f"At most {MAX_FOLLOWED:,} addresses of {MAX_URI_LENGTH:,} characters can be followed at a time."
            raise MCPError(types.INVALID_PARAMS, text)
        await self.start(context)
        addresses.add((read_caller().owner, params.uri))
        self.wake()
        return types.EmptyResult()

    async def unfollow(
        self, context: RequestContext, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        connection, address = get_connection(context), (read_caller().owner, params.uri)
        self.followed.get(connection, set()).discard(address)
        return types.EmptyResult()


def get_connection(context: RequestContext) -> Connection:
    """The client's connection. The attribute is private to the SDK; tests/mcp/test_subscriptions.py covers it."""
    return context.session._connection  # noqa: SLF001
