"""Who may use a site on 127.0.0.1. Every program of this machine can connect to it, and any web page through a browser.

A request is let in if its path begins with the token and its `Host` is this host and port: a page of another site that
points its own name here (DNS rebinding) sends that name. A request that changes something must also come from a page
of this site, as the browser states in `Origin`.
"""

from hmac import compare_digest
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.access.response_headers import PROTECTIVE_HEADERS, add_headers

HOST = "127.0.0.1"
HTTP_PORT = 80  # which browsers leave out
READING = ("GET", "HEAD")

HEADERS = PROTECTIVE_HEADERS | {
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
}
"""Of every response that does not say otherwise. The address holds the token: no other site is told it."""


class AccessGuard:
    """Lets requests with the token in to `app`, which finds `/TOKEN` in `root_path`."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.host = HOST if port == HTTP_PORT else f"{HOST}:{port}"
        self.origin = f"http://{self.host}"
        self.address = f"{self.origin}/{token}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                add_headers(message, HEADERS)
                if message["status"] >= HTTPStatus.BAD_REQUEST and scope["method"] not in READING:
                    # Else the rest of a body that nobody reads is waited for.
                    MutableHeaders(scope=message)["connection"] = "close"
            await send(message)

        if scope["type"] != "http":
            raise RuntimeError(f"The site has no {scope['type']}.")
        if refusal := self.find_refusal(scope):
            await refusal(scope, receive, send_guarded)
            return
        inside = {**scope, "root_path": f"{scope.get('root_path', '')}/{self.token}"}
        await self.app(inside, receive, send_guarded)

    def find_refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if headers.getlist("host") != [self.host]:
            return PlainTextResponse(f"This server answers for {self.host} only.", 421)
        first = scope["path"].removeprefix("/").partition("/")[0]
        if not compare_digest(first.encode(errors="replace"), self.token.encode()):
            text = (
                "Open the address that `counterpoint view` printed: it holds a token, and this one does not."
            )
            return PlainTextResponse(text, 403)
        origins = headers.getlist("origin")
        if origins != [self.origin] and (origins or scope["method"] not in READING):
            return PlainTextResponse("Only pages of this server may do that.", 403)
        return None
