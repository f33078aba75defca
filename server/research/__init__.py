"""Research: tools of other MCP servers that seats of a debate may call.

The servers are those of the settings. A server is started, or connected to, when it is first needed, and stays
connected. Its failures are recorded as results that the model sees; they never stop a debate.
"""

import logging
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Self

import anyio
import anyio.to_thread

from server.background_tasks import BackgroundTasks
from server.debate.facts.answers import Lookup
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.text import clean, clean_line, collapse_whitespace
from server.debate.prompts.prompt import Function, FunctionCall, parse_arguments
from server.redaction import learn_secrets
from server.settings import ResearchServer

if TYPE_CHECKING:
    from server.research.connection import Connection

MAX_LIST_AGE = 30.0  # seconds after which a server is asked again for its list of tools
RETRY_DELAY = 30.0
"""Seconds after which a server that never worked is tried again, so that not every call waits for it."""

MAX_ARGUMENTS_LENGTH = 4_000
MAX_FUNCTIONS = 32
MAX_FUNCTION_NAME_LENGTH = 64
MAX_NAME_LENGTH = 100
MAX_PATH_LENGTH = 200  # of "server/tool", as it is recorded
MAX_PROBLEM_LENGTH = 4_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call. At most one of `text` and `error` is set; neither if the tool found nothing."""

    text: str = ""
    error: str = ""
    cut: bool = False


class Research:
    """The research servers of a process: `async with Research(settings.mcp_servers) as research`.

    `names` are the tools that a debate asks for: "NAME" for all allowed tools of a server, "NAME/tool" for one of them.
    """

    def __init__(self, servers: Mapping[str, ResearchServer], *, retry_delay: float = RETRY_DELAY) -> None:
        learn_secrets(secret for server in servers.values() for secret in server.find_secrets())
        self.servers = servers
        self.retry_delay = retry_delay
        self.tasks = BackgroundTasks()
        self.connections: dict[str, Connection] = {}
        self.closed = False

    async def __aenter__(self) -> Self:
        """No server is started yet."""
        await self.tasks.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End every child process within a second."""
        self.closed = True
        await self.tasks.__aexit__()

    def check(self, names: Sequence[str], *, for_debater: bool = False) -> None:
        """Check names against the settings; the servers themselves are not asked.

        Raises InvalidRequestError for a name that is not in the settings, or not allowed for debaters.
        """
        for name in names:
            server_name, slash, tool = name.partition("/")
            server = self.servers.get(server_name)
            if server is None:
                listing = ", ".join(sorted(self.servers))
                hint = (
                    f"Configured: {listing}"
                    if listing
                    else "None is configured: see mcpServers in the settings"
                )
                raise InvalidRequestError(f"There is no research server {server_name[:60]!r}. {hint}.")
            if slash and not (tool and server.is_tool_allowed(tool)):
                tools = "NAME or NAME/tool" if server.tools is None else ", ".join(server.tools) or "none"
                raise InvalidRequestError(
                    f"The research server {server_name} has no allowed tool {tool[:60]!r}. Allowed: {tools}."
                )
            if for_debater and not server.debaters:
                raise InvalidRequestError(
                    f"The research server {server_name} is not for debaters. To let them use it, "
                    f"set debaters = true in mcpServers.{server_name}."
                )

    async def list_functions(self, names: Sequence[str]) -> tuple[Function, ...]:
        """The tools that these servers offer now, as functions. `find_problems` says what is missing."""
        return tuple(function for function, _ in (await self.load_functions(names)).values())

    async def load_functions(self, names: Sequence[str]) -> dict[str, tuple[Function, str]]:
        """(function, "server/tool") by a unique name that providers accept, for the first 32 tools."""
        server_names = dict.fromkeys(name.partition("/")[0] for name in names)
        servers = [server for server in server_names if server in self.servers]
        async with anyio.create_task_group() as tasks:
            for server in servers:
                tasks.start_soon(self.get_connection, server)
        connections = [(server, self.connections[server]) for server in servers]
        tools = [(server, tool) for server, c in connections if not c.has_ended for tool in c.tools]
        wanted_tools = [row for row in tools if row[0] in names or f"{row[0]}/{row[1].name}" in names]
        functions: dict[str, tuple[Function, str]] = {}
        for server, tool in wanted_tools[:MAX_FUNCTIONS]:
            plain = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}__{tool.name}")
            name, count = plain[:MAX_FUNCTION_NAME_LENGTH], 1
            while name in functions:
                count += 1
                name = f"{plain[: MAX_FUNCTION_NAME_LENGTH - 3]}_{count}"
            functions[name] = replace(tool, name=name), f"{server}/{tool.name}"
        return functions

    def find_problems(self, names: Sequence[str]) -> tuple[str, ...]:
        """A sentence for each server or tool that could not be used when it was last tried."""
        problems: dict[str, None] = {}
        for name in names:
            server, _, tool = name.partition("/")
            connection = self.connections.get(server)
            if server not in self.servers:
                problems[f"There is no research server {server[:60]!r} in the settings."] = None
            elif connection and connection.has_ended:
                problems[f"The research server {server} cannot be used: {connection.problem}."] = None
            elif connection and tool and tool not in (row.name for row in connection.tools):
                problems[f"The research server {server} has no tool {tool[:60]!r}."] = None
        return tuple(problems)

    async def look_up(self, call: FunctionCall, names: Sequence[str]) -> Lookup:
        """Make the call that a model asked for. It never raises: failures are in the result."""
        start = anyio.current_time()
        path = collapse_whitespace(clean(call.name))[:MAX_NAME_LENGTH]
        try:
            functions = await self.load_functions(names)
            if call.name in functions:
                _, path = functions[call.name]
                result = await self.call_tool(path, call)
            elif functions:
                result = ToolResult(error=f"there is no such function; there are: {', '.join(functions)}")
            else:
                problems = self.find_problems(names)
                result = ToolResult(error=" ".join(["there is no function to call.", *problems]))
        except Exception:
            logger.exception("Research tool %s: call failed", path)
            result = ToolResult(error="the call failed because of an internal error")
        return Lookup(
            tool=clean_line(path)[:MAX_PATH_LENGTH],
            arguments=clean(call.arguments[:MAX_ARGUMENTS_LENGTH]),
            result=result.text,
            failed=result.error[:MAX_PROBLEM_LENGTH],
            cut=result.cut,
            milliseconds=round((anyio.current_time() - start) * 1000),
        )

    async def call_tool(self, path: str, call: FunctionCall) -> ToolResult:
        try:
            arguments = parse_arguments(call, MAX_ARGUMENTS_LENGTH)
        except ValueError as error:
            return ToolResult(error=str(error))
        server, _, tool = path.partition("/")
        return await (await self.get_connection(server)).call(tool, arguments)

    async def count_tools(self, name: str) -> int | str:
        """How many tools a server offers, or why it cannot be used."""
        connection = await self.get_connection(name)
        return connection.problem if connection.has_ended else len(connection.tools)

    async def get_connection(self, name: str) -> "Connection":
        """The connection to a server, opened if there is none. If it cannot be used, it `has_ended`."""
        if "mcp" not in sys.modules:  # importing it takes half a second, too long for the event loop
            await anyio.to_thread.run_sync(import_module, "mcp")
        from server.research.connection import Connection  # noqa: PLC0415  (brings the SDK with it)

        connection = self.connections.get(name)
        oldest = anyio.current_time() - self.retry_delay
        if connection is None or (
            connection.has_ended and (connection.listed_at or connection.ended_at <= oldest)
        ):
            connection = self.connections[name] = Connection(self.servers[name])
            if self.closed:
                connection.mark_ended("the server is closing")
            else:
                self.tasks.start(connection.run)
        await connection.opened.wait()
        await connection.refresh(MAX_LIST_AGE)
        return connection
