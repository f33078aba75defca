"""Serves the site on a port of this machine until the process is told to end.

Every program on this machine, and any page in its browsers, can reach it. A request is let in if its path begins with
the token and its `Host` is this host and port: a page of another site that points its own name here (DNS rebinding)
sends that name. A request that changes something must also come from a page of this site, by the browser's `Origin`.
"""

import secrets
import socket
from hmac import compare_digest
from http import HTTPStatus

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.background_tasks import BackgroundTasks
from server.debate.facts.errors import DebateError
from server.engine.debates import DebateManager
from server.web.connections import PROTECTIVE_HEADERS, BoundedProtocol, add_headers, listen
from server.web.site.routes import Visitor, build_site

HOST = "127.0.0.1"
HTTP_PORT = 80  # which browsers leave out
READING = ("GET", "HEAD")

HEADERS = PROTECTIVE_HEADERS | {
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
}
"""Headers of every response that does not set them itself. No other site may learn the address, which has the token."""


class AccessGuard:
    """Passes requests with the token on to `app`, with `/TOKEN` in `root_path`."""

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
                    # Otherwise the server would wait for the rest of a body that nobody reads.
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
        token = scope["path"].removeprefix("/").partition("/")[0]
        if not compare_digest(token.encode(errors="replace"), self.token.encode()):
            text = (
                "Open the address that `counterpoint view` printed: it holds a token, and this one does not."
            )
            return PlainTextResponse(text, 403)
        origins = headers.getlist("origin")
        if origins != [self.origin] and (origins or scope["method"] not in READING):
            return PlainTextResponse("Only pages of this server may do that.", 403)
        return None


TOKEN_BYTES = 32
MAX_CONNECTIONS = 256


def open_port(port: int) -> socket.socket:
    """A socket that listens on this machine only. `port`: 0 for any that is free. Raises DebateError."""
    try:
        return listen(HOST, port)
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise DebateError(f"Port {port} cannot be used: {reason}. Choose another with --port.") from None


class Site:
    """The site of a manager's debates on a port of this machine. `actor`: who presses its buttons, for the record."""

    def __init__(self, manager: DebateManager, listener: socket.socket, *, actor: str) -> None:
        visitor = Visitor(manager, actor, owns_machine=True)
        port, token = listener.getsockname()[1], secrets.token_urlsafe(TOKEN_BYTES)
        self.feed, self.listener = visitor.feed, listener
        self.guard = AccessGuard(build_site(lambda _request: visitor), token=token, port=port)
        config = uvicorn.Config(
            self.guard,
            http=BoundedProtocol,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,  # it would hold the token
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        self.server = uvicorn.Server(config)

    def build_address(self, debate_id: str = "") -> str:
        """The address of a debate's page; of the list for ""."""
        return f"{self.guard.address}{f'debates/{debate_id}' if debate_id else ''}"

    async def serve(self) -> None:
        """Serve until `stop` is called, or until a signal, which is then raised again."""
        async with BackgroundTasks() as tasks:
            tasks.keep_running(self.feed.run)
            await self.server.serve(sockets=[self.listener])

    def stop(self) -> None:
        self.server.should_exit = True
        self.feed.close()
