"""A whole server in memory, driven by the SDK's client in both protocol eras."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.tools import Tool

from server.compose import open_hall
from server.engine.debates import Hall
from server.mcp.server import build
from server.models import Model
from server.settings import ResearchServer, Settings
from server.tools import all_tools
from tests.support.hooking import Lines

Server = Callable[..., MCPServer[Hall]]
Connected = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "debates.db")


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What the hooks say, and what is said of them."""
    heard = Lines()
    loggers = [logging.getLogger(name) for name in ("counterpoint.hooks", "server.hooks")]
    for logger in loggers:
        logger.addHandler(heard)
    yield heard
    for logger in loggers:
        logger.removeHandler(heard)


@pytest.fixture(scope="session")
def tools() -> Sequence[Tool]:
    """They hold nothing of a server, and making them takes longer than most tests."""
    return all_tools()


@pytest.fixture
def server(database: str, tools: Sequence[Tool]) -> Server:
    """Builds a server over the test's database; `models` are injected, and debates use them by default."""

    def make(
        models: Mapping[str, Model] | None = None,
        default: str = "scripted",
        research: Mapping[str, ResearchServer] | None = None,
    ) -> MCPServer[Hall]:
        settings = Settings(db=database, models=(default,), mcp_servers=dict(research or {}))
        return build(lambda: open_hall(settings, models, environ={}), tools)

    return make


@pytest.fixture
def connected(server: Server, era: str) -> Connected:
    """A client of a server of its own: two of them are two processes on one database, all but the kill."""
    return partial(connecting, server, era)


@pytest.fixture
def client_of(server: Server) -> Connected:
    """As `connected`, in one era only: for what happens behind the protocol."""
    return partial(connecting, server, "auto")


@asynccontextmanager
async def connecting(
    server: Server,
    era: str,
    models: Mapping[str, Model] | None = None,
    default: str = "scripted",
    research: Mapping[str, ResearchServer] | None = None,
) -> AsyncIterator[Client]:
    async with Client(server(models, default, research), mode=era) as client:
        yield client
