"""Bodies of requests: of a limited size, also where the size is not told before, and within a limited time."""

from http import HTTPStatus

import anyio
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http_server.gate import refuse
from server.http_server.shares import PARTS, Holders, Shares, find_holders

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
