"""Servers as processes, whose models answer when a test lets them: what is in mid-call is no matter of time.

Run as a program it is such a server; `DESK` is the port of the test that it asks.
"""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

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
from tests.support.paths import ROOT

MAX_MESSAGES = 1_000_000


@dataclass(frozen=True)
class ModelCall:
    """A question that was put, and would have been paid for."""

    pid: int
    seat: str
    seed: int  # no two calls of a debate have the same


@dataclass
class CallGate:
    """Where the models of all servers of a test wait for leave to answer."""

    port: int
    calls: list[ModelCall] = field(default_factory=list)
    release: anyio.Event = field(default_factory=anyio.Event)
    call_arrival: anyio.Event = field(default_factory=anyio.Event)

    async def wait_for_calls(self, count: int) -> None:
        """Until so many questions were put in all."""
        with anyio.fail_after(5):
            while len(self.calls) < count:
                await self.call_arrival.wait()

    def hold(self) -> None:
        self.release = anyio.Event()

    @property
    def repeated_call_count(self) -> int:
        """How many questions were put again, by whichever process."""
        return sum(Counter((asked.seat, asked.seed) for asked in self.calls).values()) - len(
            {(asked.seat, asked.seed) for asked in self.calls}
        )

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
    made = CallGate(listener.extra(anyio.abc.SocketAttribute.local_port))  # noqa: S610  (this is no Django)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, made.handle)
        yield made
        tasks.cancel_scope.cancel()


@dataclass
class ServerProcess:
    """A server process and what a client needs of it. Its client may die, or the process be killed."""

    process: anyio.abc.Process

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[TransportStreams]:
        heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](MAX_MESSAGES)
        outgoing, said = anyio.create_memory_object_stream[SessionMessage](MAX_MESSAGES)
        async with incoming, outgoing, anyio.create_task_group() as tasks:
            tasks.start_soon(self.read_messages, heard)
            tasks.start_soon(self.write_messages, said)
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
                await self.process.stdin.send(text.encode() + b"\n")

    async def close_and_wait(self) -> int:
        """The exit code, once stdin is closed."""
        assert self.process.stdin
        await self.process.stdin.aclose()
        with anyio.fail_after(5):
            return await self.process.wait()

    async def abandon_and_wait(self) -> int:
        """The exit code, once its client is gone, and nobody reads what it writes."""
        assert self.process.stdout
        await self.process.stdout.aclose()
        return await self.close_and_wait()

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)


@asynccontextmanager
async def start_server_process(
    database: str, gate: CallGate, era: str
) -> AsyncIterator[tuple[ServerProcess, Client]]:
    """A server and a client of it. The process is ended by the test, or at the end."""
    environ = {**os.environ, "COUNTERPOINT_DB": database, "COUNTERPOINT_MODELS": "mine"}
    environ |= {"DESK": str(gate.port), "PYTHONPATH": str(ROOT)}
    process = await anyio.open_process([sys.executable, __file__], env=environ, stderr=subprocess.DEVNULL)
    one = ServerProcess(process)
    try:
        async with Client(one.transport(), mode=era) as client:
            yield one, client
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


class GatedModel:
    """A model that tells the test what it is asked, and answers once it may."""

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        asked = {"pid": os.getpid(), "seat": request.seat, "seed": request.seed}
        async with await anyio.connect_tcp("127.0.0.1", int(os.environ["DESK"])) as stream:
            await stream.send(json.dumps(asked).encode() + b"\n")
            await stream.receive()
        return await ScriptedModel().reply(request, on_text)


if __name__ == "__main__":
    from server.mcp.stdio import serve_stdio

    sys.exit(serve_stdio(models={"mine": GatedModel()}))
