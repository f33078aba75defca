"""A connection to one MCP server, owned by one task. Its tools and results are converted for models."""

import json
import math
from typing import Any, Literal

import anyio
import httpx2
from mcp import Client, MCPError, types
from pydantic import TypeAdapter, ValidationError

from server.debate.facts.text import clean, clean_line
from server.debate.prompts.prompt import Function
from server.redaction import redact, redact_error
from server.research import ToolResult, transports
from server.settings import ResearchServer

MAX_PAGES = 10
MAX_TOOLS = 500
MAX_TOOL_NAME_LENGTH = 200
MAX_SCHEMA_BYTES = 8_000
MAX_DESCRIPTION_LENGTH = 500
MAX_RESULT_LENGTH = 8_000
MAX_ERROR_LENGTH = 300

CallResult = types.CallToolResult | types.InputRequiredResult
_RESULT_ADAPTER: TypeAdapter[CallResult] = TypeAdapter(CallResult)


class Connection:
    """Start `run` in its own task, then wait for `opened`."""

    def __init__(self, server: ResearchServer) -> None:
        self.server = server
        self.opened = anyio.Event()  # connected, or failed: then `has_ended`
        self.problem = ""
        self.has_ended = False
        self.ended_at = 0.0
        self.closed = anyio.Event()
        self.tools: tuple[Function, ...] = ()
        self.listed_at = 0.0  # 0 if the server never worked
        self.client: Client | None = None
        self.scope = anyio.CancelScope()
        self.exited = anyio.Event()  # the child process ended by itself
        self.http_status = 0  # of the last HTTP response, if it was an error

    async def run(self) -> None:
        """Connect, list the tools, and stay connected until the server ends or `drop` is called."""
        try:
            await self.stay_connected("auto")
            if self.exited.is_set() and not self.opened.is_set():
                # Some servers of the older protocol exit at the first method they do not know.
                self.problem, self.exited = "", anyio.Event()
                await self.stay_connected("legacy")
        except Exception as error:  # noqa: BLE001  (whatever the error, the server cannot be used)
            self.mark_ended(self.describe(error))
        finally:
            self.mark_ended("the connection was closed")
            self.closed.set()

    async def stay_connected(self, mode: Literal["auto", "legacy"]) -> None:
        """Connect, and stay until the connection ends. Returns early if the server exits during the handshake."""
        server, limit = self.server, self.server.timeout
        if server.command:
            transport = transports.open_stdio_transport(server, self.handle_exit)
        else:
            transport = transports.open_http_transport(server, self.record_http_status)
        with anyio.CancelScope(deadline=anyio.current_time() + limit) as self.scope:
            try:
                async with Client(transport, mode=mode, cache=None) as client:
                    await self.list_tools(client)
                    self.client = client
                    self.scope.deadline = math.inf
                    self.opened.set()
                    await self.exited.wait()
            except Exception:
                if not self.exited.is_set():  # otherwise the error is a consequence of the exit
                    raise
        if self.scope.cancelled_caught:
            self.mark_ended(f"it did not answer within {limit:g} s")

    def handle_exit(self, problem: str) -> None:
        self.problem = self.problem or problem
        self.exited.set()
        if self.opened.is_set():
            self.mark_ended(problem)

    def record_http_status(self, status: int) -> None:
        self.http_status = status

    def drop(self, problem: str) -> None:
        """Close the connection; calls in progress fail. A child process is ended."""
        self.mark_ended(problem)
        self.scope.cancel()

    def mark_ended(self, problem: str) -> None:
        if not self.has_ended:
            self.has_ended, self.ended_at = True, anyio.current_time()
        self.client = None
        self.problem = self.problem or problem
        self.opened.set()

    async def list_tools(self, client: Client) -> None:
        tools: list[Function] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            allowed_tools = (tool for tool in page.tools if self.server.is_tool_allowed(tool.name))
            tools += filter(None, map(build_function, allowed_tools))
            cursor = page.next_cursor
            if not cursor or len(tools) > MAX_TOOLS:
                break
        self.tools = tuple(tools[:MAX_TOOLS])
        self.listed_at = anyio.current_time()

    async def refresh(self, max_age: float) -> None:
        """List the tools again if the list is older than `max_age` seconds. It never raises."""
        try:
            if self.client and anyio.current_time() - self.listed_at >= max_age:
                with anyio.fail_after(self.server.timeout):
                    await self.list_tools(self.client)
        except Exception as error:  # noqa: BLE001  (whatever it is, the server cannot be used)
            self.drop(self.describe(error))

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool. It never raises; a call that times out ends the connection."""
        if self.client is None:
            return ToolResult(error=self.problem)
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
        try:
            with anyio.fail_after(self.server.timeout):
                # Not `client.call_tool`: it validates results against the server's own schema, and a pattern in the
                # schema can block the whole process.
                result = await self.client.session.send_request(request, _RESULT_ADAPTER)
        except TimeoutError:
            self.drop("the connection was closed after a call that took too long")
            return ToolResult(error=f"there was no answer within {self.server.timeout:g} s")
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                # The task that owns the connection learns the cause a moment later.
                with anyio.move_on_after(0 if self.problem else 1):
                    await self.closed.wait()
                self.drop("the connection to it broke")
                return ToolResult(error=f"the call failed: {self.problem}")
            if error.code == types.INVALID_REQUEST or self.http_status:  # the session may have ended
                self.drop("the connection was closed after a rejected request")
            return ToolResult(error=f"the server rejected the call: {self.describe(error)}")
        except Exception as error:  # noqa: BLE001  (the model gets it as the result)
            reason = self.describe(error)
            self.drop(reason)
            return ToolResult(error=f"the call failed: {reason}")
        return parse_result(result)

    def describe(self, error: BaseException) -> str:
        """The cause of a failure without secrets, such as "it cannot be reached (ConnectError)"."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        match error:
            case MCPError():
                text = format_error_text(error.message) or "no reason given"
            case transports.OutputLimitError():
                text = f"it sent {error}"
            case ValidationError():
                text = "its answer does not follow the protocol"
            case TimeoutError():
                text = f"it did not answer within {self.server.timeout:g} s"
            case OSError():
                text = f"it cannot be started: {error.strerror or type(error).__name__}"
            case httpx2.HTTPError():
                text = f"it cannot be reached ({type(error).__name__})"
            case _:
                text = f"it cannot be used ({type(error).__name__})"
        return f"{text} (HTTP {self.http_status})" if self.http_status else text


def build_function(tool: types.Tool) -> Function | None:
    """A tool as a function, or None if its name or its schema is too large for a prompt."""
    try:
        schema_size = len(json.dumps(tool.input_schema, ensure_ascii=False).encode())
    except (ValueError, RecursionError):  # cannot be sent to a provider either
        return None
    if len(tool.name) > MAX_TOOL_NAME_LENGTH or schema_size > MAX_SCHEMA_BYTES:
        return None
    description = redact(clean_line((tool.description or tool.title or "")[: 4 * MAX_DESCRIPTION_LENGTH]))
    return Function(tool.name, description[:MAX_DESCRIPTION_LENGTH], tool.input_schema)


def parse_result(result: CallResult) -> ToolResult:
    if isinstance(result, types.InputRequiredResult):
        return ToolResult(error="the tool asks for input, which research tools do not get")
    parts = result.content
    all_text = "\n\n".join(part.text for part in parts if isinstance(part, types.TextContent) and part.text)
    if not all_text and result.structured_content is not None:
        all_text = json.dumps(result.structured_content, ensure_ascii=False)
    if result.is_error:
        reason = format_error_text(all_text)
        return ToolResult(error=f"the tool failed{f': {reason}' if reason else ' without a reason'}")
    if not all_text and (kinds := " and ".join(sorted({part.type for part in parts} - {"text"}))):
        return ToolResult(error=f"the tool returned {kinds}, and no text")
    # Cut twice: before cleaning, which is slow, and after it, so that no cut splits a secret before it is redacted.
    text = redact(clean(all_text[: 4 * MAX_RESULT_LENGTH]))
    is_cut = len(text) > MAX_RESULT_LENGTH or len(all_text) > 4 * MAX_RESULT_LENGTH
    return ToolResult(text[:MAX_RESULT_LENGTH], cut=is_cut)


def format_error_text(text: str) -> str:
    """An error message of a server on one line, short and without secrets."""
    line = redact_error(clean_line(text[: 4 * MAX_ERROR_LENGTH]))
    return line if len(line) <= MAX_ERROR_LENGTH else line[: MAX_ERROR_LENGTH - 1].rstrip() + "…"
