"""An MCP server over streamable HTTP: the SDK's transport, with limits on what the server may send."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from server.research.stdio_transport import LONGEST_MESSAGE, UNASKED_BYTES, TooMuch
from server.settings import ResearchServer

PLAIN = {"Accept-Encoding": "identity"}
"""What is compressed can become a thousand times as long when it is read."""

PATIENCE = httpx2.Timeout(30, read=300)
"""Seconds; each call has a limit of its own besides."""

REFUSAL = 400


class Limited(httpx2.AsyncByteStream):
    """The body of a response, as long as it is not too long."""

    def __init__(self, body: httpx2.AsyncByteStream, most: int) -> None:
        self.body = body
        self.left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.body:
            self.left -= len(chunk)
            if self.left < 0:
                raise TooMuch("more than anybody asked for")
            yield chunk

    async def aclose(self) -> None:
        await self.body.aclose()


@asynccontextmanager
async def reached(server: ResearchServer, on_status: Callable[[int], None]) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server somewhere else.

    on_status: told the HTTP status of each refused request, and 0 of each that was not.
    """

    async def check(response: httpx2.Response) -> None:
        if response.request.method == "POST":
            on_status(response.status_code if response.status_code >= REFUSAL else 0)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise TooMuch("a compressed answer, which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        streams = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = Limited(response.stream, UNASKED_BYTES if streams else LONGEST_MESSAGE)

    client = httpx2.AsyncClient(
        headers=PLAIN | server.headers, timeout=PATIENCE, event_hooks={"response": [check]}
    )
    async with (
        client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=LONGEST_MESSAGE) as streams,
    ):
        yield streams
