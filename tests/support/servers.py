"""Fixtures: a server in memory and clients of it, in both protocol eras."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner, Result
from mcp import Client

from server.compose import open_manager
from server.engine.debates import utc_now
from server.mcp.late_manager import LateManager
from server.mcp.server import build_server
from server.models import Model
from server.settings import ResearchServer, Settings
from server.startup import DATABASE_PATIENCE
from tests.support.log_lines import LogLines

Cli = Callable[..., Result]
OpenClient = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["auto", pytest.param("legacy", marks=pytest.mark.full)])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A path, or the address of a PostgreSQL database where a test runs over both."""
    if getattr(request, "param", "sqlite") == "postgresql":
        return str(request.getfixturevalue("postgres_database"))
    return str(tmp_path / "debates.db")


@pytest.fixture
def new_database(database: str) -> str:
    """It is there, and holds nothing."""

    async def make() -> None:
        async with open_manager(Settings(db=database), environ={}):
            pass

    anyio.run(make)
    return database


@pytest.fixture
def cli(database: str, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command on the test's database, in this process. `framing`: have positions named by a model."""
    from server.cli.main import counterpoint  # noqa: PLC0415  (slow, and few tests need it)

    monkeypatch.setenv("COUNTERPOINT_DB", database)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")  # the one that runs on this machine is not asked

    def run(*args: str, framing: bool = False, **more: Any) -> Result:
        is_new = args[:1] == ("debate",) and not {"--continue", "--help"} & {*args}
        options = ("--no-framing",) if is_new and not framing else ()
        return CliRunner().invoke(
            counterpoint, (*args[:1], *options, *args[1:]), prog_name="counterpoint", **more
        )

    return run


@pytest.fixture
def log_lines() -> Iterator[LogLines]:
    """Lines logged by hooks and about them."""
    lines = LogLines()
    loggers = [logging.getLogger(name) for name in ("counterpoint.hooks", "server.hooks")]
    for logger in loggers:
        logger.addHandler(lines)
    yield lines
    for logger in loggers:
        logger.removeHandler(lines)


@pytest.fixture
def open_client(database: str, era: str) -> OpenClient:
    """Opens clients, each of a server of its own. Two of them behave like two processes on one database."""
    return partial(connect_client, database, era)


@pytest.fixture
def open_modern(database: str) -> OpenClient:
    """As `open_client`, in one era: for behaviour that does not depend on the protocol."""
    return partial(connect_client, database, "auto")


@asynccontextmanager
async def connect_client(
    database: str,
    era: str,
    models: Mapping[str, Model] | None = None,
    default: str = "scripted",
    research: Mapping[str, ResearchServer] | None = None,
    clock: Callable[[], datetime] = utc_now,
    settings: Mapping[str, Any] | None = None,
    database_patience: float = DATABASE_PATIENCE,
    **options: Any,
) -> AsyncIterator[Client]:
    """A client of a server with `models` added to the registry and `default` as default model, if it has a name."""
    servers = dict(research or {})
    chosen = Settings(
        db=database, models=tuple(filter(None, [default])), mcp_servers=servers, **(settings or {})
    )
    async with (
        open_manager(chosen, models, environ={}, clock=clock, database_patience=database_patience) as manager,
        Client(build_server(LateManager.of(manager)), mode=era, **options) as client,
    ):
        session = client.session
        session._tool_output_schemas |= _result_schemas
        session._tool_output_validators |= _result_validators
        yield client
        _result_schemas.update(session._tool_output_schemas)
        _result_validators.update(session._tool_output_validators)


_result_schemas: dict[str, Any] = {}
_result_validators: dict[str, Any] = {}
"""By tool, shared by all clients: compiling them for each client costs 8 ms for each tool."""
