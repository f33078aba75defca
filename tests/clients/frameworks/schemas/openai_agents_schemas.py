"""Which tools the OpenAI Agents SDK can offer in OpenAI's strict mode."""

import asyncio
import json
import sys

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPUtil

from tests.clients.frameworks.script import read_server


async def main() -> None:
    server = read_server()
    parameters = {"command": server.command, "args": server.arguments, "env": server.environment}
    async with MCPServerStdio(params=parameters, client_session_timeout_seconds=60) as counterpoint:
        agent = Agent(name="assistant")
        tools = await MCPUtil.get_function_tools(
            counterpoint,
            convert_schemas_to_strict=True,
            run_context=RunContextWrapper(context=None),
            agent=agent,
        )
    json.dump({tool.name: tool.strict_json_schema for tool in tools}, sys.stdout)


asyncio.run(main())
