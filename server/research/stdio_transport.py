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

MAX_MESSAGE_BYTES = 16_000_000
"""Bytes of one message: a result of half that, once as text and once as structured content."""

MAX_UNSOLICITED_BYTES = 50_000_000
MAX_UNSOLICITED_REQUESTS = 1000
"""What a child may say after a question of ours: answers, logs, progress, rubbish; questions to us."""

GRACE_PERIODS = (0.25, 0.2, 0.2)
"""Seconds to wait for a child to end: after its stdin is closed, after SIGTERM, after SIGKILL."""

POLL_INTERVAL = 0.01
CHUNK_BYTES = 16_384
QUEUE_SIZE = 64

Streams = tuple[ObjectReceiveStream[SessionMessage | Exception], ObjectSendStream[SessionMessage]]


class OutputLimitError(Exception):
    """A child says more than we listen to. The text says what of."""


class LineBuffer:
    """Bytes as they come, cut into lines."""

    def __init__(self) -> None:
        self.buffer = bytearray()

    def add(self, chunk: bytes) -> Iterator[bytes]:
        """Raises TooMuch for a line without an end."""
        first, *rest = chunk.split(b"\n")
        self.buffer += first
        for part in rest:
            yield bytes(self.buffer)
            self.buffer = bytearray(part)
        if len(self.buffer) > MAX_MESSAGE_BYTES:
            raise OutputLimitError(f"a message of over {MAX_MESSAGE_BYTES // 1_000_000} MB")


class OutputBudget:
    """How much a child has said since it was last asked something."""

    def __init__(self) -> None:
        self.byte_count = self.request_count = 0

    def reset(self) -> None:
        self.byte_count = self.request_count = 0

    def count(self, message: SessionMessage | None, size: int) -> None:
        """Raises TooMuch."""
        self.byte_count += size
        self.request_count += message is not None and isinstance(message.message, JSONRPCRequest)
        if self.byte_count > MAX_UNSOLICITED_BYTES or self.request_count > MAX_UNSOLICITED_REQUESTS:
            raise OutputLimitError("more than anybody asked for")


@asynccontextmanager
async def open_stdio_transport(
    server: ResearchServer, on_end: Callable[[str], None]
) -> AsyncIterator[Streams]:
    """The streams of a child that is started here and gone when this is left.

    on_end: told once, when the child ends or breaks by itself, and why: "it ended (exit code 1)".

    Raises:
        OSError: it cannot be started.
    """
    process = await start_process(server)
    budget = OutputBudget()
    from_child, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, to_child = anyio.create_memory_object_stream[SessionMessage](QUEUE_SIZE)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_output, process, from_child, budget, on_end)
            tasks.start_soon(write_input, process, to_child, budget)
            try:
                yield received, sent
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await end_process(process)
        for stream in (from_child, received, sent, to_child):
            stream.close()


async def start_process(server: ResearchServer) -> Process:
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


async def read_output(
    process: Process,
    target: ObjectSendStream[SessionMessage | Exception],
    budget: OutputBudget,
    on_end: Callable[[str], None],
) -> None:
    """Hand on what the child says, until it ends or says too much; then the target is closed."""
    assert process.stdout
    why = ""
    async with target:
        try:
            await forward_messages(process.stdout, target, budget)
        except OutputLimitError as error:
            why = f"it sent {error}"
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            why = "the connection to it broke"
        if not why:
            code = await wait_for_exit_code(process, GRACE_PERIODS[0])
            why = "it closed the connection" if code is None else f"it ended (exit code {code})"
        on_end(why)


async def forward_messages(
    stdout: ByteReceiveStream, target: ObjectSendStream[SessionMessage | Exception], budget: OutputBudget
) -> None:
    """Notifications are not handed on: nobody would do anything with them."""
    lines = LineBuffer()
    with suppress(anyio.EndOfStream):
        while True:
            for line in lines.add(await stdout.receive(CHUNK_BYTES)):
                message = parse_message(line)
                budget.count(message, len(line) + 1)
                if message and not isinstance(message.message, JSONRPCNotification):
                    await target.send(message)
            # Where nobody waits for anything, a child that never stops would otherwise be all we hear.
            await anyio.lowlevel.checkpoint()


def parse_message(line: bytes) -> SessionMessage | None:
    """A message, or None for what is none: servers print greetings and warnings too."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        return None


async def write_input(
    process: Process, source: ObjectReceiveStream[SessionMessage], budget: OutputBudget
) -> None:
    """Tell the child what the client sends. A child that is gone is noticed by who reads."""
    assert process.stdin
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for message in source:
            if isinstance(message.message, JSONRPCRequest):
                budget.reset()
            body = message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
            await process.stdin.send(json.dumps(body).encode() + b"\n")


async def end_process(process: Process) -> None:
    """Ask, tell, make it end. What it has started ends with it."""
    assert process.stdin
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await process.stdin.aclose()
    if await wait_for_exit_code(process, GRACE_PERIODS[0]) is None:
        send_signal(process, signal.SIGTERM)
        if await wait_for_exit_code(process, GRACE_PERIODS[1]) is None:
            send_signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
            await wait_for_exit_code(process, GRACE_PERIODS[2])
    send_signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    # Bounded: somebody else may hold its stdout open, and asyncio waits for that.
    with anyio.move_on_after(GRACE_PERIODS[2]):
        await process.aclose()


def send_signal(process: Process, signal_number: signal.Signals) -> None:
    """A signal to the child and all it has started; its group may live on when it is gone itself."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.send_signal(signal_number)
        else:
            os.killpg(process.pid, signal_number)


async def wait_for_exit_code(process: Process, seconds: float) -> int | None:
    """The exit code, once there is one. Not `process.wait`, which waits for the end of stdout too."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110  (nothing tells of it)
            await anyio.sleep(POLL_INTERVAL)
    return process.returncode
