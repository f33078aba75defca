"""Serves the site on a port of this machine until the process is told to end."""

import secrets
import socket
from types import FrameType

import uvicorn

from server.background_tasks import BackgroundTasks
from server.debate.facts.errors import DebateError
from server.engine.debates import DebateManager
from server.web.connections import BoundedProtocol
from server.web.site.access import HOST, AccessGuard
from server.web.site.feed import ChangeFeed
from server.web.site.records import Records
from server.web.site.routes import Visitor, build_site

TOKEN_BYTES = 32
MAX_CONNECTIONS = 256


class SiteServer(uvicorn.Server):
    """A server that ends open streams when it is told to end. Otherwise it would wait for them."""

    def __init__(self, config: uvicorn.Config, feed: ChangeFeed) -> None:
        super().__init__(config)
        self.feed = feed

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.feed.close_soon()


def open_port(port: int) -> socket.socket:
    """A socket that listens on this machine only. `port`: 0 for any that is free. Raises DebateError."""
    # Name the protocol: only then asyncio sets TCP_NODELAY. Without it each answer waits 40 ms for the client.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        reason = (error.strerror or "it cannot be opened").lower()
        raise DebateError(f"Port {port} cannot be used: {reason}. Choose another with --port.") from None
    return listener


class Site:
    """The site of a manager's debates on a port of this machine. `actor`: who presses its buttons, for the record."""

    def __init__(self, manager: DebateManager, listener: socket.socket, *, actor: str) -> None:
        visitor = Visitor(manager, ChangeFeed(manager), Records(manager), actor, owns_machine=True)
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
        self.server = SiteServer(config, self.feed)

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
