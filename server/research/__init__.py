"""Research: the tools of other MCP servers, which moderators and debaters may call.

The servers are those of the settings. One is started or connected to when it is first needed, and kept;
what goes wrong with it is a fact that models are told of, and stops nothing.
"""

import logging
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Self

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Lookup
from server.debate.facts.text import clean, collapse_whitespace
from server.debate.prompts.tool_schemas import Function, FunctionCall, parse_arguments
from server.research.results import MAX_ARGUMENTS_LENGTH, Offer, Tool, ToolResult, build_offers
from server.settings import ResearchServer

if TYPE_CHECKING:
    from server.research.connection import Connection

MAX_TOOLS_AGE = 30.0
"""Seconds for which a list of tools is believed."""

RETRY_DELAY = 30.0
"""Seconds after which a server that could not be used is tried again."""

MAX_NAME_LENGTH = 100

logger = logging.getLogger(__name__)


class Research:
    """Open it once a process: `async with Research.open(settings.mcp_servers) as research`.

    `names` are everywhere what a debate asks for: "NAME" for all tools of a server that the settings
    allow, "NAME/tool" for one.
    """

    def __init__(self, servers: Mapping[str, ResearchServer], tasks: TaskGroup, retry_delay: float) -> None:
        self.servers = dict(servers)
        self.tasks = tasks
        self.retry_delay = retry_delay
        self.connections: dict[str, Connection] = {}
        self.closed = False

    @classmethod
    @asynccontextmanager
    async def open(
        cls, servers: Mapping[str, ResearchServer], *, retry_delay: float = RETRY_DELAY
    ) -> AsyncIterator[Self]:
        """Nothing is started yet. Leaving it ends every child, within a second.

        pause: seconds after which a server that could not be used is tried again.
        """
        tasks = anyio.create_task_group()
        await tasks.__aenter__()
        research = cls(servers, tasks, retry_delay)
        try:
            yield research
        finally:
            # Closed by hand: left to `async with`, it would wrap what the caller raises into a group.
            research.closed = True
            tasks.cancel_scope.cancel()
            await tasks.__aexit__(None, None, None)

    def check(self, names: Sequence[str], *, for_debater: bool = False) -> None:
        """Whether a debate may ask for these, as far as that can be told without asking the servers.

        Raises:
            Refused: one is not in the settings, or not for debaters.
        """
        for name in names:
            server_name, slash, tool = name.partition("/")
            server = self.servers.get(server_name)
            if server is None:
                raise InvalidRequestError(
                    f"There is no research server {server_name[:60]!r}. {self.describe_servers()}"
                )
            if slash and not (tool and server.is_tool_allowed(tool)):
                allowed = "NAME or NAME/tool" if server.tools is None else ", ".join(server.tools) or "none"
                raise InvalidRequestError(
                    f"The research server {server_name} cannot be asked for {tool[:60]!r}. "
                    f"Allowed: {allowed}."
                )
            if for_debater and not server.debaters:
                raise InvalidRequestError(
                    f"The research server {server_name} is for the moderator only. To let debaters use it, "
                    f"set debaters = true in mcpServers.{server_name}."
                )

    def describe_servers(self) -> str:
        if not self.servers:
            return "None is configured: see mcpServers in the settings."
        return f"Configured: {', '.join(sorted(self.servers))}."

    async def list_functions(self, names: Sequence[str]) -> tuple[Function, ...]:
        """The tools that these servers offer now, as functions. What is missing, `problems` tells."""
        return tuple(offer.function for offer in await self.list_offers(names))

    def find_problems(self, names: Sequence[str]) -> tuple[str, ...]:
        """What of this could not be used when it was last tried, and why: a sentence each."""
        found: dict[str, None] = {}
        for name in names:
            server, _, tool = name.partition("/")
            connection = self.connections.get(server)
            if server not in self.servers:
                found[f"There is no research server {server[:60]!r} in the settings."] = None
            elif connection and connection.has_ended:
                found[f"The research server {server} cannot be used: {connection.problem}."] = None
            elif connection and tool and tool not in (each.name for each in connection.tools):
                found[f"The research server {server} has no tool {tool[:60]!r}."] = None
        return tuple(found)

    async def look_up(self, call: FunctionCall, names: Sequence[str]) -> Lookup:
        """Call the function that a model has called. Raises nothing: what went wrong is in the answer."""
        began = anyio.current_time()
        tool = collapse_whitespace(clean(call.name))[:MAX_NAME_LENGTH]
        try:
            offered = await self.list_offers(names)
            offer = next((each for each in offered if each.function.name == call.name), None)
            if offer is None:
                found = ToolResult(error=self.explain_unknown_function(offered, names))
            else:
                tool = f"{offer.server}/{offer.tool}"
                found = await self.call_tool(offer, call)
        except Exception:
            logger.exception("The research tool %s could not be called", tool)
            found = ToolResult(error="the call failed by a fault of ours")
        return Lookup(
            tool=tool,
            arguments=clean(call.arguments[:MAX_ARGUMENTS_LENGTH]),
            result=found.text,
            failed=found.error,
            cut=found.cut,
            milliseconds=round((anyio.current_time() - began) * 1000),
        )

    def explain_unknown_function(self, offers: Sequence[Offer], names: Sequence[str]) -> str:
        there = ", ".join(offer.function.name for offer in offers)
        if there:
            return f"there is no such function; there are: {there}"
        return " ".join(["there is no function to call.", *self.find_problems(names)])

    async def call_tool(self, offer: Offer, call: FunctionCall) -> ToolResult:
        try:
            arguments = parse_arguments(call, MAX_ARGUMENTS_LENGTH)
        except ValueError as error:
            return ToolResult(error=str(error))
        connection = await self.get_connection(offer.server)
        return await connection.call(offer.tool, arguments)

    async def count_tools(self, name: str) -> int | str:
        """How many tools a server offers, or why it cannot be used."""
        connection = await self.get_connection(name)
        return connection.problem if connection.has_ended else len(connection.tools)

    async def list_offers(self, names: Sequence[str]) -> tuple[Offer, ...]:
        servers = list(dict.fromkeys(name.partition("/")[0] for name in names))
        async with anyio.create_task_group() as tasks:
            for server in servers:
                if server in self.servers:
                    tasks.start_soon(self.get_connection, server)
        return build_offers((server, tool) for server in servers for tool in self.select_tools(server, names))

    def select_tools(self, server: str, names: Sequence[str]) -> Iterable[Tool]:
        """The tools of a server that are asked for."""
        connection = self.connections.get(server)
        if connection is None or connection.has_ended:
            return ()
        return (tool for tool in connection.tools if server in names or f"{server}/{tool.name}" in names)

    async def get_connection(self, name: str) -> "Connection":
        """The connection to a server, opened if there is none. Where it cannot be, it is `over`."""
        if "mcp" not in sys.modules:  # half a second in which nothing else would happen
            await anyio.to_thread.run_sync(import_module, "mcp")
        from server.research.connection import Connection  # noqa: PLC0415  (brings the SDK with it)

        current = self.connections.get(name)
        if current is None or self.can_replace(current):
            current = self.connections[name] = Connection(self.servers[name])
            if self.closed:
                current.mark_unusable("the server is closing")
            else:
                self.tasks.start_soon(current.run)
        await current.opened.wait()
        await current.refresh(MAX_TOOLS_AGE)
        return current

    def can_replace(self, connection: "Connection") -> bool:
        """At once if it has worked; if not, after a pause, so that not every question waits for it."""
        return connection.has_ended and (
            connection.has_worked or anyio.current_time() - connection.ended_at >= self.retry_delay
        )
