"""Calling a server's tools and reading its resources, with the checks that every test wants."""

from typing import Any

from mcp import Client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The data of a tool's answer; an answer that is an error fails the test."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result_text(result)
    assert result.structured_content is not None
    return dict(result.structured_content)


async def expect_tool_error(client: Client, tool: str, **arguments: Any) -> str:
    """The text of an answer that has to be an error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result_text(result)
    return result_text(result)


def result_text(result: Any) -> str:
    return str(result.content[0].text)


def byte_count(text: str) -> int:
    """Bytes, which is what limits are in."""
    return len(text.encode())


async def read_resource(client: Client, uri: str) -> str:
    result = await client.read_resource(uri)
    return str(result.contents[0].text)  # type: ignore[union-attr]  # all of ours are text
