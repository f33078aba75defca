"""MCP over HTTP on loopback: in the test's own process, and in a child that can be told to end."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from server.compose import open_manager
from server.engine.debates import DebateManager
from server.http_server.application import Service
from server.http_server.authentication import Accounts
from server.http_server.gate import Place
from server.http_server.serving import HttpServer, open_listener
from server.models import Model
from server.settings import Settings
from server.web.connections import MAX_CONNECTIONS, BoundedProtocol
from storage.storage import Storage
from tests.support.patience import PATIENCE, START_PATIENCE

MODERN = "2026-07-28"

META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@dataclass
class Running:
    """A server that answers. `place`: where."""

    place: Place
    server: HttpServer
    manager: DebateManager

    @property
    def root(self) -> str:
        return f"http://{self.place.netloc}"

    @property
    def address(self) -> str:
        return f"{self.root}/mcp"

    def connect(self, era: str = "auto", token: str = "", **options: Any) -> Client:
        if not token:
            return Client(self.address, mode=era, **options)
        web = httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE)
        return Client(streamable_http_client(self.address, http_client=web), mode=era, **options)


@asynccontextmanager
async def serve_http(
    database: str,
    *,
    models: Mapping[str, Model] | None = None,
    default: str = "scripted",
    is_stateless: bool = False,
    protocol: type[BoundedProtocol] = BoundedProtocol,
    storage: Storage | None = None,
    recover: bool = False,
    most_connections: int = MAX_CONNECTIONS,
    **settings: Any,
) -> AsyncIterator[Running]:
    chosen = Settings(db=database, models=tuple(filter(None, [default])), **settings)
    async with open_manager(chosen, models, environ={}, recover=recover, storage=storage) as manager:
        with open_listener(Place("127.0.0.1", 0)) as listener:
            place = Place("127.0.0.1", listener.getsockname()[1])
            accounts = Accounts(chosen, manager.store.storage, place, most_connections)
            service = Service(manager, chosen, accounts, is_stateless=is_stateless)
            server = HttpServer(service, chosen.drain_seconds, protocol)
            async with service.run(), anyio.create_task_group() as tasks:
                tasks.start_soon(server.drain)
                ended = anyio.Event()

                async def run() -> None:
                    await server.serve([listener])
                    ended.set()

                tasks.start_soon(run)
                yield Running(place, server, manager)
                server.should_exit = True
                await ended.wait()
                tasks.cancel_scope.cancel()


def build_request(method: str = "tools/list", **params: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """(headers, body) of a request of the 2026 era."""
    headers = {**ACCEPT, "mcp-protocol-version": MODERN, "mcp-method": method}
    if name := params.get("name") or params.get("uri"):
        headers["mcp-name"] = name
    return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}


async def send(
    address: str, method: str = "tools/list", headers: Mapping[str, str] | None = None, **params: Any
) -> httpx2.Response:
    own, body = build_request(method, **params)
    async with httpx2.AsyncClient(timeout=PATIENCE) as client:
        return await client.post(address, json=body, headers={**own, **(headers or {})})


class HttpProcess:
    """`counterpoint serve --http` in a child process."""

    def __init__(self, database: str, *arguments: str, environ: Mapping[str, str]) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "counterpoint", "serve", "--http", "127.0.0.1:0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"COUNTERPOINT_DB": database, "COUNTERPOINT_MODELS": "scripted", **environ},
        )
        patience = threading.Timer(START_PATIENCE + PATIENCE, self.child.kill)
        patience.daemon = True
        patience.start()
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        assert "http://" in line, self.child.communicate()
        self.address = line.split()[-1]
        self.root = self.address.removesuffix("/mcp")

    def tell(self, signal_number: int = signal.SIGTERM) -> None:
        self.child.send_signal(signal_number)

    def end(self) -> tuple[int, str]:
        """(exit code, stderr), waiting for it."""
        _, told = self.child.communicate(timeout=PATIENCE)
        return self.child.returncode, told

    def kill(self) -> None:
        self.child.kill()
        self.child.communicate(timeout=PATIENCE)


def open_raw(place: Place) -> socket.socket:
    """A connection on which a test says what it likes."""
    return socket.create_connection((place.host, place.port), timeout=PATIENCE)


def parse_events(text: str) -> list[dict[str, Any]]:
    """The messages in a stream of server-sent events."""
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
