"""A connection to one MCP server, owned by one task: opened, kept, dropped."""

import math
from typing import Any, Literal

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client import Transport
from mcp.types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    PaginatedRequestParams,
    TextContent,
)
from pydantic import TypeAdapter, ValidationError

from server.research.http_transport import open_http_transport
from server.research.results import Tool, ToolResult, build_tool, build_tool_result, format_error_text
from server.research.stdio_transport import OutputLimitError, open_stdio_transport
from server.settings import ResearchServer

MAX_PAGES = 10
MAX_TOOLS = 500

_RESULT_ADAPTER: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(
    CallToolResult | InputRequiredResult
)


class Connection:
    """Start `run` in a task of its own, then wait for `opened`."""

    def __init__(self, server: ResearchServer) -> None:
        self.server = server
        self.opened = anyio.Event()  # also when it could not be: then `problem` says why
        self.problem = ""
        self.has_ended = False
        self.ended_at = 0.0
        self.closed = anyio.Event()
        self.tools: tuple[Tool, ...] = ()
        self.listed_at = 0.0
        self.client: Client | None = None
        self.scope = anyio.CancelScope()
        self.broken = anyio.Event()
        self.http_status = 0  # of the last HTTP response, if that was a refusal

    @property
    def has_worked(self) -> bool:
        return self.listed_at > 0

    async def run(self) -> None:
        """Connect, list the tools, and stay connected until the server ends or `drop` is called."""
        try:
            await self.stay_connected("auto")
            if self.has_ended_during_handshake() and self.server.command:
                # Some servers of the older protocol end at the first word they do not know.
                self.problem, self.broken = "", anyio.Event()
                await self.stay_connected("legacy")
        except Exception as error:  # noqa: BLE001  (whatever it is, the server is of no use)
            self.mark_ended(describe_error(error, self.server, self.http_status))
        finally:
            self.mark_ended("the connection was closed")
            self.opened.set()
            self.closed.set()

    def has_ended_during_handshake(self) -> bool:
        return not self.opened.is_set() and self.broken.is_set() and not self.has_ended

    async def stay_connected(self, mode: Literal["auto", "legacy"]) -> None:
        """Be connected. Returns early when the server ends before it has been connected to."""
        limit = self.server.timeout
        if self.has_ended:
            return
        with anyio.CancelScope(deadline=anyio.current_time() + limit) as self.scope:
            try:
                async with Client(self.open_transport(), mode=mode, cache=None) as client:
                    await self.list_tools(client)
                    self.client = client
                    self.scope.deadline = math.inf
                    self.opened.set()
                    await self.broken.wait()
            except Exception:
                if not self.broken.is_set():  # otherwise it is the consequence, and the cause is known
                    raise
        if self.scope.cancelled_caught and not self.opened.is_set():
            self.mark_ended(f"it did not answer within {limit:g} s")

    def mark_unusable(self, problem: str) -> None:
        """Not even try."""
        self.mark_ended(problem)
        self.opened.set()
        self.closed.set()

    def drop(self, problem: str) -> None:
        """Close the connection; calls under way fail. A child process is ended."""
        self.mark_ended(problem)
        self.scope.cancel()

    def mark_ended(self, problem: str) -> None:
        if not self.has_ended:
            self.has_ended, self.ended_at = True, anyio.current_time()
        self.client = None
        self.problem = self.problem or problem

    def handle_child_end(self, problem: str) -> None:
        """The child ended by itself."""
        self.problem = self.problem or problem
        self.broken.set()
        if self.opened.is_set():
            self.mark_ended(problem)

    def open_transport(self) -> Transport:
        return (
            open_stdio_transport(self.server, self.handle_child_end)
            if self.server.command
            else open_http_transport(self.server, self.record_http_status)
        )

    def record_http_status(self, status: int) -> None:
        self.http_status = status

    async def list_tools(self, client: Client) -> None:
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            found += [
                tool
                for each in page.tools
                if (tool := build_tool(each.name, each.description or each.title or "", each.input_schema))
                and self.server.is_tool_allowed(each.name)
            ]
            cursor = page.next_cursor
            if not cursor or len(found) > MAX_TOOLS:
                break
        self.tools = tuple(found[:MAX_TOOLS])
        self.listed_at = anyio.current_time()

    async def refresh(self, max_age: float) -> None:
        """List the tools again if that was longer ago than `age` seconds. Raises nothing."""
        client = self.client
        if client is None or anyio.current_time() - self.listed_at < max_age:
            return
        try:
            with anyio.fail_after(self.server.timeout):
                await self.list_tools(client)
        except Exception as error:  # noqa: BLE001  (whatever it is, the server is of no use)
            self.drop(describe_error(error, self.server))

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool. Raises nothing; what does not come back in time ends the connection."""
        client = self.client
        if client is None:
            return ToolResult(error=self.problem)
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
        try:
            with anyio.fail_after(self.server.timeout):
                # Not `client.call_tool`: it holds results to a schema of the server's own making, and a
                # pattern in that can keep the whole process busy.
                answer = await client.session.send_request(request, _RESULT_ADAPTER)
        except TimeoutError:
            self.drop("the connection was closed after a call that took too long")
            return ToolResult(error=f"there was no answer within {self.server.timeout:g} s")
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                return ToolResult(error=f"the call failed: {await self.find_close_reason()}")
            if error.code == INVALID_REQUEST or self.http_status:  # as after the end of a session
                self.drop("the connection was closed after a refusal")
            return ToolResult(
                error=f"the server refused: {describe_error(error, self.server, self.http_status)}"
            )
        except Exception as error:  # noqa: BLE001  (a model is told of it)
            self.drop(describe_error(error, self.server))
            return ToolResult(error=f"the call failed: {describe_error(error, self.server)}")
        return parse_result(answer, self.server)

    async def find_close_reason(self) -> str:
        """The cause comes to light in the task that owns the connection, a moment later."""
        if not self.problem:
            with anyio.move_on_after(1):
                await self.closed.wait()
        self.drop("the connection to it broke")
        return self.problem


def parse_result(result: CallToolResult | InputRequiredResult, server: ResearchServer) -> ToolResult:
    if isinstance(result, InputRequiredResult):
        return ToolResult(error="the tool asks for something in return, and research tools get nothing")
    texts = [part.text for part in result.content if isinstance(part, TextContent)]
    others = [part.type for part in result.content if not isinstance(part, TextContent)]
    return build_tool_result(texts, others, result.structured_content, server, is_error=result.is_error)


def describe_error(error: BaseException, server: ResearchServer, status: int = 0) -> str:
    """What went wrong, without secrets.

    status: the HTTP status that came with it, if any.
    """
    match error:
        case BaseExceptionGroup():
            text = describe_error(error.exceptions[0], server)
        case MCPError():
            text = format_error_text(error.message, server) or "it does not say why"
        case OutputLimitError():
            text = f"it sent {error}"
        case ValidationError():
            text = "its answer is not as the protocol has it"
        case TimeoutError():
            text = f"it did not answer within {server.timeout:g} s"
        case OSError():
            text = f"it cannot be started: {error.strerror or type(error).__name__}"
        case httpx2.HTTPError():
            text = f"it cannot be reached ({type(error).__name__})"
        case _:
            text = f"it cannot be used ({type(error).__name__})"
    return f"{text} (HTTP {status})" if status else text
