"""A whole server in memory, driven by the SDK's client in both protocol eras."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.tools import Tool

from server.compose import open_manager
from server.engine.debates import DebateManager
from server.mcp import server as mcp_server
from server.models import Model
from server.settings import ResearchServer, Settings
from server.tools import build_all_tools
from tests.support.hook_debates import LogLines

BuildServer = Callable[..., MCPServer[DebateManager]]
OpenClient = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "debates.db")


@pytest.fixture
def log_lines() -> Iterator[LogLines]:
    """What the hooks say, and what is said of them."""
    heard = LogLines()
    loggers = [logging.getLogger(name) for name in ("counterpoint.hooks", "server.hooks")]
    for logger in loggers:
        logger.addHandler(heard)
    yield heard
    for logger in loggers:
        logger.removeHandler(heard)


@pytest.fixture(scope="session")
def tools() -> Sequence[Tool]:
    """They hold nothing of a server, and making them takes longer than most tests."""
    return build_all_tools()


@pytest.fixture
def build_server(database: str, tools: Sequence[Tool]) -> BuildServer:
    """Builds a server over the test's database; `models` are injected, and debates use them by default."""

    def make(
        models: Mapping[str, Model] | None = None,
        default: str = "scripted",
        research: Mapping[str, ResearchServer] | None = None,
    ) -> MCPServer[DebateManager]:
        settings = Settings(db=database, models=(default,), mcp_servers=dict(research or {}))
        return mcp_server.build_server(lambda: open_manager(settings, models, environ={}), tools)

    return make


@pytest.fixture
def open_client(build_server: BuildServer, era: str) -> OpenClient:
    """A client of a server of its own: two of them are two processes on one database, all but the kill."""
    return partial(connect_client, build_server, era)


@pytest.fixture
def open_modern_client(build_server: BuildServer) -> OpenClient:
    """As `connected`, in one era only: for what happens behind the protocol."""
    return partial(connect_client, build_server, "auto")


@asynccontextmanager
async def connect_client(
    build_server: BuildServer,
    era: str,
    models: Mapping[str, Model] | None = None,
    default: str = "scripted",
    research: Mapping[str, ResearchServer] | None = None,
) -> AsyncIterator[Client]:
    async with Client(build_server(models, default, research), mode=era) as client:
        session = client.session
        session._tool_output_schemas |= _result_schemas
        session._tool_output_validators |= _result_validators
        yield client
        _result_schemas.update(session._tool_output_schemas)
        _result_validators.update(session._tool_output_validators)


_result_schemas: dict[str, Any] = {}
_result_validators: dict[str, Any] = {}
"""By tool, for all clients: the SDK compiles them anew for every client, 8 ms for each tool."""
