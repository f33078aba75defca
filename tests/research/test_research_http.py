"""Research servers over HTTP: real ones, on this machine."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import uvicorn
from mcp.server import MCPServer

from server.settings import ResearchServer
from tests.support.processes.research_client import call_research_tool, open_research

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C6")]


@asynccontextmanager
async def open_web_server(*, answers_json: bool = False, port: int = 0) -> AsyncIterator[str]:
    """A server on this machine that lets in who has the key; its address."""
    mcp = MCPServer("web", log_level="ERROR")

    @mcp.tool(structured_output=False)
    def repeat(times: int) -> str:
        return "x" * times

    @mcp.tool(structured_output=False)
    async def hang() -> str:
        await anyio.sleep_forever()
        return ""

    inner = mcp.streamable_http_app(json_response=answers_json)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and (b"authorization", b"Bearer my-token") not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await inner(scope, receive, send)

    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        http = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=0))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(http.serve, [listening])
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            http.should_exit = True


@pytest.mark.parametrize("answers_json", [False, True])
async def test_a_server_over_http_is_asked_with_its_headers(answers_json: bool) -> None:
    async with open_web_server(answers_json=answers_json) as url:
        server = ResearchServer(url=url, headers={"Authorization": "Bearer my-token"})
        async with open_research(web=server) as research:
            short = await call_research_tool(research, "web__repeat", times=3)
            long = await call_research_tool(research, "web__repeat", times=5_000_000)
            too_long = await call_research_tool(research, "web__repeat", times=17_000_000)
            after = await call_research_tool(research, "web__repeat", times=3)

    assert (short.tool, short.result, after.result) == ("web/repeat", "xxx", "xxx")
    assert (len(long.result), long.cut) == (8000, True)
    assert too_long.failed


async def test_a_rejected_key_over_http_is_reported_without_the_key() -> None:
    async with open_web_server() as url:
        server = ResearchServer(url=url, headers={"Authorization": "Bearer wrong-token"})
        async with open_research(web=server) as research:
            assert await research.list_functions(["web"]) == ()

            assert research.find_problems(["web"]) == (
                "The research server web cannot be used: Server returned an error response (HTTP 401).",
            )


async def test_an_http_server_that_was_down_is_reached_again() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = ResearchServer(url=f"http://127.0.0.1:{port}/mcp", headers={"Authorization": "Bearer my-token"})

    async with open_research(web=server, pause=0) as research:
        async with open_web_server(port=port):
            await research.list_functions(["web"])
        gone = await call_research_tool(research, "web__repeat", times=3)
        async with open_web_server(port=port):
            back = await call_research_tool(research, "web__repeat", times=3)

    assert gone.failed == "the call failed: it cannot be reached (ConnectError)"
    assert back.result == "xxx"


async def test_a_hanging_http_call_times_out() -> None:
    async with open_web_server() as url:
        server = ResearchServer(url=url, headers={"Authorization": "Bearer my-token"}, timeout=3)
        async with open_research(web=server) as research:
            hung = await call_research_tool(research, "web__hang")
            after = await call_research_tool(research, "web__repeat", times=3)

    assert hung.failed == "there was no answer within 3 s"
    assert after.result == "xxx"
