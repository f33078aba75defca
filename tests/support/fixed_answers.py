"""Servers on loopback that give fixed answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.support.provider.stub import StubRequest, read_request


@asynccontextmanager
async def serve_and_close(answer: Callable[[StubRequest], bytes]) -> AsyncIterator[str]:
    """The address of a server that answers each request with these bytes, and closes the connection unannounced."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if request := await read_request(reader):
            writer.write(answer(request))
        writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0, limit=2**24) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def serve_answer(answer: bytes | None, asked: list[StubRequest]) -> AsyncIterator[str]:
    """The address of a server on loopback; without an answer it says nothing."""
    ended = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            asked.append(request)
            writer.write(answer or b"")
        writer.close()
        ended.set()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await ended.wait()
