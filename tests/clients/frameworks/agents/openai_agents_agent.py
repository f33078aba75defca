"""An agent of the OpenAI Agents SDK, and which tools it can offer in OpenAI's strict mode.

By default it gives up a call after 5 seconds, and has the model try again.
"""

import asyncio
import json
from typing import Any

from agents import Agent, ModelResponse, RunContextWrapper, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPUtil
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tests.clients.frameworks.script import TOOL, choose_arguments, print_results, read_server

SHOWN: list[str] = []


class ScriptedModel(Model):
    async def get_response(self, *_: Any, input: Any, **__: Any) -> ModelResponse:  # noqa: A002
        items = [
            item for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"
        ]
        SHOWN[:] = [json.dumps(item["output"]) for item in items]
        if arguments := choose_arguments(SHOWN):
            output: Any = ResponseFunctionToolCall(
                type="function_call", call_id=f"call_{len(SHOWN)}", name=TOOL, arguments=json.dumps(arguments)
            )
        else:
            text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
            output = ResponseOutputMessage(
                id="message", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    set_tracing_disabled(True)
    server = read_server()
    parameters = {"command": server.command, "args": server.arguments, "env": server.environment}
    patience = server.patience
    async with MCPServerStdio(params=parameters, client_session_timeout_seconds=patience) as counterpoint:
        agent = Agent(name="assistant", model=ScriptedModel(), mcp_servers=[counterpoint])
        await Runner.run(agent, "Get a second opinion.", max_turns=20)
        tools = await MCPUtil.get_function_tools(
            counterpoint,
            convert_schemas_to_strict=True,
            run_context=RunContextWrapper(context=None),
            agent=agent,
        )
    print_results(SHOWN, {tool.name: tool.strict_json_schema for tool in tools})


asyncio.run(main())
