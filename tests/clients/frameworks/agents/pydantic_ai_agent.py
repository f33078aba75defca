"""An agent of Pydantic AI."""

import asyncio
import json

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.clients.frameworks.script import TOOL, choose_arguments, print_results, read_server

SHOWN: list[str] = []


def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    parts = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
    SHOWN[:] = [part.model_response_str() for part in parts]
    arguments = choose_arguments(SHOWN)
    return ModelResponse(
        parts=[ToolCallPart(TOOL, json.dumps(arguments)) if arguments else TextPart("Done.")]
    )


async def main() -> None:
    server = read_server()
    tools = MCPToolset(StdioTransport(server.command, server.arguments, env=server.environment))
    async with Agent(FunctionModel(answer), toolsets=[tools]) as agent:
        await agent.run("Get a second opinion.")
    print_results(SHOWN)


asyncio.run(main())
