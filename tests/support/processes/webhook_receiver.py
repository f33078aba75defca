"""A local web server that records webhook requests and responds as a test requires."""

import base64
import hmac
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSListener

from tests.support.patience import PATIENCE

SECRET = "what-only-the-two-of-us-know"


@dataclass(frozen=True)
class WebhookRequest:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_signed(self) -> bool:
        """As the Standard Webhooks specification tells receivers to verify it."""
        message = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        expected = base64.b64encode(hmac.digest(SECRET.encode(), message, "sha256")).decode()
        return f"v1,{expected}" in self.headers["webhook-signature"].split()


@dataclass
class WebhookReceiver:
    port: int
    status_lines: list[str] = field(default_factory=list)  # of the next responses; 204 when none is left
    release: anyio.Event = field(default_factory=anyio.Event)  # responses wait for this
    requests: list[WebhookRequest] = field(default_factory=list)
    connection_count: int = 0
    arrival: anyio.Event = field(default_factory=anyio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def wait_for(self, count: int) -> list[WebhookRequest]:
        with anyio.fail_after(PATIENCE):
            while len(self.requests) < count:
                await self.arrival.wait()
        return self.requests

    async def handle(self, stream: anyio.abc.ByteStream) -> None:
        self.connection_count += 1
        buffered = BufferedByteReceiveStream(stream)
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            async with stream:
                head = (await buffered.receive_until(b"\r\n\r\n", 65536)).decode().split("\r\n")
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:])}
                body = await buffered.receive_exactly(int(headers["content-length"]))
                self.requests.append(WebhookRequest(head[0].split()[1], headers, body))
                self.arrival.set()
                self.arrival = anyio.Event()
                await self.release.wait()
                status_line = self.status_lines.pop(0) if self.status_lines else "204 No Content"
                await stream.send(f"HTTP/1.1 {status_line}\r\nContent-Length: 0\r\n\r\n".encode())


@asynccontextmanager
async def open_receiver(
    *, status_lines: Sequence[str] = (), hangs: bool = False, tls: ssl.SSLContext | None = None
) -> AsyncIterator[WebhookReceiver]:
    tcp = await anyio.create_tcp_listener(local_host="127.0.0.1")
    listener: Any = TLSListener(tcp, tls, standard_compatible=False) if tls else tcp
    port = tcp.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610  (not the Django method)
    receiver = WebhookReceiver(port, list(status_lines))
    if not hangs:
        receiver.release.set()
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, receiver.handle)
        yield receiver
        tasks.cancel_scope.cancel()
