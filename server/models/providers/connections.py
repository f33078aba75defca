"""HTTP connections to providers, kept open between requests.

By aiohttp, which litellm brings: a call takes a third of the CPU that it takes by httpx2 (0.15 ms against 0.5 ms), the
client of the MCP SDK and of everything else here, where calls are few.
"""

import io
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from anyio import to_thread

from server.background_tasks import start_thread
from server.models.providers.endpoints import is_loopback

if TYPE_CHECKING:
    import aiohttp

MAX_RESPONSE_BYTES = 8_000_000
MAX_STREAM_BYTES = 32_000_000  # a long thought streams each token as an event of 300 to 500 bytes
MAX_IDLE_SECONDS = 15.0  # after which a connection that nobody uses is closed


class ResponseError(Exception):
    """The provider answered with an error. The text is that of its response."""

    def __init__(self, status_code: int, text: str, response: Any = None) -> None:
        super().__init__(text)
        self.status_code = status_code
        self.response = response  # with its headers


class UnreadableResponseError(Exception):
    """The provider's answer does not follow the protocol."""


class Connections:
    """The connections of a process."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._certificates: ssl.SSLContext | None = None
        self._choose_proxy = cache(choose_proxy)  # by the beginning of an address

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()
        self._session = None

    async def _open_session(self) -> "aiohttp.ClientSession":
        aiohttp = await to_thread.run_sync(import_module, "aiohttp")  # waits for an import that has begun
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=MAX_IDLE_SECONDS),
                timeout=aiohttp.ClientTimeout(),  # none: the whole reply has a time limit
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def _send(self, url: str, body: bytes, headers: dict[str, str]) -> "aiohttp.ClientResponse":
        """Send a request, and return the beginning of the response. A connection found closed is replaced once."""
        session = self._session or await self._open_session()
        import aiohttp  # noqa: PLC0415

        scheme, host, *_ = urlsplit(url)
        if scheme == "https" and self._certificates is None:
            self._certificates = await to_thread.run_sync(load_certificates)
        send = partial(
            session.post,
            url,
            headers=headers | {"content-type": "application/json", "accept-encoding": "identity"},
            proxy=self._choose_proxy(scheme, host),
            ssl=(scheme == "https" and self._certificates) or True,
            allow_redirects=False,
        )
        try:
            return await send(data=io.BytesIO(body))  # a stream is sent in pieces
        except aiohttp.ClientOSError as error:
            if not isinstance(error.__cause__, aiohttp.ClientConnectionResetError):
                raise
        return await send(data=io.BytesIO(body))  # safe: the provider did not get the whole request before

    @asynccontextmanager
    async def post(
        self, url: str, body: bytes, headers: dict[str, str]
    ) -> AsyncIterator["aiohttp.ClientResponse"]:
        """The response, to be read while the block runs. Raises ResponseError for an error of the provider."""
        async with await self._send(url, body, headers) as response:
            if not 200 <= response.status < 300:  # noqa: PLR2004  (what HTTP calls successful)
                text = (await read_body(response)).decode(errors="replace")
                raise ResponseError(response.status, text, response)
            yield response


def start_import() -> None:
    """Begin to import the client in a thread: it takes a tenth of a second, and only some models need it."""
    if "aiohttp" not in sys.modules:
        start_thread(
            partial(import_module, "aiohttp"), "import aiohttp"
        )  # an error comes again at the first request


def choose_proxy(scheme: str, host: str) -> str | None:
    """The proxy that the environment names for an address; None for addresses on this machine."""
    if is_loopback(f"{scheme}://{host}") or proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


@cache
def load_certificates() -> ssl.SSLContext:
    """The certificates in the environment (SSL_CERT_FILE, SSL_CERT_DIR), or else Mozilla's. Slow."""
    import httpx2  # noqa: PLC0415

    return httpx2.create_ssl_context()


async def read_body(response: "aiohttp.ClientResponse") -> bytes:
    pieces = [piece async for piece in read_bounded(response)]
    return b"".join(pieces)


async def read_lines(response: "aiohttp.ClientResponse") -> AsyncIterator[bytes]:
    """The lines of a streamed body, without their ends and without empty ones."""
    unfinished_line = b""
    async for piece in read_bounded(response, MAX_STREAM_BYTES):
        *lines, unfinished_line = (unfinished_line + piece).split(b"\n")
        check_size(max(map(len, (*lines, unfinished_line))))
        for line in lines:
            if content := line.strip():
                yield content
    if unfinished_line.strip():
        yield unfinished_line.strip()


async def read_bounded(
    response: "aiohttp.ClientResponse", limit: int = MAX_RESPONSE_BYTES
) -> AsyncIterator[bytes]:
    """The pieces of a body. Raises UnreadableResponseError if it is too large."""
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        check_size(size, limit)
        yield piece


def check_size(size: int, limit: int = MAX_RESPONSE_BYTES) -> None:
    if size > limit:
        raise UnreadableResponseError(f"The answer has more than {limit:,} bytes.")
