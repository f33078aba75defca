"""Sessions of the protocol before 2026-07-28, and what their clients missed while a connection was gone."""

import logging
import re
from collections import deque
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import quote, unquote
from weakref import WeakSet

from mcp import MCPError, types
from mcp.server import ServerRequestContext
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import (
    EventCallback,
    EventMessage,
    EventStore,
    StreamableHTTPServerTransport,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from server.http_server.limits import Holders, Shares, find_holders

MAX_SESSIONS = 2_000
MAX_NEWS = 200  # notifications that are kept for a session
MAX_ANSWERS = 8  # results, which are larger
RETRY_MS = 1_000  # after which a client connects again

WHOLE_IDS = re.compile(r"(session ID: .{8}).+|(ession:? [0-9a-f]{8})[0-9a-f]{24}\b")
"""As the SDK logs what clients call their sessions: whoever knows a whole one can use it where there are no tokens."""


class Kept(NamedTuple):
    number: int
    stream: str
    message: types.JSONRPCMessage | None


class RecentMessages(EventStore):
    """The last messages of one session, for a client that connects again and names the last one it has.

    One for each session: the SDK tells a store no session, and streams of several have the same names.
    """

    def __init__(self) -> None:
        self._number = 0
        self._news: deque[Kept] = deque(maxlen=MAX_NEWS)
        self._answers: deque[Kept] = deque(maxlen=MAX_ANSWERS)

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self._number += 1
        is_answer = isinstance(message, types.JSONRPCResponse | types.JSONRPCError)
        (self._answers if is_answer else self._news).append(Kept(self._number, stream_id, message))
        return build_event_id(self._number, stream_id)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        number, _, name = last_event_id.partition("-")
        stream = unquote(name)
        if not (number.isascii() and number.isdigit() and stream and int(number[:18]) <= self._number):
            return None
        for event in sorted(chain(self._news, self._answers)):
            if event.number > int(number[:18]) and event.stream == stream and event.message is not None:
                await send_callback(EventMessage(event.message, build_event_id(event.number, stream)))
        return stream


def build_event_id(number: int, stream: str) -> str:
    """A stream is named by what a client calls its request, which must not end a line of the event."""
    return f"{number}-{quote(stream, safe='')}"


class Sessions(StreamableHTTPSessionManager):
    """The SDK's sessions, each with a memory of its own, and streams that can be ended."""

    def __init__(self, server: Server[Any], *, is_stateless: bool, max_body: int) -> None:
        super().__init__(
            server,
            stateless=is_stateless,
            max_request_body_size=max_body,
            max_sessions=None,  # of an owner and of an address, too: below
            retry_interval=RETRY_MS,
        )
        for name in ("streamable_http", "streamable_http_manager"):
            logging.getLogger(f"mcp.server.{name}").addFilter(shorten_session_ids)
        self._transports: WeakSet[StreamableHTTPServerTransport] = WeakSet()
        self.shares, self._holders = Shares("sessions", MAX_SESSIONS), dict[str, Holders]()

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        """Private to the SDK, which reads `event_store` for each session; the tests of resumed streams cover it."""
        self.event_store = RecentMessages()
        transport = super()._admit_session(requestor)
        if transport:
            self._transports.add(transport)
        return transport

    async def _serve_opening_request(
        self, http_transport: StreamableHTTPServerTransport, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Private to the SDK, which bounds all sessions together; the tests of limits cover it."""
        session_id, holders = str(http_transport.mcp_session_id), find_holders(scope)
        if (refused_index := self.shares.take(holders)) is not None:
            await self._discard_session(session_id, http_transport)
            await self.shares.refuse(refused_index, scope)(scope, receive, send)
            return
        self._holders[session_id] = holders
        await super()._serve_opening_request(http_transport, scope, receive, send)

    async def _discard_session(self, session_id: str, transport: StreamableHTTPServerTransport) -> None:
        """Private to the SDK, too. It may be called more than once for a session."""
        if holders := self._holders.pop(session_id, None):
            self.shares.give_back(holders)
        await super()._discard_session(session_id, transport)

    def close_streams(self) -> None:
        """End the streams that wait for news, whose clients connect again."""
        for transport in list(self._transports):
            transport.close_standalone_sse_stream()


def shorten_session_ids(record: logging.LogRecord) -> bool:
    record.msg, record.args = WHOLE_IDS.sub(r"\1\2…", record.getMessage()), ()
    return True


async def refuse_subscriptions(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Without sessions nobody is there to be told of changes: the protocol before 2026-07-28 offers none of it then."""
    if ctx.method in ("resources/subscribe", "resources/unsubscribe"):
        raise MCPError(types.METHOD_NOT_FOUND, "This server has no sessions: it tells no changes", ctx.method)
    result = await call_next(ctx)
    if ctx.method == "initialize" and isinstance(result, dict):
        capabilities = result["capabilities"]
        return {
            **result,
            "capabilities": {**capabilities, "resources": {**capabilities["resources"], "subscribe": False}},
        }
    return result
