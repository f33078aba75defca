"""An MCP server as a child process: a transport for the SDK's client.

The SDK's `stdio_client` hides the process and the bytes it reads, so four promises cannot be kept on top
of it: messages and unsolicited output have a limit (it buffers a line of any length), output that is no
message is skipped silently (it logs a traceback for each line), an error names the child's exit code, and
a child with all it started is gone within a second (it waits up to four, and spares children of a child
that exits by itself). Starting and killing are the SDK's.
"""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32 import utilities as windows
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter
from pydantic import ValidationError

from server.settings import ResearchServer

MAX_MESSAGE_BYTES = 16_000_000
"""A result may hold 8 MB, once as text and once as structured content."""

MAX_UNSOLICITED_BYTES = 50_000_000
MAX_UNSOLICITED_REQUESTS = 1000
"""Limits on what a child sends after one request of ours: replies, logs, progress, invalid lines."""

LINE_COST = 256
"""Bytes counted for each line besides its own: handling a short line takes time, too."""

EXIT_TIMEOUT = 0.25
"""Seconds in which a child may exit after its stdin is closed."""

KILL_TIMEOUT = 0.2
"""Seconds between SIGTERM and SIGKILL, and between SIGKILL and giving up."""

POLL_INTERVAL = 0.01
QUEUE_SIZE = 64

BROKEN_STREAM_ERRORS = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)

Streams = tuple[ObjectReceiveStream[SessionMessage | Exception], ObjectSendStream[SessionMessage]]
Target = ObjectSendStream[SessionMessage | Exception]


class OutputLimitError(Exception):
    """A server sends more than is accepted. The text completes "it sent"."""


class OutputBudget:
    """Counts what a child has sent since the last request to it."""

    def __init__(self) -> None:
        self.byte_count = self.request_count = 0

    def reset(self) -> None:
        self.byte_count = self.request_count = 0

    def count(self, message: SessionMessage | None, size: int) -> None:
        """Raises OutputLimitError when a limit is exceeded."""
        self.byte_count += size + LINE_COST
        self.request_count += message is not None and isinstance(message.message, JSONRPCRequest)
        if self.byte_count > MAX_UNSOLICITED_BYTES or self.request_count > MAX_UNSOLICITED_REQUESTS:
            raise OutputLimitError("too much unsolicited output")


@asynccontextmanager
async def open_stdio_transport(
    server: ResearchServer, on_exit: Callable[[str], None]
) -> AsyncIterator[Streams]:
    """Start a child process and yield its message streams; leaving ends it and all it started.

    on_exit: called once, with the reason, when the child exits or breaks by itself: "it ended (exit code 1)".

    Raises:
        OSError: the process cannot be started.
    """
    with anyio.CancelScope(shield=True):  # a cancelled start would leave a process without an owner
        process = await start_process(server)
    budget = OutputBudget()
    to_client, from_child = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_child, from_client = anyio.create_memory_object_stream[SessionMessage](QUEUE_SIZE)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_output, process, to_client, budget, on_exit)
            tasks.start_soon(write_input, process, from_client, budget)
            try:
                yield from_child, to_child
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await end_process(process)
        for stream in (to_client, from_child, to_child, from_client):
            stream.close()


async def start_process(server: ResearchServer) -> Process:
    """The child, in a process group (on Windows: a job) of its own. Its stderr is discarded."""
    environment = get_default_environment() | server.env
    folder = os.path.expanduser(server.cwd) or None  # noqa: ASYNC240, PTH111  (reads HOME, no more)
    if sys.platform == "win32":
        program = windows.get_windows_executable_command(server.command)
        with open(os.devnull, "w", encoding="utf-8") as null:  # noqa: ASYNC230, PTH123  (opens at once)
            return await windows.create_windows_process(program, list(server.args), environment, null, folder)
    command = [server.command, *server.args]
    return await anyio.open_process(
        command, env=environment, cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True
    )


async def read_output(
    process: Process, target: Target, budget: OutputBudget, on_exit: Callable[[str], None]
) -> None:
    """Forward the child's messages until it exits or exceeds a limit; then close the target."""
    assert process.stdout
    reason = ""
    async with target:
        try:
            await forward_messages(BufferedByteReceiveStream(process.stdout), target, budget)
        except anyio.DelimiterNotFound:
            reason = f"it sent a message of over {MAX_MESSAGE_BYTES // 1_000_000} MB"
        except OutputLimitError as error:
            reason = f"it sent {error}"
        except anyio.IncompleteRead:
            code = await wait_for_exit_code(process, EXIT_TIMEOUT)
            reason = "it closed the connection" if code is None else f"it ended (exit code {code})"
        except BROKEN_STREAM_ERRORS:
            reason = "the connection to it broke"
        on_exit(reason)


async def forward_messages(lines: BufferedByteReceiveStream, target: Target, budget: OutputBudget) -> None:
    """Notifications are dropped: nothing uses them."""
    while True:
        line = await lines.receive_until(b"\n", MAX_MESSAGE_BYTES)
        message = parse_message(line)
        budget.count(message, len(line))
        if message and not isinstance(message.message, JSONRPCNotification):
            await target.send(message)
        # Reading buffered bytes never yields, and a child that floods us would block the event loop.
        await anyio.lowlevel.checkpoint()


def parse_message(line: bytes) -> SessionMessage | None:
    """A message, or None for a line that is none: servers print greetings and warnings to stdout."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        return None


async def write_input(
    process: Process, source: ObjectReceiveStream[SessionMessage], budget: OutputBudget
) -> None:
    """Send the client's messages. A child that is gone is noticed by the reader."""
    assert process.stdin
    with suppress(*BROKEN_STREAM_ERRORS):
        async for message in source:
            if isinstance(message.message, JSONRPCRequest):
                budget.reset()
            # Not model_dump_json, which refuses the lone surrogates that a model's arguments may hold.
            body = message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
            await process.stdin.send(json.dumps(body).encode() + b"\n")


async def end_process(process: Process) -> None:
    """Close stdin, then terminate what is left of the process and its children."""
    assert process.stdin
    with suppress(*BROKEN_STREAM_ERRORS):
        await process.stdin.aclose()
    await wait_for_exit_code(process, EXIT_TIMEOUT)
    if sys.platform == "win32":
        await windows.terminate_windows_process_tree(process)
        windows.close_process_job(process)
    else:
        await terminate_posix_process_tree(process, KILL_TIMEOUT)
    # Bounded: a process that survives may hold stdout open, and asyncio waits for that.
    with anyio.move_on_after(KILL_TIMEOUT):
        await process.aclose()


async def wait_for_exit_code(process: Process, seconds: float) -> int | None:
    """The exit code; None while it runs. Not `process.wait`, which also waits for the end of stdout."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110  (the process has no event to wait for)
            await anyio.sleep(POLL_INTERVAL)
    return process.returncode
