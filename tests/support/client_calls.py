"""Call tools and read resources through a client, checking for errors."""

from typing import Any

from mcp import Client

from server.tools.debates import TOOLS


def without_framing(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments of start_debate with which no model is asked for positions, unless they say so themselves."""
    return {**arguments, "options": {"framing": False, **arguments.get("options", {})}}


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return its structured result, with "", [] and 0 for what it leaves out. An error fails the test.

    Positions are those of the format, unless the options say so: a test of them asks for framing.
    """
    if tool == "start_debate":
        arguments = without_framing(arguments)
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result_text(result)
    assert result.structured_content is not None
    return fill_in(tool, result.structured_content)


def fill_in(tool: str, data: dict[str, Any]) -> dict[str, Any]:
    """A structured result with "", [] and 0 for the fields that it leaves out."""
    shape = TOOLS[tool].result if tool in TOOLS else None
    return shape.model_validate(data).model_dump(mode="json") if shape else dict(data)


async def expect_tool_error(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that has to return an error, and return the error's text."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result_text(result)
    return result_text(result)


async def read_text(client: Client, debate_id: str, view: str = "transcript", **arguments: Any) -> str:
    """The whole text of a view, page by page."""
    pages: list[str] = []
    offset = 0
    while offset or not pages:
        page = await call(client, "read_debate", debate_id=debate_id, view=view, offset=offset, **arguments)
        pages.append(page["text"])
        offset = page["next_offset"]
    return "".join(pages)


def result_text(result: Any) -> str:
    return str(result.content[0].text)


def byte_count(text: str) -> int:
    return len(text.encode())


async def read_resource(client: Client, uri: str) -> str:
    result = await client.read_resource(uri)
    return str(result.contents[0].text)  # type: ignore[union-attr]  # all our resources are text
