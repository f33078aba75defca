"""The least server that the SDK makes: what every server on it pays for, ours included."""

from mcp.server import MCPServer

mcp = MCPServer("bare")


@mcp.tool()
def echo(text: str) -> str:
    """Say it back."""
    return text


if __name__ == "__main__":
    mcp.run("stdio")
