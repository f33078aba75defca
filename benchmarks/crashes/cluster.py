"""Servers over HTTP on one PostgreSQL database, behind haproxy.

Each server has a host name of its own where that can be had (as root, on Linux), so that none can know that another has
ended: as it is on machines of their own. haproxy and PostgreSQL are those of the system.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.request import urlopen

from mcp import Client

from benchmarks.processes.children import build_environment
from benchmarks.speed.debates import DEBATE
from benchmarks.stub import Stub, StubRequest
from storage.postgres import PostgresJournal
from tests.support.postgres import Server as PostgresServer

REPLICAS = 3
LATENCY = 0.3  # seconds of each answer of the provider
START_SECONDS = 30.0

# As deploy/haproxy.cfg, without what TLS and containers take.
HAPROXY = """
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 3s
  timeout http-keep-alive 60s
  option redispatch
  retries 3
  retry-on conn-failure
frontend clients
  bind 127.0.0.1:{port}
  default_backend replicas
backend replicas
  balance leastconn
  option httpchk GET /readyz
  default-server check inter 500ms fall 2 rise 1
"""


@dataclass
class ReceivedRequest:
    """A request that the provider received."""

    at: float
    key: str  # of the server that asked
    answered_at: float = inf


@dataclass
class Provider(Stub):
    """Remembers what was asked more than once, and whether it was answered before."""

    asked: defaultdict[str, list[ReceivedRequest]] = field(default_factory=lambda: defaultdict(list))

    async def _serve_request(
        self, request: StubRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        asked = ReceivedRequest(perf_counter(), request.headers.get("authorization", ""))
        if request.path.endswith("/chat/completions"):
            self.asked[sha256(json.dumps(request.body).encode()).hexdigest()].append(asked)
        await super()._serve_request(request, reader, writer)
        asked.answered_at = perf_counter()


@dataclass
class Replica:
    """A server on a port that it keeps. `log`: a file."""

    number: int
    port: int
    environ: dict[str, str]
    log: Path
    child: asyncio.subprocess.Process | None = None
    ends: list[float] = field(default_factory=list)  # when it was sent a signal

    async def start(self) -> None:
        own_name = ["unshare", "-u", "sh", "-c", f'hostname replica{self.number}; exec "$@"', "sh"]
        prefix = own_name if os.geteuid() == 0 and shutil.which("unshare") else []
        command = [*prefix, sys.executable, "-m", "counterpoint", "serve", "--http", f"127.0.0.1:{self.port}"]
        with self.log.open("ab") as log:
            self.child = await asyncio.create_subprocess_exec(
                *command, env=self.environ, stdout=log, stderr=log
            )
        async with asyncio.timeout(START_SECONDS):
            while not await asyncio.to_thread(is_ready, self.port):  # noqa: ASYNC110  (another process)
                await asyncio.sleep(0.05)

    def has_received(self, asked: ReceivedRequest) -> bool:
        """Whether this server asked, and lived when the answer was sent."""
        is_own = asked.key.endswith(self.environ["OPENAI_API_KEY"])
        is_answered = asked.answered_at < inf
        return is_own and is_answered and not any(asked.at <= end <= asked.answered_at for end in self.ends)

    async def end(self, number: signal.Signals) -> float:
        """Send it a signal, and wait until it is gone. Returns the seconds that took."""
        assert self.child
        began = perf_counter()
        self.ends.append(began)
        with suppress(ProcessLookupError):
            self.child.send_signal(number)
        await self.child.wait()
        return perf_counter() - began


def is_ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@dataclass
class Cluster:
    address: str  # of haproxy
    provider: Provider
    replicas: list[Replica]
    postgres: PostgresServer
    database: str
    counts: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)  # what callers were told, by its text

    async def hold_debate(self, number: int, era: str, *, is_patient: bool) -> None:
        """Hold a debate to its end. `is_patient`: a call that fails is made again, as people do."""
        debate_id = ""
        while True:
            try:
                async with Client(self.address, mode=era) as client:
                    while True:
                        answer = await self.call(client, number, debate_id)
                        debate_id = answer["debate_id"]
                        if answer["status"] != "running":
                            self.counts[answer["status"]] += 1
                            return
            except Exception as error:
                self.failures[describe(error)] += 1
                if not is_patient:
                    raise
                await asyncio.sleep(0.3)

    async def call(self, client: Client, number: int, debate_id: str) -> dict[str, Any]:
        self.counts["calls"] += 1
        if debate_id:
            result = await client.call_tool("get_verdict", {"debate_id": debate_id, "wait_seconds": 20})
        else:
            question = f"Should service {number} be rewritten in Rust this year?"
            arguments = {**DEBATE, "question": question, "format": "verdict", "wait_seconds": 20}
            result = await client.call_tool("start_debate", arguments)
        if result.is_error or not result.structured_content:
            raise RuntimeError(str(getattr(result.content[0], "text", result.content)))
        return dict(result.structured_content)


def describe(error: BaseException) -> str:
    while nested := getattr(error, "exceptions", None):
        error = nested[0]
    return f"{type(error).__name__}: {error}"[:100]


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def open_cluster(folder: Path) -> AsyncIterator[Cluster]:
    async with AsyncExitStack() as opened:
        postgres = PostgresServer(folder=folder)
        opened.callback(postgres.stop)
        postgres.start()
        database = postgres.create_database()
        await (await PostgresJournal.open(database)).close()
        provider = await opened.enter_async_context(
            Provider(latency=LATENCY, chars=1200, keeps_requests=False)
        )
        environ = build_environment(
            COUNTERPOINT_DB=database,
            COUNTERPOINT_MODELS="openai/fine",
            COUNTERPOINT_OWNER_REQUESTS_PER_MINUTE="0",
            OPENAI_API_BASE=provider.url,
            XDG_CONFIG_HOME=str(folder),
        )
        replicas = [
            Replica(
                number,
                find_free_port(),
                environ | {"OPENAI_API_KEY": f"sk-loopback-{number}"},
                folder / f"replica{number}.log",
            )
            for number in range(REPLICAS)
        ]
        for replica in replicas:
            await replica.start()
            opened.push_async_callback(replica.end, signal.SIGKILL)
        port = find_free_port()
        await opened.enter_async_context(run_haproxy(folder, port, replicas))
        yield Cluster(f"http://127.0.0.1:{port}/mcp", provider, replicas, postgres, database)


@asynccontextmanager
async def run_haproxy(folder: Path, port: int, replicas: list[Replica]) -> AsyncIterator[None]:
    servers = "".join(f"  server r{replica.number} 127.0.0.1:{replica.port}\n" for replica in replicas)
    config = folder / "haproxy.cfg"
    config.write_text(HAPROXY.format(port=port) + servers, encoding="utf-8")
    program = shutil.which("haproxy") or "/usr/sbin/haproxy"
    child = await asyncio.create_subprocess_exec(program, "-db", "-f", str(config))
    try:
        while not await asyncio.to_thread(is_ready, port):  # noqa: ASYNC110  (another process)
            await asyncio.sleep(0.05)
        yield
    finally:
        child.kill()
        await child.wait()
