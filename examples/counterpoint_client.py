"""A client of Counterpoint, which the other examples import: copy it along with the one that you copy.

It starts a server of its own, with the models and keys of the environment. Whatever is refused ends the script with the
refusal's text and exit code 1.
"""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters


def run(
    main: Callable[[Client], Awaitable[None]], settings: dict[str, str] | None = None, **options: Any
) -> None:
    """Run `main` with a client. `settings`: of the server, where the environment has none; `options`: of the client."""
    environment = {**(settings or {}), **os.environ}
    server = StdioServerParameters(command=sys.executable, args=["-m", "counterpoint"], env=environment)

    async def connect() -> None:
        async with Client(server, **options) as client:
            await main(client)

    try:
        anyio.run(connect)
    except BaseExceptionGroup as group:  # what is raised while a connection is open comes in groups
        raise find_first(group) from None


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool, as data."""
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        sys.exit("\n".join(part.text for part in result.content if part.type == "text"))
    return dict(result.structured_content)


async def read_data(client: Client, debate_id: str, view: str) -> dict[str, Any]:
    """A view as data, also one that `read_debate` shows as text: votes, ballots and every figure of a verdict."""
    resource = await client.read_resource(f"debate://{debate_id}/{view}?format=json")
    return dict(json.loads(getattr(resource.contents[0], "text", "")))


async def wait_for_verdict(client: Client, debate_id: str) -> dict[str, Any]:
    """The verdict. A call returns in time whatever the models do; the debate goes on, and the next call waits on."""
    while True:
        found = await call(client, "get_verdict", debate_id=debate_id)
        if found["status"] == "concluded":
            return found
        if found["status"] != "running":
            sys.exit(f"The debate is {found['status']}: {found['reason']}")


def find_first(error: BaseException) -> BaseException:
    """The first error in a group; an exit with its text for a server that has ended, which has said why."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return SystemExit(f"The server: {error}") if isinstance(error, MCPError) else error
