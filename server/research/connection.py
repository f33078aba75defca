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

from server.research.http_transport import reached
from server.research.results import Finding, Tool, finding, listed, said
from server.research.stdio_transport import TooMuch, running
from server.settings import ResearchServer

MOST_PAGES = 10
MOST_TOOLS = 500

_ANSWER: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)


class Connection:
    """Start `run` in a task of its own, then wait for `opened`."""

    def __init__(self, server: ResearchServer) -> None:
        self.server = server
        self.opened = anyio.Event()  # also when it could not be: then `problem` says why
        self.problem = ""
        self.over = False
        self.over_at = 0.0
        self.closed = anyio.Event()
        self.tools: tuple[Tool, ...] = ()
        self.listed_at = 0.0
        self.client: Client | None = None
        self.scope = anyio.CancelScope()
        self.broken = anyio.Event()
        self.status = 0  # of the last HTTP response, if that was a refusal

    @property
    def worked(self) -> bool:
        return self.listed_at > 0

    async def run(self) -> None:
        """Connect, list the tools, and stay connected until the server ends or `drop` is called."""
        try:
            await self.hold("auto")
            if self.ended_unasked() and self.server.command:
                # Some servers of the older protocol end at the first word they do not know.
                self.problem, self.broken = "", anyio.Event()
                await self.hold("legacy")
        except Exception as error:  # noqa: BLE001  (whatever it is, the server is of no use)
            self.fail(reason(error, self.server, self.status))
        finally:
            self.fail("the connection was closed")
            self.opened.set()
            self.closed.set()

    def ended_unasked(self) -> bool:
        return not self.opened.is_set() and self.broken.is_set() and not self.over

    async def hold(self, mode: Literal["auto", "legacy"]) -> None:
        """Be connected. Returns early when the server ends before it has been connected to."""
        limit = self.server.timeout
        if self.over:
            return
        with anyio.CancelScope(deadline=anyio.current_time() + limit) as self.scope:
            try:
                async with Client(self.transport(), mode=mode, cache=None) as client:
                    await self.list_tools(client)
                    self.client = client
                    self.scope.deadline = math.inf
                    self.opened.set()
                    await self.broken.wait()
            except Exception:
                if not self.broken.is_set():  # otherwise it is the consequence, and the cause is known
                    raise
        if self.scope.cancelled_caught and not self.opened.is_set():
            self.fail(f"it did not answer within {limit:g} s")

    def give_up(self, problem: str) -> None:
        """Not even try."""
        self.fail(problem)
        self.opened.set()
        self.closed.set()

    def drop(self, problem: str) -> None:
        """Close the connection; calls under way fail. A child process is ended."""
        self.fail(problem)
        self.scope.cancel()

    def fail(self, problem: str) -> None:
        if not self.over:
            self.over, self.over_at = True, anyio.current_time()
        self.client = None
        self.problem = self.problem or problem

    def end(self, problem: str) -> None:
        """The child ended by itself."""
        self.problem = self.problem or problem
        self.broken.set()
        if self.opened.is_set():
            self.fail(problem)

    def transport(self) -> Transport:
        return running(self.server, self.end) if self.server.command else reached(self.server, self.refused)

    def refused(self, status: int) -> None:
        self.status = status

    async def list_tools(self, client: Client) -> None:
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            found += [
                tool
                for each in page.tools
                if (tool := listed(each.name, each.description or each.title or "", each.input_schema))
                and self.server.allows(each.name)
            ]
            cursor = page.next_cursor
            if not cursor or len(found) > MOST_TOOLS:
                break
        self.tools = tuple(found[:MOST_TOOLS])
        self.listed_at = anyio.current_time()

    async def refresh(self, age: float) -> None:
        """List the tools again if that was longer ago than `age` seconds. Raises nothing."""
        client = self.client
        if client is None or anyio.current_time() - self.listed_at < age:
            return
        try:
            with anyio.fail_after(self.server.timeout):
                await self.list_tools(client)
        except Exception as error:  # noqa: BLE001  (whatever it is, the server is of no use)
            self.drop(reason(error, self.server))

    async def call(self, tool: str, arguments: dict[str, Any]) -> Finding:
        """Call a tool. Raises nothing; what does not come back in time ends the connection."""
        client = self.client
        if client is None:
            return Finding(failed=self.problem)
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
        try:
            with anyio.fail_after(self.server.timeout):
                # Not `client.call_tool`: it holds results to a schema of the server's own making, and a
                # pattern in that can keep the whole process busy.
                answer = await client.session.send_request(request, _ANSWER)
        except TimeoutError:
            self.drop("the connection was closed after a call that took too long")
            return Finding(failed=f"there was no answer within {self.server.timeout:g} s")
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                return Finding(failed=f"the call failed: {await self.why_closed()}")
            if error.code == INVALID_REQUEST or self.status:  # as after the end of a session
                self.drop("the connection was closed after a refusal")
            return Finding(failed=f"the server refused: {reason(error, self.server, self.status)}")
        except Exception as error:  # noqa: BLE001  (a model is told of it)
            self.drop(reason(error, self.server))
            return Finding(failed=f"the call failed: {reason(error, self.server)}")
        return understood(answer, self.server)

    async def why_closed(self) -> str:
        """The cause comes to light in the task that owns the connection, a moment later."""
        if not self.problem:
            with anyio.move_on_after(1):
                await self.closed.wait()
        self.drop("the connection to it broke")
        return self.problem


def understood(answer: CallToolResult | InputRequiredResult, server: ResearchServer) -> Finding:
    if isinstance(answer, InputRequiredResult):
        return Finding(failed="the tool asks for something in return, and research tools get nothing")
    texts = [part.text for part in answer.content if isinstance(part, TextContent)]
    others = [part.type for part in answer.content if not isinstance(part, TextContent)]
    return finding(texts, others, answer.structured_content, server, is_error=answer.is_error)


def reason(error: BaseException, server: ResearchServer, status: int = 0) -> str:
    """What went wrong, without secrets.

    status: the HTTP status that came with it, if any.
    """
    match error:
        case BaseExceptionGroup():
            text = reason(error.exceptions[0], server)
        case MCPError():
            text = said(error.message, server) or "it does not say why"
        case TooMuch():
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
