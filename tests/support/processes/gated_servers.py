"""Servers as child processes whose model calls a test holds back, so that calls in flight do not depend on timing.

Run as a program, this file is such a server. It reports each call to the test at the port `CALL_GATE_PORT`.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.text import TextReceiveStream
from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from server.models import OnText, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.patience import PATIENCE

COMMAND = [sys.executable, "-m", "tests.support.processes.gated_servers"]
MAX_MESSAGES = 1_000_000


@dataclass(frozen=True)
class ModelCall:
    """A model call, which a provider would have charged for."""

    pid: int
    seat: str
    seed: int  # unique among the calls of a debate


@dataclass
class CallGate:
    """Holds back the model calls of all servers of a test until `release` is set."""

    port: int
    calls: list[ModelCall] = field(default_factory=list)
    release: anyio.Event = field(default_factory=anyio.Event)
    call_arrival: anyio.Event = field(default_factory=anyio.Event)

    async def wait_for_calls(self, count: int) -> None:
        """Wait for `count` calls in total, up to 5 seconds."""
        with anyio.fail_after(PATIENCE):
            while len(self.calls) < count:
                await self.call_arrival.wait()

    def hold(self) -> None:
        """Hold back the calls from now on."""
        self.release = anyio.Event()

    @property
    def repeated_call_count(self) -> int:
        """Number of calls that repeat an earlier one, by whichever process."""
        return len(self.calls) - len({(call.seat, call.seed) for call in self.calls})

    async def handle(self, stream: anyio.abc.ByteStream) -> None:
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            async with stream:
                line = await BufferedByteReceiveStream(stream).receive_until(b"\n", 1000)
                self.calls.append(ModelCall(**json.loads(line)))
                self.call_arrival.set()
                self.call_arrival = anyio.Event()
                await self.release.wait()
                await stream.send(b"answer\n")


@asynccontextmanager
async def open_call_gate() -> AsyncIterator[CallGate]:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    gate = CallGate(listener.extra(anyio.abc.SocketAttribute.local_port))  # noqa: S610  (not the Django method)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, gate.handle)
        yield gate
        tasks.cancel_scope.cancel()


@dataclass
class ServerProcess:
    """A server process and a transport to it that survives the death of either side."""

    process: anyio.abc.Process

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[TransportStreams]:
        received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](MAX_MESSAGES)
        outgoing, sent = anyio.create_memory_object_stream[SessionMessage](MAX_MESSAGES)
        async with incoming, outgoing, anyio.create_task_group() as tasks:
            tasks.start_soon(self.read_messages, received)
            tasks.start_soon(self.write_messages, sent)
            yield incoming, outgoing
            tasks.cancel_scope.cancel()

    async def read_messages(self, sink: anyio.abc.ObjectSendStream[SessionMessage | Exception]) -> None:
        assert self.process.stdout
        rest = ""
        async with sink:
            with suppress(anyio.ClosedResourceError):
                async for piece in TextReceiveStream(self.process.stdout):
                    *lines, rest = (rest + piece).split("\n")
                    for line in lines:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                        await sink.send(SessionMessage(message))

    async def write_messages(self, source: anyio.abc.ObjectReceiveStream[SessionMessage]) -> None:
        assert self.process.stdin
        async with source:
            async for message in source:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                with suppress(anyio.BrokenResourceError):  # the process is gone
                    await self.process.stdin.send(text.encode() + b"\n")

    async def close_and_wait(self) -> int:
        """Close stdin and return the exit code."""
        assert self.process.stdin
        await self.process.stdin.aclose()
        with anyio.fail_after(PATIENCE):
            return await self.process.wait()

    async def abandon_and_wait(self) -> int:
        """Close stdin and stdout, as a client that died, and return the exit code."""
        assert self.process.stdout
        await self.process.stdout.aclose()
        return await self.close_and_wait()

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)


@asynccontextmanager
async def start_server_process(
    database: str, gate: CallGate, era: str, environ: Mapping[str, str] | None = None, **options: Any
) -> AsyncIterator[tuple[ServerProcess, Client]]:
    """Start a server and a client of it. The process is killed at the end if it still runs."""
    variables = {**os.environ, "COUNTERPOINT_DB": database, "COUNTERPOINT_MODELS": "gated", **(environ or {})}
    variables["CALL_GATE_PORT"] = str(gate.port)
    process = await anyio.open_process(COMMAND, env=variables, stderr=subprocess.DEVNULL)
    server = ServerProcess(process)
    try:
        async with Client(server.transport(), mode=era, **options) as client:
            yield server, client
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


class GatedModel:
    """A model that reports each call to the test and replies once the test allows it."""

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        call = {"pid": os.getpid(), "seat": request.seat, "seed": request.seed}
        async with await anyio.connect_tcp("127.0.0.1", int(os.environ["CALL_GATE_PORT"])) as stream:
            await stream.send(json.dumps(call).encode() + b"\n")
            await stream.receive()
        return await ScriptedModel().reply(request, on_text)


if __name__ == "__main__":
    from server.mcp.stdio import serve_stdio

    sys.exit(serve_stdio(models={"gated": GatedModel()}))
