"""MCP servers for research tests.

`python research_servers.py KIND`. Some misbehave, as the SDK would not let them.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

ROOTS_REQUEST = {"jsonrpc": "2.0", "id": "mine", "method": "roots/list"}
LOG_NOTIFICATION = {
    "jsonrpc": "2.0",
    "method": "notifications/message",
    "params": {"level": "info", "data": "hello"},
}
HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "bad", "version": "1"},
}


def main(kind: str) -> None:
    if kind == "sdk":
        serve_with_sdk()
    elif kind == "silent":
        while True:
            signal.pause()
    elif kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        serve_raw(kind)
        while True:
            signal.pause()
    elif kind == "broken":
        os.write(2, b"a line on stderr\n")
        sys.exit(3)
    else:
        serve_raw(kind)


def send_message(message: dict[str, Any]) -> None:
    write(json.dumps(message).encode() + b"\n")


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def receive_message() -> dict[str, Any]:
    line = sys.stdin.readline()
    return dict(json.loads(line)) if line else {}


def serve_raw(kind: str) -> None:
    while request := receive_message():
        if "id" not in request or "method" not in request:
            continue
        match request["method"]:
            case "initialize":
                answer: dict[str, Any] = {"result": HANDSHAKE}
            case "tools/list":
                answer = {"result": {"tools": [describe_tool(name, kind) for name in TOOLS]}}
            case "tools/call":
                text = call_tool(request["params"]["name"], request["params"].get("arguments", {}))
                answer = {"result": {"content": [{"type": "text", "text": text}] if text else []}}
            case _:
                if kind == "old":  # exits at a method it does not know, as some servers do
                    sys.exit(1)
                answer = {"error": {"code": -32601, "message": "Method not found"}}
        send_message({"jsonrpc": "2.0", "id": request["id"], **answer})


def describe_tool(name: str, kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {"size": {"type": "integer"}}}
    if kind == "wordy":
        odd = {"pid": "pid, odd!", "big": "pid. odd!", "flood": "flood" * 20, "environment": "e" * 200}
        if name == "endless":
            schema["description"] = "x" * 8000
        return {
            "name": odd.get(name, name),
            "description": "All\n\x1b[31m of it. " * 99,
            "inputSchema": schema,
        }
    return {"name": name, "inputSchema": schema}


def call_tool(name: str, arguments: dict[str, Any]) -> str:
    answer = TOOLS[name](**arguments)
    return "done" if answer is None else answer


def pid() -> str:
    return str(os.getpid())


def child() -> str:
    """Start a child process that never ends by itself."""
    return str(subprocess.Popen([sys.executable, __file__, "silent"]).pid)


def big(size: int) -> str:
    return "x" * size


def chatter() -> None:
    write(b"Welcome!\n{ not json }\n[1]\n\xff\x00\n" + b"\n" * 1000)
    os.write(2, b"a line on stderr\n")


def flood(size: int) -> None:
    write((json.dumps(LOG_NOTIFICATION).encode() + b"\n") * size)


def rubbish() -> None:
    while True:
        write(b"x" * 99_999 + b"\n")


def endless() -> None:
    while True:
        write(b"x" * 1_000_000)


def questions(size: int = 0) -> None:
    """So many requests to the client, or endlessly many."""
    for _ in range(size) if size else itertools.count():
        send_message(ROOTS_REQUEST)


def die() -> None:
    os._exit(7)


def hang() -> None:
    threading.Event().wait()


def close() -> None:
    os.close(1)
    threading.Event().wait()


def ask() -> str:
    send_message(ROOTS_REQUEST)
    return json.dumps(receive_message()["error"])


def nothing() -> str:
    return ""


def environment() -> str:
    return json.dumps(dict(os.environ))


TOOL_FUNCTIONS: tuple[Callable[..., str | None], ...] = (
    *(pid, child, big, chatter, flood, rubbish, endless, questions),
    *(die, hang, close, ask, nothing, environment),
)
TOOLS = {call.__name__: call for call in TOOL_FUNCTIONS}


def serve_with_sdk() -> None:
    from mcp.server import MCPServer  # noqa: PLC0415  (slow, and used by this kind only)
    from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415
    from mcp.types import CallToolResult, ImageContent  # noqa: PLC0415

    server = MCPServer("good", log_level="ERROR")

    @server.tool(structured_output=False)
    def add(a: int, b: int) -> str:
        """Add two numbers."""
        return f"{a} + {b} = {a + b}"

    @server.tool(structured_output=False)
    def structured() -> CallToolResult:
        return CallToolResult(content=[], structured_content={"answer": 42})

    @server.tool(structured_output=False)
    def picture() -> CallToolResult:
        return CallToolResult(content=[ImageContent(data="aGk=", mime_type="image/png")])

    @server.tool(structured_output=False)
    def fail() -> str:
        raise ToolError(f"the key {os.environ['NOTES_API_KEY']} has no credit")

    server.run()


if __name__ == "__main__":
    main(sys.argv[1])
