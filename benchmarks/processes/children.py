"""Child processes to measure: an MCP server, addressed in raw JSON-RPC lines, and the stub provider."""

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Self
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent.parent
MAX_LINE_BYTES = 2**26
TIMEOUT = 120  # seconds for a response

OUR_SERVER = ("-m", "counterpoint")
BARE_SERVER = ("-m", "benchmarks.processes.bare_server")

REQUEST_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""`_meta` of each request in the era without a handshake."""


def build_environment(**variables: str) -> dict[str, str]:
    """This process's environment without settings of the product, of models and of Python."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COUNTERPOINT_", "OTEL_", "PYTHON"))
        and not name.endswith(("_API_KEY", "_API_BASE"))
    }
    return inherited | {"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-loopback"} | variables


class Server:
    """An MCP server on stdio. Requests may overlap; its notifications are ignored."""

    def __init__(self, child: Process, *, is_modern: bool) -> None:
        self.child = child
        self.is_modern = is_modern
        self.request_ids = count(1)
        self.pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.response_bytes = 0  # size of the last response
        self.reader_task = asyncio.create_task(self._read())

    @classmethod
    @asynccontextmanager
    async def start(
        cls, *command: str, environ: Mapping[str, str] | None = None, is_modern: bool = False
    ) -> AsyncIterator[Self]:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            stdin=PIPE,
            stdout=PIPE,
            env=environ or build_environment(),
            limit=MAX_LINE_BYTES,
        )
        server = cls(child, is_modern=is_modern)
        try:
            yield server
        finally:
            assert child.stdin is not None
            child.stdin.close()
            try:
                await asyncio.wait_for(child.wait(), 10)
            except TimeoutError:
                child.kill()
                await child.wait()
            await server.reader_task

    async def initialize(self) -> None:
        """Initialize the session, in the era that has a handshake."""
        if not self.is_modern:
            client = {"name": "benchmark", "version": "1"}
            await self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its result."""
        number = next(self.request_ids)
        done: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.pending[number] = done
        meta = {"_meta": REQUEST_META} if self.is_modern else {}
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params | meta})
        response = await asyncio.wait_for(done, TIMEOUT)
        assert "result" in response, response
        return dict(response["result"])

    async def call_tool(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured result."""
        result = await self.request("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result["content"]
        return dict(result["structuredContent"])

    def read_memory(self) -> int:
        """Resident memory of the process in kB (Linux)."""
        status = Path(f"/proc/{self.child.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    def read_cpu(self) -> float:
        """CPU seconds of the process so far, of all its threads (Linux)."""
        return time.clock_gettime(~self.child.pid << 3 | 2)  # CPUCLOCK_SCHED of another process

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        assert self.child.stdout is not None
        async for line in self.child.stdout:
            message = json.loads(line)
            if "id" in message and "method" not in message:
                self.response_bytes = len(line)
                if not (done := self.pending.pop(message["id"])).cancelled():
                    done.set_result(message)


@asynccontextmanager
async def start_stub(latency: float = 0.0, pause: float = 0.0) -> AsyncIterator[str]:
    """Start a stub provider in its own process, so that it does not share our CPU time. Yields its URL."""
    command = (
        sys.executable,
        "-m",
        "tests.support.provider.stub",
        "--latency",
        str(latency),
        "--pause",
        str(pause),
        "--chars",
        "1200",
    )
    child = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, env=build_environment())
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield (await child.stdout.readline()).decode().strip()
    finally:
        child.stdin.close()
        await child.wait()


async def read_request_bodies(url: str) -> list[dict[str, Any]]:
    """The bodies of the requests that a stub received, in order."""

    def fetch() -> Any:
        with urlopen(url.replace("/v1", "/asked")) as page:  # noqa: S310  (a stub on loopback)
            return json.load(page)

    return [chat["body"] for chat in (await asyncio.to_thread(fetch))["asked"]]


def provider_environment(folder: str | Path, url: str, model: str = "openai/fine") -> dict[str, str]:
    """A server's environment with a database in the folder and a provider at the address, all else as by default."""
    return build_environment(
        COUNTERPOINT_DB=str(Path(folder) / "debates.db"), COUNTERPOINT_MODELS=model, OPENAI_API_BASE=url
    )
