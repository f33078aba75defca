"""The server over stdin and stdout, and how it ends.

It ends when its client closes stdin (0), on SIGTERM (143) and on SIGINT (130): in each case debates
stop where they are, what they have said is recorded, and the database is closed. The SDK does neither
on a signal: SIGTERM kills it, and after SIGINT it waits for a line that never comes.

Every line is answered that somebody may be waiting for, also one that the SDK cannot read and would
pass over in silence.
"""

import asyncio
import json
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from server.compose import log_to_stderr, open_manager
from server.debate.facts.errors import DebateError
from server.mcp.server import build_server
from server.models import Model
from server.settings import Settings

SHUTDOWN_GRACE = 0.9
"""Seconds after a signal in which the database can be closed. It stays whole if that is not enough."""

logger = logging.getLogger(__name__)

_SURROGATE = re.compile("[\ud800-\udfff]")
_JSON_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_MEMBER_VALUE = re.compile(r'\s*:\s*("[^"\\]{0,200}"|-?(?:0|[1-9]\d{0,17})(?![\d.eE])|)')


def serve_stdio(settings: Settings | None = None, models: Mapping[str, Model] | None = None) -> int:
    """Serve until the client is gone; the exit code of the process. A signal does not return from here.

    `models` are models of your own, by the name that debates use for them.
    """
    try:
        settings = settings or Settings.read()
        log_to_stderr(settings)
        if sys.stdin.isatty():
            sys.stderr.write(
                "Counterpoint waits for an MCP client on stdin. To use it by hand: `counterpoint --help`.\n"
            )
        return anyio.run(serve, settings, models)
    except DebateError as error:
        sys.stderr.write(f"counterpoint: {error}\n")
        return 1


async def serve(settings: Settings, models: Mapping[str, Model] | None = None) -> int:
    """The exit code.

    The hall is opened before anything is read, so that an unusable database ends the process at once,
    and closed whether or not the protocol ends: its reader sits in a thread until a line comes.

    Raises:
        Unreadable: the database cannot be opened.
    """
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    install_signal_handlers(stopped)
    speaking: asyncio.Task[None] | None = None
    code = 0
    try:
        async with open_manager(settings, models, recover=True) as hall:
            speaking = asyncio.create_task(run_protocol(build_server(lambda: nullcontext(hall))))
            either: set[asyncio.Future[Any]] = {speaking, stopped}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not speaking.done():
                speaking.cancel()
    except Exception:
        if speaking is None:
            raise
        logger.exception("The server broke")
        code = 1
    if stopped.done():
        os._exit(128 + stopped.result())
    if not speaking.done():
        os._exit(code)
    if error := speaking.exception():
        logger.error("The connection broke", exc_info=error)
        code = 1
    return code


def install_signal_handlers(stop_signal: asyncio.Future[int]) -> None:
    """Let the first signal stop the server. Plain handlers work on every system; the loop's do not."""
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


# Lines that the SDK cannot read ---------------------------------------------------------------------


async def run_protocol(mcp: MCPServer[Any]) -> None:
    """As `MCPServer.run_stdio_async`, with every line answered.

    `_lowlevel_server` is private to the SDK. When that changes, look at `run_stdio_async`, and at
    `stdio_server`: what we mend are the `ValidationError`s that it sends in place of messages, and it
    is their `input` that holds the line. `tests/mcp/test_server_process.py` notices.
    """
    lowlevel = mcp._lowlevel_server  # noqa: SLF001
    async with stdio_server() as (lines, answers):
        await lowlevel.run(
            RepairingReceiveStream(lines, answers), answers, lowlevel.create_initialization_options()
        )


class RepairingReceiveStream(ObjectReceiveStream[SessionMessage | Exception]):
    """What came in. A line that failed is mended if it can be, and else answered with an error."""

    def __init__(self, incoming: Any, outgoing: Any) -> None:
        self.incoming: ObjectReceiveStream[SessionMessage | Exception] = incoming
        self.outgoing: ObjectSendStream[SessionMessage] = outgoing

    async def receive(self) -> SessionMessage | Exception:
        while isinstance(item := await self.incoming.receive(), ValidationError):
            if message := repair_message(item):
                return SessionMessage(message)
            if error := build_error_response(item):
                await self.outgoing.send(SessionMessage(error))
        return item

    async def aclose(self) -> None:
        await self.incoming.aclose()


def repair_message(error: ValidationError) -> JSONRPCMessage | None:
    """The message in a line with half a surrogate pair, which JSON allows and text does not.

    JavaScript writes one when it cuts a text in the middle of an emoji.
    """
    first = error.errors(include_url=False)[0]
    if first["type"] != "json_invalid":
        return None
    try:
        text = json.dumps(json.loads(first["input"]), ensure_ascii=False)
        return jsonrpc_message_adapter.validate_json(
            _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text), by_name=False
        )
    except (ValueError, RecursionError):
        return None


def build_error_response(error: ValidationError) -> JSONRPCError | None:
    """The answer to a line that cannot be read; None where it is blank."""
    found = error.errors(include_url=False)
    if found[0]["type"] == "json_invalid":
        line = found[0]["input"]
        if not line.strip():
            return None
        request = find_request_id(extract_top_level_members(line))
        code = PARSE_ERROR if request is None else INVALID_REQUEST
        told = f"This line cannot be read. {found[0]['msg']}."
    else:
        # Whatever a message lacks, the whole of it is the input.
        request = find_request_id(next((one["input"] for one in found if one["type"] == "missing"), None))
        code = INVALID_REQUEST
        told = (
            "This is no message of JSON-RPC 2.0: one object a line, with jsonrpc, method, and id and params."
        )
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=told))


def extract_top_level_members(line: str) -> dict[str, Any]:
    """The members of the outermost object in a line that is no JSON, or too deep, or has too large a number.

    The values are there only where they are short strings or whole numbers.
    """
    members: dict[str, Any] = {}
    depth = 0
    for token in _JSON_TOKEN.finditer(line):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
        elif depth == 1 and (value := _MEMBER_VALUE.match(line, token.end())):
            members[token[0].strip('"')] = json.loads(value[1], strict=False) if value[1] else None
    return members


def find_request_id(message: Any) -> RequestId | None:
    """The id under which somebody waits for an answer. That of a response is one of our own."""
    if not isinstance(message, dict) or message.keys() & {"result", "error"}:
        return None
    found = message.get("id")
    return found if type(found) in (int, str) else None
