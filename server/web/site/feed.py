"""Changes in the database, made by any process, as server-sent events; and the words that are being written here.

An event names the debates that have changed, and the page then asks for what is new. So nothing piles up for a slow
page, and a page that was away for a while asks for the same as any other.
"""

import json
import logging
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

import anyio
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.types import Receive, Scope, Send

from server.debate.facts.errors import DebateError
from server.debate.rules.calls import pending_calls
from server.debate.views.writing import show_piece
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.redaction import redact_error

MAX_KEPT = 4_000  # characters of an answer that is being written
MAX_SHOWN = 600  # of them, the last
MAX_SEATS = 60  # that write at once; those that wrote last are kept


class Words:
    """`number` grows with each `event`, which is about everything that is being written."""

    def __init__(self, manager: DebateManager) -> None:
        self.number, self.event = 0, b""
        self._manager = manager
        self._pieces: dict[tuple[str, str], str] = {}  # by debate and seat
        self._versions: dict[str, int] = {}  # of debates that write
        self._is_new = False
        self._end: Callable[[], None] | None = None
        manager.store.subscribe(self._drop_answered)

    def listen(self, *, wanted: bool) -> None:
        """Take words while somebody follows: replies are streamed only while somebody takes them."""
        if wanted and not self._end:
            self._end = self._manager.subscribe_to_text(self._take)
        elif not wanted and self._end:
            self._end()
            self._end, self._pieces, self._is_new = None, {}, True

    async def update(self) -> bool:
        """Build the event anew; False if nothing was written or answered since."""
        if not self._is_new:
            return False
        self._is_new, shown = False, dict[str, dict[str, str]]()
        for (debate_id, seat), piece in [*self._pieces.items()]:
            try:
                debate = (await self._manager.load(debate_id)).debate
            except DebateError:  # the feed tells of it
                continue
            calls = () if debate.ended else pending_calls(debate)
            if call := next((call for call in calls if call.seat == seat), None):
                text = redact_error(show_piece(debate, call, piece))
                shown.setdefault(debate_id, {})[seat] = text[-MAX_SHOWN:]
        self.number += 1
        self.event = f"event: words\ndata: {json.dumps(shown)}\n\n".encode()
        return True

    def _take(self, debate_id: str, seat: str, chunk: str) -> None:
        key = (debate_id, seat)
        self._pieces[key] = (self._pieces.pop(key, "") + chunk)[-MAX_KEPT:]
        if len(self._pieces) > MAX_SEATS:
            del self._pieces[next(iter(self._pieces))]
        self._is_new = True

    def _drop_answered(self, snapshot: DebateSnapshot) -> None:
        seen = self._versions.get(snapshot.id, 0)
        for entry in snapshot.entries[seen:]:
            if self._pieces.pop((snapshot.id, getattr(entry.event, "seat", "")), None) is not None:
                self._is_new = True
        self._versions[snapshot.id] = snapshot.debate.version
        if snapshot.debate.ended:
            del self._versions[snapshot.id]


POLL_INTERVAL = 0.2  # seconds between looks for what other processes have written
PING_INTERVAL = 15.0  # seconds between comments, which detect pages that are gone
SEND_TIMEOUT = 30.0  # seconds for a page to take an event, or it is disconnected
RETRY_MS = 1_000  # milliseconds after which a browser connects again

EVERYTHING = None  # in place of ids: any debate may have changed

UNKNOWN_POSITION = -1

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Follower:
    """What a page has not been sent yet. `ids`: of the debates that have changed since its last event."""

    ids: frozenset[str] | None = EVERYTHING
    is_behind: bool = True
    words_number: int = 0  # of the last words that it was sent


class ChangeFeed:
    """Polls once for all followers, and not at all while there are none. `run` must run while the feed is used."""

    def __init__(self, manager: DebateManager) -> None:
        self.manager, self.words = manager, Words(manager)
        self.trouble = ""  # why the database cannot be read now
        self.followers = set[Follower]()
        self.position = UNKNOWN_POSITION  # in the journal
        self._runs: set[str] | None = None  # the debates that a process runs
        self._woken, self._changed, self._is_closed = anyio.Event(), anyio.Event(), False
        manager.store.subscribe(lambda _snapshot: self._wake())
        manager.presence.reopening_listeners.append(self._reset_position)

    async def run(self) -> None:
        """Never returns."""
        while True:
            woken = self._woken
            self.words.listen(wanted=bool(self.followers))
            if self.followers:
                await self._poll()
                if await self.words.update():
                    self._tell()
            with anyio.move_on_after(POLL_INTERVAL if self.followers else None):
                await woken.wait()

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        self._changed.set()

    async def follow(self) -> AsyncGenerator[bytes]:
        """Events from now on. The first says that any debate may have changed."""
        follower = Follower()
        self.followers.add(follower)
        self._wake()
        try:
            while not self._is_closed:
                event_of_change = self._changed
                if follower.is_behind:
                    ids, follower.ids, follower.is_behind = follower.ids, frozenset(), False
                    data = {"debates": ids if ids is EVERYTHING else sorted(ids), "trouble": self.trouble}
                    yield f"retry: {RETRY_MS}\ndata: {json.dumps(data)}\n\n".encode()
                elif follower.words_number != self.words.number:
                    follower.words_number = self.words.number
                    yield self.words.event
                else:
                    await event_of_change.wait()
        finally:
            self.followers.remove(follower)

    async def _poll(self) -> None:
        try:
            self.manager.store.check_presence()
            position, owners = await self.manager.store.find_changes(self.position)
            runs = await self.manager.find_runs()
        except DebateError as error:
            self._note((), redact_error(str(error)))
            return
        changed_runs = runs ^ (self._runs if self._runs is not None else runs)
        is_fresh = self.position == UNKNOWN_POSITION
        self.position, self._runs = position, runs
        self._note(EVERYTHING if is_fresh or self.trouble else {*owners, *changed_runs}, "")

    def _note(self, ids: Collection[str] | None, trouble: str) -> None:
        if ids or ids is EVERYTHING or trouble != self.trouble:
            self.trouble = trouble
            for each in self.followers:
                each.is_behind = True
                each.ids = EVERYTHING if ids is EVERYTHING or each.ids is EVERYTHING else each.ids.union(ids)
            self._tell()

    def _tell(self) -> None:
        """Wake all followers."""
        self._changed.set()
        self._changed = anyio.Event()

    def _wake(self) -> None:
        self._woken.set()
        self._woken = anyio.Event()

    def _reset_position(self) -> None:
        """Another database is used now, whose entries are numbered anew."""
        self.position, self._runs = UNKNOWN_POSITION, None


class EventStream(EventSourceResponse):
    """Sends events as they come, until they end, the client leaves, or a signal ends the process.

    A client that takes nothing is disconnected.
    """

    def __init__(self, events: AsyncGenerator[bytes], *, send_timeout: float = SEND_TIMEOUT) -> None:
        super().__init__(events, ping=PING_INTERVAL, send_timeout=send_timeout)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The server closes the connection of a response that is not complete.
        with suppress(SendTimeoutError):
            await super().__call__(scope, receive, send)
