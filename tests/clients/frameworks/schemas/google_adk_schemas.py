"""What Google's ADK tells Gemini of the tools, with the schemas of their results."""

import asyncio
import json
import sys

from google.adk.tools.mcp_tool import McpToolset
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from mcp import StdioServerParameters

from tests.clients.frameworks.script import read_server


async def main() -> None:
    server = read_server()
    parameters = StdioServerParameters(command=server.command, args=server.arguments, env=server.environment)
    toolset = McpToolset(connection_params=StdioConnectionParams(server_params=parameters, timeout=60))
    tools = await toolset.get_tools()
    told = {tool.name: tool._get_declaration().model_dump(mode="json", exclude_none=True) for tool in tools}
    await toolset.close()
    json.dump(told, sys.stdout)


asyncio.run(main())
