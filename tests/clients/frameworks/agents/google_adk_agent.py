"""An agent of Google's ADK, and what it tells Gemini of the tools. By default it gives up a call after 5 seconds."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from google.genai import types
from mcp import StdioServerParameters

from tests.clients.frameworks.script import TOOL, choose_arguments, print_results, read_server

SHOWN: list[str] = []


class ScriptedLlm(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, *_: Any, **__: Any
    ) -> AsyncIterator[LlmResponse]:
        parts = [part for content in llm_request.contents for part in content.parts or ()]
        SHOWN[:] = [json.dumps(part.function_response.response) for part in parts if part.function_response]
        arguments = choose_arguments(SHOWN)
        call = types.FunctionCall(name=TOOL, args=arguments) if arguments else None
        part = types.Part(function_call=call) if call else types.Part(text="Done.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main() -> None:
    server = read_server()
    parameters = StdioServerParameters(command=server.command, args=server.arguments, env=server.environment)
    connection = StdioConnectionParams(server_params=parameters, timeout=server.patience)
    tools = McpToolset(connection_params=connection)
    agent = LlmAgent(name="assistant", model=ScriptedLlm(model="scripted"), tools=[tools])
    runner = InMemoryRunner(agent=agent, app_name="test")
    session = await runner.session_service.create_session(app_name="test", user_id="user")
    message = types.Content(role="user", parts=[types.Part(text="Get a second opinion.")])
    async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        pass
    listed = await tools.get_tools()
    told = {tool.name: tool._get_declaration().model_dump(mode="json", exclude_none=True) for tool in listed}
    await runner.close()
    print_results(SHOWN, told)


asyncio.run(main())
