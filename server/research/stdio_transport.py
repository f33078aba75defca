"""An MCP server as a child process: a transport for the SDK's client, in place of the SDK's own.

It differs in what a bad child can do to us. One message and all unasked talk have a limit in bytes, where
the SDK keeps a line of any length; what is no message is passed over in silence, where the SDK logs a
traceback a line; the child says nothing on our stderr; and it is gone in half a second, not in four.
"""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial

import anyio
from anyio.abc import ByteReceiveStream, ObjectReceiveStream, ObjectSendStream, Process
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter
from pydantic import ValidationError

from server.settings import ResearchServer

LONGEST_MESSAGE = 16_000_000
"""Bytes of one message: a result of half that, once as text and once as structured content."""

UNASKED_BYTES = 50_000_000
UNASKED_REQUESTS = 1000
"""What a child may say after a question of ours: answers, logs, progress, rubbish; questions to us."""

GRACE = (0.25, 0.2, 0.2)
"""Seconds to wait for a child to end: after its stdin is closed, after SIGTERM, after SIGKILL."""

LOOK = 0.01
CHUNK = 16_384
QUEUED = 64

Streams = tuple[ObjectReceiveStream[SessionMessage | Exception], ObjectSendStream[SessionMessage]]


class TooMuch(Exception):  # noqa: N818  (it is named for what happened)
    """A child says more than we listen to. The text says what of."""


class Lines:
    """Bytes as they come, cut into lines."""

    def __init__(self) -> None:
        self.kept = bytearray()

    def add(self, chunk: bytes) -> Iterator[bytes]:
        """Raises TooMuch for a line without an end."""
        first, *rest = chunk.split(b"\n")
        self.kept += first
        for part in rest:
            yield bytes(self.kept)
            self.kept = bytearray(part)
        if len(self.kept) > LONGEST_MESSAGE:
            raise TooMuch(f"a message of over {LONGEST_MESSAGE // 1_000_000} MB")


class Budget:
    """How much a child has said since it was last asked something."""

    def __init__(self) -> None:
        self.size = self.requests = 0

    def renew(self) -> None:
        self.size = self.requests = 0

    def count(self, message: SessionMessage | None, size: int) -> None:
        """Raises TooMuch."""
        self.size += size
        self.requests += message is not None and isinstance(message.message, JSONRPCRequest)
        if self.size > UNASKED_BYTES or self.requests > UNASKED_REQUESTS:
            raise TooMuch("more than anybody asked for")


@asynccontextmanager
async def running(server: ResearchServer, on_end: Callable[[str], None]) -> AsyncIterator[Streams]:
    """The streams of a child that is started here and gone when this is left.

    on_end: told once, when the child ends or breaks by itself, and why: "it ended (exit code 1)".

    Raises:
        OSError: it cannot be started.
    """
    process = await start(server)
    budget = Budget()
    from_child, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, to_child = anyio.create_memory_object_stream[SessionMessage](QUEUED)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, process, from_child, budget, on_end)
            tasks.start_soon(write, process, to_child, budget)
            try:
                yield received, sent
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await end(process)
        for stream in (from_child, received, sent, to_child):
            stream.close()


async def start(server: ResearchServer) -> Process:
    environment = get_default_environment() | server.env
    program = server.command
    if os.name == "nt":  # where only a whole file name can be started, and npx is npx.cmd
        program = shutil.which(program, path=environment.get("PATH")) or program
    begun = partial(
        anyio.open_process,
        [program, *server.args],
        env=environment,
        cwd=os.path.expanduser(server.cwd) or None,  # noqa: ASYNC240, PTH111  (a look at HOME, no more)
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that it and its own children can be ended together
    )
    with anyio.CancelScope(shield=True):  # a child that nobody has hold of would stay
        process = await begun()
    return process  # noqa: RET504  (mypy takes a scope for one that may swallow the return)


async def read(
    process: Process,
    target: ObjectSendStream[SessionMessage | Exception],
    budget: Budget,
    on_end: Callable[[str], None],
) -> None:
    """Hand on what the child says, until it ends or says too much; then the target is closed."""
    assert process.stdout
    why = ""
    async with target:
        try:
            await hand_on(process.stdout, target, budget)
        except TooMuch as error:
            why = f"it sent {error}"
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            why = "the connection to it broke"
        if not why:
            code = await exit_code(process, GRACE[0])
            why = "it closed the connection" if code is None else f"it ended (exit code {code})"
        on_end(why)


async def hand_on(
    stdout: ByteReceiveStream, target: ObjectSendStream[SessionMessage | Exception], budget: Budget
) -> None:
    """Notifications are not handed on: nobody would do anything with them."""
    lines = Lines()
    with suppress(anyio.EndOfStream):
        while True:
            for line in lines.add(await stdout.receive(CHUNK)):
                message = parsed(line)
                budget.count(message, len(line) + 1)
                if message and not isinstance(message.message, JSONRPCNotification):
                    await target.send(message)
            # Where nobody waits for anything, a child that never stops would otherwise be all we hear.
            await anyio.lowlevel.checkpoint()


def parsed(line: bytes) -> SessionMessage | None:
    """A message, or None for what is none: servers print greetings and warnings too."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        return None


async def write(process: Process, source: ObjectReceiveStream[SessionMessage], budget: Budget) -> None:
    """Tell the child what the client sends. A child that is gone is noticed by who reads."""
    assert process.stdin
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for message in source:
            if isinstance(message.message, JSONRPCRequest):
                budget.renew()
            body = message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
            await process.stdin.send(json.dumps(body).encode() + b"\n")


async def end(process: Process) -> None:
    """Ask, tell, make it end. What it has started ends with it."""
    assert process.stdin
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await process.stdin.aclose()
    if await exit_code(process, GRACE[0]) is None:
        stop(process, signal.SIGTERM)
        if await exit_code(process, GRACE[1]) is None:
            stop(process, getattr(signal, "SIGKILL", signal.SIGTERM))
            await exit_code(process, GRACE[2])
    stop(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    # Bounded: somebody else may hold its stdout open, and asyncio waits for that.
    with anyio.move_on_after(GRACE[2]):
        await process.aclose()


def stop(process: Process, number: signal.Signals) -> None:
    """A signal to the child and all it has started; its group may live on when it is gone itself."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.send_signal(number)
        else:
            os.killpg(process.pid, number)


async def exit_code(process: Process, seconds: float) -> int | None:
    """The exit code, once there is one. Not `process.wait`, which waits for the end of stdout too."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110  (nothing tells of it)
            await anyio.sleep(LOOK)
    return process.returncode
