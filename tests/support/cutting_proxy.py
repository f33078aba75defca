"""A way to a PostgreSQL server that can be cut at the worst moment: when a statement was sent and not yet answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

from tests.support.polling import wait_before_next_poll


class CuttingProxy:
    """Forwards connections. `cut_at`: a part of a request after which the next answer is kept back, and the way cut."""

    def __init__(self, server: Path) -> None:
        self.server = server
        self.cut_at: bytes | None = None
        self.cuts = 0
        self.listening: asyncio.Server | None = None
        self.handlers: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if handler := asyncio.current_task():
            self.handlers.add(handler)
        server_reader, server_writer = await asyncio.open_unix_connection(str(self.server))
        cut = asyncio.Event()

        async def forward_requests() -> None:
            while data := await reader.read(1 << 16):
                if self.cut_at and self.cut_at in data:
                    self.cut_at = None
                    cut.set()
                server_writer.write(data)

        async def forward_answers() -> None:
            while data := await server_reader.read(1 << 16):
                if cut.is_set():  # the server has answered, hence committed
                    self.cuts += 1
                    return
                writer.write(data)

        tasks: list[asyncio.Task[None]] = []
        with suppress(OSError, asyncio.CancelledError):
            tasks = [asyncio.create_task(forward_requests()), asyncio.create_task(forward_answers())]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        writer.close()
        server_writer.close()
        with suppress(OSError):
            await asyncio.gather(writer.wait_closed(), server_writer.wait_closed())

    def close(self) -> None:
        """Cut all connections, and take no new ones."""
        assert self.listening
        self.listening.close()
        for handler in self.handlers:
            handler.cancel()

    async def wait_for_cut(self) -> None:
        async with asyncio.timeout(5):
            while not self.cuts:
                await wait_before_next_poll()


@asynccontextmanager
async def open_proxy(address: str, folder: Path) -> AsyncIterator[tuple[str, CuttingProxy]]:
    """The address of the same database through the proxy, which listens in `folder`."""
    parts = urlsplit(address)
    name = ".s.PGSQL.5432"
    proxy = CuttingProxy(Path(parse_qs(parts.query)["host"][0]) / name)
    server = await asyncio.start_unix_server(proxy.serve, folder / name)
    proxy.listening = server
    async with server:
        yield urlunsplit(parts._replace(query=f"host={folder}")), proxy
    if proxy.handlers:
        await asyncio.wait(proxy.handlers, timeout=5)
