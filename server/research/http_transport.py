"""An MCP server over streamable HTTP: the SDK's transport, with limits on what the server may send."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from server.research.stdio_transport import MAX_MESSAGE_BYTES, MAX_UNSOLICITED_BYTES, OutputLimitError
from server.settings import ResearchServer

TIMEOUT = httpx2.Timeout(30, read=300)
"""Seconds; each call has its own limit besides."""

MIN_ERROR_STATUS = 400


class LimitedBody(httpx2.AsyncByteStream):
    """The body of a response. Reading more than `limit` bytes raises OutputLimitError."""

    def __init__(self, body: httpx2.AsyncByteStream, limit: int) -> None:
        self.body = body
        self.bytes_left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.body:
            self.bytes_left -= len(chunk)
            if self.bytes_left < 0:
                raise OutputLimitError("too much unsolicited output")
            yield chunk

    async def aclose(self) -> None:
        await self.body.aclose()


@asynccontextmanager
async def open_http_transport(
    server: ResearchServer, on_status: Callable[[int], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """The message streams of a remote server.

    on_status: called with the HTTP status of each rejected request, and with 0 for each accepted one.
    """

    async def check_response(response: httpx2.Response) -> None:
        if response.request.method == "POST":
            on_status(response.status_code if response.status_code >= MIN_ERROR_STATUS else 0)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise OutputLimitError("a compressed response, which was not requested")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = LimitedBody(
            response.stream, MAX_UNSOLICITED_BYTES if is_stream else MAX_MESSAGE_BYTES
        )

    client = httpx2.AsyncClient(
        # Compressed bytes can become a thousand times as many, past any limit on what is received.
        headers={"Accept-Encoding": "identity"} | server.headers,
        timeout=TIMEOUT,
        event_hooks={"response": [check_response]},
    )
    transport = streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES)
    async with client, transport as streams:
        yield streams
