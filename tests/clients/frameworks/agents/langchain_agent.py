"""An agent of LangChain, with its MCP adapters: each call of a tool starts a server of its own."""

import asyncio
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient

from tests.clients.frameworks.script import TOOL, choose_arguments, print_results, read_server


def list_shown(messages: list[BaseMessage]) -> list[str]:
    return [message.text for message in messages if message.type == "tool"]


class ScriptedChat(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> "ScriptedChat":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        shown = list_shown(messages)
        arguments = choose_arguments(shown)
        call = {"name": TOOL, "args": arguments, "id": f"call_{len(shown)}"}
        message = AIMessage("", tool_calls=[call]) if arguments else AIMessage("Done.")
        return ChatResult(generations=[ChatGeneration(message=message)])


async def main() -> None:
    server = read_server()
    connection = {"transport": "stdio", "command": server.command, "args": server.arguments}
    client = MultiServerMCPClient({"counterpoint": {**connection, "env": server.environment}})
    agent = create_agent(ScriptedChat(), tools=await client.get_tools())
    held = await agent.ainvoke({"messages": [("user", "Get a second opinion.")]})
    print_results(list_shown(held["messages"]))


asyncio.run(main())
