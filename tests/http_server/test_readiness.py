"""Whether a server is ready: not while it ends, nor without its database, but through a short outage of it."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request

from server.http_server.probes import OUTAGE_SECONDS, PROBE_SECONDS, READY_PATH, Readiness
from tests.contract.journal_helpers import keep_busy, open_any_storage, open_postgres_storage
from tests.support.client_calls import call
from tests.support.http_servers import serve_http
from tests.support.patience import PATIENCE
from tests.support.postgres import Server
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]

READY = (200, {"ready": True})
OUT = (200, {"ready": True, "database": "does not answer"})
UNUSABLE = (503, {"error": "The database cannot be used."})


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def ask(readiness: Readiness) -> tuple[int, dict[str, Any]]:
    response = await readiness.tell(Request({"type": "http"}))
    return response.status_code, json.loads(bytes(response.body))


async def ask_server(root: str) -> tuple[int, dict[str, Any]]:
    async with httpx2.AsyncClient(timeout=PATIENCE) as client:
        answer = await client.get(root + READY_PATH)
        return answer.status_code, answer.json()


@contextmanager
def stop(server: Server) -> Iterator[None]:
    """While this is open PostgreSQL takes connections, and answers nothing."""
    server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal(signal.SIGCONT)


async def test_a_server_is_ready_through_a_short_outage_and_not_through_a_long_one(
    postgres_database: str, postgres_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    async with open_postgres_storage(postgres_database) as storage:
        readiness = Readiness(storage, clock)
        assert await ask(readiness) == READY
        with stop(postgres_server):
            assert await ask(readiness) == OUT
            clock.now += OUTAGE_SECONDS - 0.01
            assert await ask(readiness) == OUT
            clock.now += 0.01
            assert await ask(readiness) == UNUSABLE
        assert await ask(readiness) == READY
        with stop(postgres_server):  # another outage
            assert await ask(readiness) == OUT
    told = [one.getMessage() for one in caplog.records if one.name.startswith("server.http_server")]
    assert told == [f"Not ready: the database {storage.database.name} did not answer in time", "Ready again"]


async def test_a_server_is_ready_however_long_its_database_is_busy(postgres_database: str) -> None:
    clock = Clock()
    async with open_postgres_storage(postgres_database) as storage, keep_busy(storage):
        readiness = Readiness(storage, clock)
        for _ in range(2):
            assert await ask(readiness) == READY
            clock.now += OUTAGE_SECONDS


@pytest.mark.parametrize(
    "statement",
    [
        "drop schema counterpoint cascade",
        "insert into counterpoint.migration (release, name, oldest_release) values (99, 'later', 99)",
    ],
    ids=["without its tables", "of a newer release"],
)
async def test_a_server_whose_database_is_not_what_it_was_is_not_ready_at_once(
    postgres_database: str, statement: str
) -> None:
    async with open_postgres_storage(postgres_database) as storage:
        readiness = Readiness(storage)
        assert await ask(readiness) == READY
        run_raw(postgres_database, statement)
        assert await ask(readiness) == UNUSABLE


async def test_a_server_without_its_file_is_not_ready_at_once_and_is_when_it_is_back(tmp_path: Path) -> None:
    database = tmp_path / "a.db"
    async with open_any_storage(database) as storage:
        readiness = Readiness(storage)
        assert await ask(readiness) == READY
        os.rename(database, tmp_path / "away.db")  # noqa: PTH104
        assert await ask(readiness) == UNUSABLE
        database.touch()
        assert await ask(readiness) == UNUSABLE
        os.replace(tmp_path / "away.db", database)  # noqa: PTH105
        assert await ask(readiness) == READY


@pytest.mark.usefixtures("postgres_server")  # without PostgreSQL this is skipped
async def test_while_postgresql_is_away_calls_wait_and_probes_are_answered_in_time() -> None:
    server = Server()
    with ExitStack() as closing:
        closing.callback(server.stop)
        server.start()
        async with serve_http(server.create_database()) as running, running.connect() as client:
            server.kill()
            async with asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(call(client, "start_debate", question="Who waits?"))
                seconds: list[float] = []
                for _ in range(3):
                    asked_at = time.monotonic()
                    assert await ask_server(running.root) == OUT
                    seconds.append(time.monotonic() - asked_at)
                assert (
                    min(seconds) < PROBE_SECONDS + 0.9
                )  # probes wait for two seconds; the machine is shared
                assert not waiting.done()
                server.start()
            assert waiting.result()["status"] == "ready"
            assert await ask_server(running.root) == READY
