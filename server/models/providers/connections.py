"""HTTP connections to providers, kept open between requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from server.models.providers.addresses import is_loopback

if TYPE_CHECKING:
    import httpx2

MAX_RESPONSE_BYTES = 8_000_000


class ResponseError(Exception):
    """The provider answered with an error. The text is that of its response."""

    def __init__(self, status_code: int, text: str, response: Any = None) -> None:
        super().__init__(text)
        self.status_code = status_code
        self.response = response  # with its headers


class UnreadableResponseError(Exception):
    """The provider answered with something else than the protocol has."""


class Connections:
    """The connections of a process; each client is opened when it is first needed."""

    def __init__(self) -> None:
        self._clients: dict[tuple[bool, bool], httpx2.AsyncClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _find_client(self, url: str) -> "httpx2.AsyncClient":
        import httpx2  # noqa: PLC0415  (a client library is imported when a model is first called)

        is_local, is_encrypted = is_loopback(url), urlsplit(url).scheme == "https"
        if (is_local, is_encrypted) not in self._clients:
            self._clients[is_local, is_encrypted] = httpx2.AsyncClient(
                timeout=None,  # the whole reply has a time limit
                trust_env=not is_local,  # no proxy on the way to this machine
                verify=is_encrypted,  # certificates take long to load
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
                follow_redirects=False,
            )
        return self._clients[is_local, is_encrypted]

    @asynccontextmanager
    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> AsyncIterator["httpx2.Response"]:
        """The response, to be read while the block runs. Raises ResponseError for an error of the provider."""
        headers |= {"content-type": "application/json", "accept-encoding": "identity"}
        async with self._find_client(url).stream("POST", url, content=body, headers=headers) as response:
            if not response.is_success:
                text = (await read_body(response)).decode(errors="replace")
                raise ResponseError(response.status_code, text, response)
            yield response


async def read_body(response: "httpx2.Response") -> bytes:
    pieces = [piece async for piece in read_bounded(response)]
    return b"".join(pieces)


async def read_lines(response: "httpx2.Response") -> AsyncIterator[bytes]:
    """The lines of a streamed body, without their ends and without empty ones."""
    rest = b""
    async for piece in read_bounded(response):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if stripped := line.strip():
                yield stripped
    if rest.strip():
        yield rest.strip()


async def read_bounded(response: "httpx2.Response") -> AsyncIterator[bytes]:
    """Raises UnreadableResponseError for a body that is too large."""
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        check_size(size)
        yield piece


def check_size(size: int, most: int = MAX_RESPONSE_BYTES) -> None:
    if size > most:
        raise UnreadableResponseError(f"The answer has more than {most:,} bytes.")
