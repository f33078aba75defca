"""What callers may take of a server: connections and bytes at a time, a place in turn, requests a minute.

Of all there is at a time, an address has half at most, an owner a quarter. Requests are begun a few at a time, and
owners in turn: one who sends hundreds at once does not hold up another. A request has its place until it is answered
or only waits (`server.turns.give_way`), and for a second at most.
"""

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

import anyio
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.caller import read_caller
from server.http_server.gate import refuse
from server.models.concurrency import ConcurrencyLimit
from server.turns import leave_place
from server.web.connections import ADDRESS_PART, find_network
from storage.errors import StorageError
from storage.rates import Rates

PARTS = (1, ADDRESS_PART, 4)
"""Of which the server, an address and an owner have one each."""

TOO_MUCH = (
    "This server has no room for more {what} now. Call again in a moment.",
    "Your address has too many {what} on this server. Wait until some have ended.",
    "You have too many {what} on this server. Wait until some have ended.",
)

HOLDERS = ("The server", "An address", "An owner")

Holders = tuple[str, str, str]
"""The server, an address, an owner."""

logger = logging.getLogger(__name__)


class Shares:
    """`total`: of `what`, for all together."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total = what, total
        self._held = Counter[str]()

    def take(self, holders: Holders, amount: int = 1) -> int | None:
        """Hold so much more, until `give_back`. Returns None, or the index of the holder who may not."""
        for index, (holder, parts) in enumerate(zip(holders, PARTS, strict=True)):
            if self._held[holder] + amount > self.total // parts:
                return index
        for holder in holders:
            self._held[holder] += amount
        return None

    def give_back(self, holders: Holders, amount: int = 1) -> None:
        self._held.subtract(dict.fromkeys(holders, amount))
        for holder in holders:
            if not self._held[holder]:
                del self._held[holder]

    def refuse(self, index: int, scope: Scope) -> JSONResponse:
        """`index`: what `take` returned. The rest of a body is not waited for."""
        logger.warning("%s has too many %s: requests are refused", HOLDERS[index], self.what)
        response = refuse(429 if index else 503, TOO_MUCH[index].format(what=self.what), scope)
        response.headers["retry-after"] = "1"
        response.headers["connection"] = "close"
        return response


def find_holders(scope: Scope) -> Holders:
    """Who holds what the request takes that is being answered."""
    host = scope["client"][0] if scope.get("client") else ""
    return "server", f"address {find_network(host)}", f"owner {read_caller().owner}"


BODY_SECONDS = 30.0
MAX_DECLARED_DIGITS = 18
MAX_HELD = 256 * 2**20  # bytes of all requests that are read or answered


class BrokenOffError(Exception):
    """The client has left before its body had arrived."""


class BoundedBodies:
    """Hands whole bodies of at most `max_bytes` on to `app`, which finds them in the scope as `body`, too."""

    def __init__(self, app: ASGIApp, *, max_bytes: int, seconds: float = BODY_SECONDS) -> None:
        self.app, self.max_bytes, self.seconds = app, max_bytes, seconds
        self.shares = Shares("bytes of requests", max(MAX_HELD, max(PARTS) * max_bytes))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        read, holders = bytearray(), find_holders(scope)
        try:
            refusal = await self._read(read, holders, scope, receive)
            if refusal:
                await refusal(scope, receive, send)
                return
            body = bytes(read)
            await self.app({**scope, "body": body}, replay(body, receive), send)
        except BrokenOffError:
            return  # nobody waits for an answer
        finally:
            self.shares.give_back(holders, len(read))

    async def _read(
        self, body: bytearray, holders: Holders, scope: Scope, receive: Receive
    ) -> JSONResponse | None:
        """Read a body; returns why it is refused. Raises BrokenOffError."""
        declared = Headers(scope=scope).get("content-length", "0")
        if len(declared) > MAX_DECLARED_DIGITS or (declared.isdecimal() and int(declared) > self.max_bytes):
            return self._refuse_size(scope)
        has_more = True
        with anyio.move_on_after(self.seconds) as patience:
            while has_more:
                message = await receive()
                if message["type"] != "http.request":
                    raise BrokenOffError
                piece, has_more = message.get("body", b""), message.get("more_body", False)
                if (refused := self.shares.take(holders, len(piece))) is not None:
                    return self.shares.refuse(refused, scope)
                body += piece
                if len(body) > self.max_bytes:
                    return self._refuse_size(scope)
        if not patience.cancelled_caught:
            return None
        text = f"The request did not arrive within {self.seconds:g} seconds."
        response = refuse(HTTPStatus.REQUEST_TIMEOUT, text, scope)
        response.headers["connection"] = "close"  # the rest of it may take any time
        return response

    def _refuse_size(self, scope: Scope) -> JSONResponse:
        text = f"A request has at most {self.max_bytes:,} bytes (COUNTERPOINT_MAX_BODY)."
        return refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text, scope)


def replay(body: bytes, receive: Receive) -> Receive:
    """What `app` receives: the body, and then what comes after it."""
    next_message: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def receive_again() -> Message:
        nonlocal next_message
        if next_message is None:
            return await receive()
        message, next_message = next_message, None
        return message

    return receive_again


PLACES = 4  # more would only share the one core that a process has
HOLD_SECONDS = 1.0


class Admission:
    def __init__(self, app: ASGIApp, places: int = PLACES, hold_seconds: float = HOLD_SECONDS) -> None:
        self.app, self.limit, self.hold_seconds = app, ConcurrencyLimit(places), hold_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.limit.acquire(read_caller().owner)
        has_place = True

        def leave() -> None:
            nonlocal has_place
            if has_place:
                has_place = False
                self.limit.release()

        async def send_leaving(message: Message) -> None:
            leave()  # what follows the beginning of an answer may be a stream without end
            await send(message)

        timer = asyncio.get_running_loop().call_later(self.hold_seconds, leave)
        before = leave_place.set(leave)
        try:
            await self.app(scope, receive, send_leaving)
        finally:
            leave_place.reset(before)
            timer.cancel()
            leave()


MINUTE = 60.0
MAX_KEPT = 10_000
SHARE_SECONDS = 1.0


class RequestRates:
    """As many at once as the limit says, and then one whenever its share of a minute has passed.

    A token bucket, kept as the time when it is full (GCRA). `limit`: 0 for none. `shared`: None for a process alone.
    `clock`: seconds.
    """

    def __init__(
        self, limit: int, shared: Rates | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit, self.shared, self.clock = limit, shared, clock
        self._full_at: dict[str, float] = {}  # when an owner may ask for all of it at once again
        self._untold = Counter[str]()  # requests that the database does not know of

    def take(self, owner: str) -> int:
        """Count a request. Returns 0, or in how many seconds it may be made; then it is not counted."""
        if not self.limit:
            return 0
        now, share = self.clock(), MINUTE / self.limit
        full_at = max(self._full_at.get(owner, now), now)
        if (wait := full_at + share - now - MINUTE) > 1e-9:  # noqa: PLR2004  (what sums of shares are off by)
            return math.ceil(wait)
        if len(self._full_at) >= MAX_KEPT:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
        self._full_at[owner] = full_at + share
        if self.shared:
            self._untold[owner] += 1
        return 0

    async def run(self) -> None:
        """Share what is counted, as long as requests are answered. Never returns."""
        while True:
            await anyio.sleep(SHARE_SECONDS)
            with suppress(
                StorageError
            ):  # what is untold stays so, and each process counts by itself meanwhile
                await self.share()

    async def share(self) -> None:
        """Tell the database what was counted since the last time, and take over what all processes have."""
        if not (self.shared and self._untold):
            return
        counted, share = self._untold.copy(), MINUTE / self.limit
        free = await self.shared.add({owner: number * share for owner, number in counted.items()})
        self._untold = self._untold - counted
        now = self.clock()
        for owner, seconds in free.items():
            self._full_at[owner] = now + seconds + self._untold[owner] * share
        await self.shared.forget()
