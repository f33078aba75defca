"""The server over stdin and stdout.

It ends when the client closes stdin (exit code 0), on SIGTERM (143), SIGHUP (129) and SIGINT (130). In each case
running debates stop, their turns are recorded and the database is closed. The SDK handles no signals:
SIGTERM kills it, and after SIGINT it waits for another line on stdin.

Lines that the SDK cannot parse, and ignores, are repaired or answered with an error.
"""

import asyncio
import gc
import json
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from server.debate.facts.errors import DebateError
from server.mcp.late_manager import LateManager
from server.mcp.server import build_server, list_tool_names
from server.redaction import redact_error
from server.settings import Settings
from server.startup import handle_hangup, log_to_stderr, open_storage, open_telemetry, require_packages
from storage.storage import Storage

if TYPE_CHECKING:
    from server.engine.debates import DebateManager
    from server.models.own import OwnModel

SHUTDOWN_GRACE = 0.9
"""Seconds from a signal to the end of the process. The database stays consistent if closing takes longer."""

NOT_JSON_RPC = (
    "This is not a JSON-RPC 2.0 message: one object on a line, with jsonrpc, method, id and params."
)

logger = logging.getLogger(__name__)

_SURROGATE = re.compile("[\ud800-\udfff]")


def serve_stdio(settings: Settings | None = None, models: Mapping[str, "OwnModel"] | None = None) -> int:
    """Serve until the client disconnects, and return the exit code. A signal ends the process instead.

    `models` are additional models, by the name that debates use for them.
    """
    try:
        settings = settings or Settings.read()
        log_to_stderr(settings)
        if sys.stdin.isatty():
            sys.stderr.write(
                "Counterpoint waits for an MCP client on stdin. By hand: `counterpoint --help`.\n"
            )
        return anyio.run(serve, settings, models)
    except DebateError as error:
        sys.stderr.write(f"counterpoint: {redact_error(str(error))}\n")
        return 1


async def serve(settings: Settings, models: Mapping[str, "OwnModel"] | None = None) -> int:
    """Serve until the client disconnects or a signal arrives, and return the exit code.

    The database is opened before the first line is read, so that one that cannot be used raises
    StorageUnavailableError at once; an invalid file of hooks raises InvalidSettingsError. The manager is closed even if
    the protocol does not end: the SDK's reader blocks until a line arrives.
    """
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    install_signal_handlers(stopped)
    protocol: asyncio.Task[None] | None = None
    code = 0
    require_packages(settings)
    if settings.hooks:
        from server.compose import prepare_hooks  # noqa: PLC0415  (slow)

        prepare_hooks(settings, os.environ)  # before a database is made: an invalid file is an error
    try:
        with open_telemetry(os.environ, list_tool_names()) as telemetry:
            async with (
                open_storage(settings) as storage,
                open_late_manager(settings, models, storage, telemetry=telemetry) as (manager, managing),
            ):
                server = build_server(
                    manager, meter=telemetry.measure_requests("pipe") if telemetry else None
                )
                protocol = asyncio.create_task(run_protocol(server))
                events: set[asyncio.Future[Any]] = {protocol, managing, stopped}
                await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
                protocol.cancel()
    except Exception:
        if protocol is None:
            raise
        logger.exception("Server failed")
        code = 1
    if stopped.done():
        os._exit(128 + stopped.result())
    if not protocol.done():
        os._exit(code)
    if error := protocol.exception():
        logger.error("Connection failed", exc_info=error)
        code = 1
    return code


@asynccontextmanager
async def open_late_manager(
    settings: Settings,
    models: Mapping[str, "OwnModel"] | None,
    storage: Storage,
    **options: Any,
) -> AsyncIterator[tuple[LateManager, asyncio.Task[None]]]:
    """A manager that is opened when it is needed, and the task that holds it open, which ends early only if it fails.

    `options`: passed on to `open_manager`. Raises what the manager raises, such as InvalidSettingsError for hooks.
    """

    def open_now() -> AbstractAsyncContextManager["DebateManager"]:
        gc.disable()  # as at the start of the program: imported modules are never freed
        if will_ask_providers(settings, os.environ):  # import the client while the engine is imported
            from server.models.providers import connections  # noqa: PLC0415

            connections.start_import()
        from server.compose import open_manager  # noqa: PLC0415  (slow)

        gc.freeze()
        gc.enable()
        return open_manager(settings, models, recover=True, storage=storage, **options)

    manager = LateManager(open_now)
    managing = asyncio.create_task(manager.run(storage, settings.max_recovery_age_hours))
    try:
        if settings.hooks or models:  # they may be invalid, and hooks follow what other processes record
            await manager.get_unscoped()
        yield manager, managing
    finally:
        manager.close()
        await managing


def will_ask_providers(settings: Settings, environ: Mapping[str, str]) -> bool:
    """Whether the configured models look like models of providers."""
    if settings.models:
        return any("/" in name for name in settings.models)
    return any(name.endswith("_API_KEY") for name in environ)


def install_signal_handlers(stop_signal: asyncio.Future[int]) -> None:
    """Stop the server at the first signal. Plain handlers work on every system; the event loop's do not."""
    loop = asyncio.get_running_loop()

    def stop(signal_number: int, _frame: object) -> None:
        watchdog = threading.Timer(SHUTDOWN_GRACE, os._exit, (128 + signal_number,))
        watchdog.daemon = True
        watchdog.start()
        loop.call_soon_threadsafe(record_signal, signal_number)

    def record_signal(signal_number: int) -> None:
        if not stop_signal.done():
            stop_signal.set_result(signal_number)

    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):  # the last is Windows' way to end a child
        if number := getattr(signal, name, None):
            signal.signal(number, stop)
    handle_hangup(stop)


async def run_protocol(server: Server[LateManager]) -> None:
    """Serve one client, with a stream that handles lines which the SDK cannot parse.

    It relies on `stdio_server` sending a `ValidationError`, whose `input` holds the line, which is private to
    the SDK; tests/mcp/test_server_process.py covers it.
    """
    wire = os.dup(sys.stdout.fileno())  # before the SDK redirects stdout to stderr
    try:
        async with stdio_server() as (incoming, unused), anyio.create_task_group() as tasks:
            await unused.aclose()
            outgoing = OutgoingMessages(partial(write_whole, wire))
            tasks.start_soon(outgoing.deliver)
            repaired = RepairingReceiveStream(incoming, outgoing)
            await server.run(repaired, outgoing, server.create_initialization_options())
            await outgoing.aclose()
    finally:
        os.close(wire)


MAX_WAITING = 16
"""Messages that may wait for the client. While more wait, nothing is read from the client."""


@dataclass
class OutgoingMessages(ObjectSendStream[SessionMessage]):
    """`write`: writes bytes to the client, and blocks until they are written. `deliver` calls it in a thread."""

    write: Callable[[bytes], None]
    waiting: int = 0  # messages that are not written yet
    _lines: list[bytes] = field(default_factory=list)  # messages that no thread is writing yet
    _added: anyio.Event = field(default_factory=anyio.Event)  # set and replaced with each message
    _written: anyio.Event = field(default_factory=anyio.Event)  # set and replaced after each write
    _is_closed: bool = False
    _limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    async def send(self, item: SessionMessage) -> None:
        """Queue a message. Returns once fewer than MAX_WAITING messages wait. Raises ClosedResourceError."""
        if self._is_closed:
            raise anyio.ClosedResourceError
        self._lines.append(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        self.waiting += 1
        self._added.set()
        await self.wait_for_room()

    async def wait_for_room(self) -> None:
        while self.waiting >= MAX_WAITING:
            await self._written.wait()

    async def deliver(self) -> None:
        """Write messages until the stream is closed and all are written. Raises OSError if the client is gone."""
        while self._lines or not self._is_closed:
            if not self._lines:
                await self._added.wait()
                self._added = anyio.Event()
                continue
            lines, self._lines = self._lines, []
            await to_thread.run_sync(self.write, b"".join(lines), limiter=self._limiter)
            self.waiting -= len(lines)
            self._written.set()
            self._written = anyio.Event()

    async def aclose(self) -> None:
        self._is_closed = True
        self._added.set()


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all of it to a file. Raises OSError."""
    unwritten = memoryview(data)
    while unwritten:
        unwritten = unwritten[os.write(descriptor, unwritten) :]


@dataclass
class RepairingReceiveStream(ObjectReceiveStream[SessionMessage | Exception]):
    """Incoming messages. A line that failed to parse is repaired, or answered with an error.

    Nothing is read while too many answers wait to be written: otherwise a client that asks but does not read would fill
    the server's memory.
    """

    incoming: ObjectReceiveStream[SessionMessage | Exception]
    outgoing: OutgoingMessages

    async def receive(self) -> SessionMessage | Exception:
        await self.outgoing.wait_for_room()
        while isinstance(item := await self.incoming.receive(), ValidationError):
            errors = item.errors(include_url=False)
            line = errors[0]["input"]
            if errors[0]["type"] != "json_invalid":
                # The input of an error about a missing member is the whole message.
                message = next((error["input"] for error in errors if error["type"] == "missing"), None)
                await self.refuse(message, types.INVALID_REQUEST, NOT_JSON_RPC)
            elif line.strip():
                message = None
                with suppress(ValueError, RecursionError):
                    message = json.loads(line)
                    return SessionMessage(repair_message(message))
                code = types.PARSE_ERROR if message is None else types.INVALID_REQUEST
                await self.refuse(message, code, f"This line cannot be read. {errors[0]['msg']}.")
        return item

    async def refuse(self, message: Any, code: int, reason: str) -> None:
        """Answer with an error that has the id of the request; without an id, by JSON-RPC, if the id is unknown."""
        # The id of a response is that of a request of ours: it must not be answered.
        is_request = isinstance(message, dict) and not message.keys() & {"result", "error"}
        request_id = message.get("id") if is_request else None
        error_id = request_id if type(request_id) in (int, str) else None
        error = types.ErrorData(code=code, message=reason)
        await self.outgoing.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=error_id, error=error)))

    async def aclose(self) -> None:
        await self.incoming.aclose()


def repair_message(message: Any) -> types.JSONRPCMessage:
    """The message with unpaired surrogates replaced. Raises ValueError if it is not valid without them.

    JSON allows unpaired surrogates and Unicode text does not. JavaScript writes one when it cuts a text in
    the middle of an emoji.
    """
    text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", json.dumps(message, ensure_ascii=False))
    return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
