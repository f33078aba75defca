"""The message streams of an MCP server for the SDK's client, with limits on what the server may send.

The SDK's `stdio_client` hides the process and its bytes, so four promises cannot be built on top of it:
messages and unsolicited output have a limit (it buffers a line of any length); output that is no message is
skipped silently (it logs a traceback for each line); an error names the child's exit code; a child is gone with
its own children within a second (it waits up to four, and spares the children of a child that exits by itself).
Starting and killing processes is left to the SDK, and so is streamable HTTP.
"""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from anyio.abc import ObjectReceiveStream, ObjectSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32 import utilities as windows
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter
from pydantic import ValidationError

from server.settings import ResearchServer

MAX_MESSAGE_BYTES = 16_000_000  # a result may hold 8 MB, once as text and once as structured content
MAX_UNSOLICITED_BYTES = 50_000_000
MAX_UNSOLICITED_REQUESTS = 1000
"""Limits on what a child sends after one request of ours: replies, logs, progress, invalid lines."""

LINE_COST = 256  # bytes added to the size of each line: handling even a short line takes time
EXIT_TIMEOUT = 0.25  # seconds in which a child may exit after its stdin or stdout is closed
KILL_TIMEOUT = 0.2  # seconds between SIGTERM and SIGKILL, and between SIGKILL and giving up
POLL_INTERVAL = 0.01
QUEUE_SIZE = 64
HTTP_TIMEOUT = httpx2.Timeout(30, read=300)  # seconds; each call also has a limit of its own
BROKEN_STREAM_ERRORS = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)

Target = ObjectSendStream[SessionMessage | Exception]


class OutputLimitError(Exception):
    """A server sends more than is accepted. The text completes "it sent"."""


# Over HTTP -------------------------------------------------------------------------------------------


@dataclass(eq=False)
class LimitedBody(httpx2.AsyncByteStream):
    """The body of a response. Reading more than `bytes_left` raises OutputLimitError."""

    body: httpx2.AsyncByteStream
    bytes_left: int

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.body:
            self.bytes_left -= len(chunk)
            if self.bytes_left < 0:
                raise OutputLimitError("too much unsolicited output")
            yield chunk

    async def aclose(self) -> None:
        await self.body.aclose()


@asynccontextmanager
async def open_http_transport(
    server: ResearchServer, on_status: Callable[[int], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """on_status: called with the HTTP status of each rejected request, and with 0 for each accepted one."""

    async def check_response(response: httpx2.Response) -> None:
        if response.request.method == "POST":
            on_status(response.status_code if response.is_error else 0)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise OutputLimitError("a compressed response, which was not requested")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = LimitedBody(
            response.stream, MAX_UNSOLICITED_BYTES if is_stream else MAX_MESSAGE_BYTES
        )

    client = httpx2.AsyncClient(
        # Compressed bytes can expand a thousandfold, past any limit on what is received.
        headers={"Accept-Encoding": "identity"} | server.headers,
        timeout=HTTP_TIMEOUT,
        event_hooks={"response": [check_response]},
    )
    transport = streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES)
    async with client, transport as streams:
        yield streams


# A child process -------------------------------------------------------------------------------------


@asynccontextmanager
async def open_stdio_transport(
    server: ResearchServer, on_exit: Callable[[str], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Start a child process and yield its message streams; leaving ends it and all it started.

    on_exit: called once, with the reason, when the child exits or breaks by itself: "it ended (exit code 1)".
    Raises OSError if the process cannot be started.
    """
    with anyio.CancelScope(shield=True):  # a cancelled start would leave a process without an owner
        child = Child(await start_process(server))
    to_client, from_child = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_child, from_client = anyio.create_memory_object_stream[SessionMessage](QUEUE_SIZE)
    with to_client, from_child, to_child, from_client:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(child.read_output, to_client, on_exit)
                tasks.start_soon(child.write_input, from_client)
                try:
                    yield from_child, to_child
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await child.end()


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


class Child:
    """A child process, and what it has sent since the last request to it."""

    def __init__(self, process: Process) -> None:
        assert process.stdin
        assert process.stdout
        self.process = process
        self.stdin = process.stdin
        self.lines = BufferedByteReceiveStream(process.stdout)
        self.byte_count = self.request_count = 0

    async def read_output(self, target: Target, on_exit: Callable[[str], None]) -> None:
        """Forward the child's messages until it exits or exceeds a limit; then close the target."""
        async with target:
            try:
                while True:
                    await self.forward_line(await self.lines.receive_until(b"\n", MAX_MESSAGE_BYTES), target)
                    # Reading buffered bytes never yields, and a child that floods us would block the event loop.
                    await anyio.lowlevel.checkpoint()
            except anyio.DelimiterNotFound:
                reason = f"it sent a message of over {MAX_MESSAGE_BYTES // 1_000_000} MB"
            except OutputLimitError as error:
                reason = f"it sent {error}"
            except anyio.IncompleteRead:
                code = await self.wait_for_exit_code()
                reason = "it closed the connection" if code is None else f"it ended (exit code {code})"
            except BROKEN_STREAM_ERRORS:
                reason = "the connection to it broke"
            on_exit(reason)

    async def forward_line(self, line: bytes, target: Target) -> None:
        """Forward a message. Notifications, which nothing uses, and lines that are no messages are dropped."""
        message = None
        if line.lstrip().startswith(b"{"):
            with suppress(ValidationError):
                message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        self.byte_count += len(line) + LINE_COST
        self.request_count += message is not None and isinstance(message.message, JSONRPCRequest)
        if self.byte_count > MAX_UNSOLICITED_BYTES or self.request_count > MAX_UNSOLICITED_REQUESTS:
            raise OutputLimitError("too much unsolicited output")
        if message and not isinstance(message.message, JSONRPCNotification):
            await target.send(message)

    async def write_input(self, source: ObjectReceiveStream[SessionMessage]) -> None:
        """Send the client's messages. If the child is gone, the reader notices it."""
        with suppress(*BROKEN_STREAM_ERRORS):
            async for message in source:
                if isinstance(message.message, JSONRPCRequest):
                    self.byte_count = self.request_count = 0
                # Not model_dump_json, which refuses the lone surrogates that a model's arguments may hold.
                body = message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
                await self.stdin.send(json.dumps(body).encode() + b"\n")

    async def end(self) -> None:
        """Close stdin, then terminate what is left of the process and its children."""
        with suppress(*BROKEN_STREAM_ERRORS):
            await self.stdin.aclose()
        await self.wait_for_exit_code()
        if sys.platform == "win32":
            await windows.terminate_windows_process_tree(self.process)
            windows.close_process_job(self.process)
        else:
            await terminate_posix_process_tree(self.process, KILL_TIMEOUT)
        # Bounded: a process that survives may hold stdout open, and asyncio waits for that.
        with anyio.move_on_after(KILL_TIMEOUT):
            await self.process.aclose()

    async def wait_for_exit_code(self) -> int | None:
        """The exit code; None while it runs. Not `process.wait`, which also waits for the end of stdout."""
        with anyio.move_on_after(EXIT_TIMEOUT):
            while self.process.returncode is None:  # noqa: ASYNC110  (the process has no event to wait for)
                await anyio.sleep(POLL_INTERVAL)
        return self.process.returncode
