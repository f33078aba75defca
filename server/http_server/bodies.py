"""Bodies of requests: of a limited size, also where the size is not told before, and within a limited time."""

from http import HTTPStatus

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http_server.gate import refuse

BODY_SECONDS = 30.0
MAX_DECLARED_DIGITS = 18


class BoundedBodies:
    """Hands whole bodies of at most `max_bytes` on to `app`, which finds them in the scope as `body`, too."""

    def __init__(self, app: ASGIApp, *, max_bytes: int, seconds: float = BODY_SECONDS) -> None:
        self.app, self.max_bytes, self.seconds = app, max_bytes, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, problem = bytearray(), None
        declared = Headers(scope=scope).get("content-length", "0")
        if len(declared) > MAX_DECLARED_DIGITS or (declared.isdecimal() and int(declared) > self.max_bytes):
            problem = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        has_more = problem is None
        with anyio.move_on_after(self.seconds) as patience:
            while has_more:
                message = await receive()
                if message["type"] != "http.request":
                    return  # the client has left
                body += message.get("body", b"")
                has_more = message.get("more_body", False)
                if len(body) > self.max_bytes:
                    problem, has_more = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, False
        if patience.cancelled_caught:
            problem = HTTPStatus.REQUEST_TIMEOUT
        if problem:
            limit = f"{self.max_bytes:,} bytes (COUNTERPOINT_MAX_BODY)"
            text = (
                f"A request has at most {limit}."
                if problem == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
                else (f"The request did not arrive within {self.seconds:g} seconds.")
            )
            await refuse(problem, text, scope)(scope, receive, send)
            return
        whole: Message | None = {"type": "http.request", "body": bytes(body), "more_body": False}

        async def replay() -> Message:
            nonlocal whole
            if whole is None:
                return await receive()
            message, whole = whole, None
            return message

        await self.app({**scope, "body": bytes(body)}, replay, send)
