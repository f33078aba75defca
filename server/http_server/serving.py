"""A process that serves MCP over HTTP until it is told to end, and ends without breaking off what it answers.

SIGTERM, SIGHUP: `/readyz` says 503, and models are asked nothing more. The answers that are on their way are recorded,
and each debate is left to another process, or to the next one; who waits for one follows it there. That takes
NOTICE_SECONDS at least, in which a proxy finds out, and `drain_seconds` at most; everything else is served as before.
Then calls that wait for debates are answered with what there is, and streams of news end: their clients connect
elsewhere. SIGINT, or a second signal, skips the draining.
"""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from types import FrameType

import anyio
import uvicorn
from sse_starlette.sse import AppStatus

from server.compose import open_manager
from server.debate.facts.errors import InvalidRequestError
from server.http_server.application import Service
from server.http_server.authentication import Accounts
from server.http_server.gate import MCP_PATH, Place
from server.http_server.probes import open_metrics
from server.models.own import OwnModel
from server.settings import Settings
from server.startup import handle_hangup, open_storage
from server.web.connections import (
    MAX_AT_ONCE,
    MAX_QUEUED,
    BoundedProtocol,
    compute_connection_limit,
    listen,
)
from storage.addresses import is_address

IDLE_SECONDS = 75  # until a connection on which nothing is asked is closed: longer than proxies keep theirs
NOTICE_SECONDS = 1.5  # until a proxy asks this server no more
ANSWER_SECONDS = 2  # for the last answers, once no more are begun
CLOSE_SECONDS = 3.0  # from the end of draining to the end of the process, whatever holds it up
MAX_PORT = 65_535


def parse_place(text: str) -> Place:
    """HOST:PORT; a numeric address of version 6 stands in brackets. Raises InvalidRequestError."""
    host, colon, port = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port[:6]) <= MAX_PORT) or (
        ":" in host and not is_bracketed
    ):
        raise InvalidRequestError(f"{text[:100]!r} is not an address: use HOST:PORT, such as 127.0.0.1:8080.")
    return Place(host[1:-1] if is_bracketed else host, int(port))


def open_listener(place: Place) -> socket.socket:
    """Raises InvalidRequestError."""
    try:
        return listen(place.host, place.port)
    except OSError as error:
        raise InvalidRequestError(f"{place.netloc} cannot be listened on: {error.strerror}.") from None


class HttpServer(uvicorn.Server):
    """Drains at a signal, and remembers which it was."""

    def __init__(
        self,
        service: Service,
        drain_seconds: float,
        protocol: type[BoundedProtocol] = BoundedProtocol,
    ) -> None:
        most_requests = service.accounts.requests.shares.total
        config = uvicorn.Config(
            service.app,
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,  # addresses and names of callers are nobody's business
            server_header=False,
            proxy_headers=True,  # of proxies on this machine, and of those that FORWARDED_ALLOW_IPS names
            limit_concurrency=most_requests + 1,
            backlog=MAX_AT_ONCE,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=ANSWER_SECONDS,
        )
        super().__init__(config)
        # Else it cuts the streams of the older era when draining ends, those too on which an answer is being written.
        AppStatus.enable_automatic_graceful_drain = False
        self.service, self.drain_seconds = service, drain_seconds
        self.announcement = ""  # for stdout, as soon as requests and signals are taken
        self.signal_number = 0
        self._told, self._hurried = anyio.Event(), anyio.Event()
        self._loop = asyncio.get_running_loop()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(MAX_QUEUED)  # uvicorn has made it as short as what is accepted at once
        sys.stdout.write(self.announcement)
        sys.stdout.flush()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  (as uvicorn calls it)
        self._loop.call_soon_threadsafe(self._begin_drain, sig)

    def _begin_drain(self, signal_number: int) -> None:
        if self.signal_number or signal_number == signal.SIGINT:
            self._hurried.set()
        self.signal_number = self.signal_number or signal_number
        self.service.readiness.is_draining = True
        self._told.set()

    async def drain(self) -> None:
        """Wait for a signal, and end the server when those who send requests had time to find out."""
        await self._told.wait()
        with anyio.move_on_after(self.drain_seconds):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hand_over)
                await self._hurried.wait()
                tasks.cancel_scope.cancel()
        self.should_exit = True

    async def _hand_over(self) -> None:
        notice_ends_at = anyio.current_time() + NOTICE_SECONDS
        await self.service.manager.hand_over()
        await anyio.sleep_until(notice_ends_at)
        self._hurried.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.service.close_streams()  # nobody opens another: the next step closes the listening socket
        await super().shutdown(sockets)


async def end_at_signal(server: HttpServer) -> None:
    """Have the process end in time, whatever holds it up: the database stays consistent."""
    await server.drain()
    watchdog = threading.Timer(ANSWER_SECONDS + CLOSE_SECONDS, os._exit, (128 + server.signal_number,))
    watchdog.daemon = True
    watchdog.start()


async def serve(
    settings: Settings,
    place: Place,
    *,
    is_stateless: bool = False,
    models: Mapping[str, OwnModel] | None = None,
) -> int:
    """Serve until a signal, and return the exit code. Without `is_stateless` as the settings say.

    Raises InvalidRequestError, InvalidSettingsError, StorageUnavailableError.
    """
    by_default = is_address(settings.database) if settings.http_stateless is None else settings.http_stateless
    with open_listener(place) as listener:
        place = replace(place, port=listener.getsockname()[1])
        async with open_storage(settings) as storage:
            accounts = Accounts(settings, storage, place, compute_connection_limit())
            await accounts.require_safe()
            with open_metrics(os.environ, settings.metrics_token, place) as metrics:
                async with open_manager(
                    settings, models, recover=True, storage=storage, telemetry=metrics.telemetry
                ) as manager:
                    service = Service(
                        manager, settings, accounts, is_stateless=is_stateless or by_default, metrics=metrics
                    )
                    server = HttpServer(service, settings.drain_seconds)
                    manager.start_task(end_at_signal, server)
                    handle_hangup(server.handle_exit)
                    server.announcement = f"Counterpoint serves MCP at http://{place.netloc}{MCP_PATH}\n"
                    async with service.run():
                        await server.serve([listener])
    return 128 + server.signal_number
