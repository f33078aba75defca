"""The smallest server on the SDK: the reference for startup time and memory."""

from mcp.server import MCPServer

mcp = MCPServer("bare")


@mcp.tool()
def echo(text: str) -> str:
    """Return the text."""
    return text


if __name__ == "__main__":
    mcp.run("stdio")
