"""Requests under way, and the end of those whose token is revoked meanwhile: streams may stay open for days."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
from mcp.server.auth.provider import AccessToken
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.debate.facts.errors import DebateError
from server.http_server.gate import refuse
from server.http_server.limits import Shares, find_holders
from server.web.connections import MAX_CONNECTIONS
from storage.errors import StorageError

CHECK_INTERVAL = 2.0  # seconds between looks at the tokens of requests under way
MAX_LATE_SECONDS = 600.0  # that a request goes on after the end of its token: as long as a call may wait
ENDED = "The token was revoked, or has ended."


@dataclass(eq=False)
class OpenRequest:
    """`token`: or the id of a page session; "" without one. `verified`: what it was when the request began."""

    token: str
    verified: AccessToken | None
    scope: anyio.CancelScope


class OpenRequests:
    """`verify`: who a token is of, `are_needed`: whether one is, `most`: requests of all at a time.

    `run` runs as long as requests are answered.
    """

    def __init__(
        self,
        verify: Callable[[str], Awaitable[AccessToken | None]],
        are_needed: Callable[[], Awaitable[bool]],
        most: int = MAX_CONNECTIONS,
    ) -> None:
        self.verify, self.are_needed = verify, are_needed
        self.shares = Shares("requests", most)
        self._open = set[OpenRequest]()

    async def run(self) -> None:
        """End requests whose token is no longer good. Never returns."""
        while True:
            await anyio.sleep(CHECK_INTERVAL)
            for token in {request.token for request in self._open}:
                await self._check(token)

    async def _check(self, token: str) -> None:
        """The requests with a token. While it cannot be told whether that is good, they go on."""
        try:
            is_good = await self.verify(token) is not None if token else not await self.are_needed()
        except (DebateError, StorageError):
            return
        now = time.time()
        for request in [] if is_good else [request for request in self._open if request.token == token]:
            end = (request.verified.expires_at if request.verified else None) or now
            if not end < now <= end + MAX_LATE_SECONDS:
                request.scope.cancel()

    async def answer(
        self,
        app: ASGIApp,
        scope: Scope,
        receive: Receive,
        send: Send,
        token: str,
        verified: AccessToken | None,
    ) -> None:
        """Have `app` answer a request, as long as its token is good; then it is refused, or its answer ends."""
        holders = find_holders(scope)
        if (refused_index := self.shares.take(holders)) is not None:
            await self.shares.refuse(refused_index, scope)(scope, receive, send)
            return
        try:
            await self._answer(app, scope, receive, send, OpenRequest(token, verified, anyio.CancelScope()))
        finally:
            self.shares.give_back(holders)

    async def _answer(
        self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, request: OpenRequest
    ) -> None:
        first_message: Message | None = None
        is_complete = False

        async def pass_on(message: Message) -> None:
            nonlocal first_message, is_complete
            first_message = first_message or message
            is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        with request.scope as cancelling:
            self._open.add(request)
            try:
                await app(scope, receive, pass_on)
            finally:
                self._open.discard(request)
        if not cancelling.cancelled_caught or is_complete:
            return
        if first_message is None:
            await refuse(401, ENDED, scope)(scope, receive, send)
        elif b"content-length" not in dict(first_message["headers"]):
            await send({"type": "http.response.body", "body": b""})
