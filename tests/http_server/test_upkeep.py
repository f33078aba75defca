"""Upkeep that fails, and clients in any number: the server goes on."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from server.access.tokens import make_token
from server.settings import Settings
from server.startup import DATABASE_PATIENCE, open_storage
from storage.sqlite import SqliteStorage
from storage.sqlite.connections.database import SqliteDatabase
from tests.http_server.test_revocation import Streams, add_token
from tests.support.gated_model import Gate
from tests.support.hook_debates import hook, write_hooks_file
from tests.support.http_servers import HttpProcess, build_request, send, serve_http
from tests.support.mcp_debates import run_debate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N35")]

UPKEEP = (
    *("OpenRequests.run", "DebateDriver.maintain_leases", "DatabasePresence.watch", "Recovery.run"),
    *("Retention.run", "UpdateBus.run", "ChangeFeed.run"),
)
CALLS = 25


class DefectiveDatabase(SqliteDatabase):
    """Raises what nobody expects, while it is defective."""

    is_defective = False

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith(("_", "is_")) and super().__getattribute__("is_defective"):
            raise ZeroDivisionError
        return super().__getattribute__(name)


async def test_a_server_outlives_the_failure_of_all_its_upkeep_and_says_each_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate, database = Gate(), str(tmp_path / "a.db")
    hooks = write_hooks_file(tmp_path, hook("ops", "debate_start", {"log": "begun"}))
    storage = await SqliteStorage.open(database, lock_timeout=DATABASE_PATIENCE)
    storage.database.__class__ = DefectiveDatabase
    assert isinstance(storage.database, DefectiveDatabase)
    async with (
        serve_http(
            database,
            models={"held": gate.model},
            default="held",
            storage=storage,
            recover=True,
            retention_days=1,
            hooks=str(hooks),
        ) as running,
        httpx2.AsyncClient(timeout=PATIENCE) as web,
        AsyncExitStack() as opened,
    ):
        token = await add_token(running, "ann")
        streams = Streams(running, web, token)
        for kind in ("listener", "page"):
            await opened.enter_async_context(await streams.open(kind))
        async with running.connect(token=token) as client:
            await run_debate(client, wait_seconds=0)
        await gate.wait_for_call()
        storage.database.is_defective = True
        with anyio.fail_after(PATIENCE):
            while not all(f"{name} failed" in caplog.text for name in UPKEEP):
                await wait_before_next_poll()
        storage.database.is_defective = False
        said = [record for record in caplog.records if record.name == "server.background_tasks"]
        answer = await send(running.address, headers=streams.headers)
    await storage.close()

    assert answer.status_code == 200
    assert len(said) == len({record.args for record in said})
    assert all(record.exc_info for record in said)


async def make_stored_token(database: str, owner: str) -> str:
    made, stored = make_token(owner, ("debate",), None)
    async with open_storage(Settings(db=database)) as storage:
        await storage.tokens.add(stored)
    return made


async def test_eight_owners_with_a_token_each_call_without_a_pause(tmp_path: Path) -> None:
    database = str(tmp_path / "a.db")
    tokens = [await make_stored_token(database, f"owner {number}") for number in range(8)]
    served = HttpProcess(database, environ={"COUNTERPOINT_OWNER_REQUESTS_PER_MINUTE": "0"})
    statuses = set[int]()

    async def ask(token: str) -> None:
        headers, body = build_request("tools/call", name="find_debates", arguments={})
        headers["authorization"] = f"Bearer {token}"
        async with httpx2.AsyncClient(timeout=PATIENCE) as web:
            for _ in range(CALLS):
                statuses.add((await web.post(served.address, json=body, headers=headers)).status_code)

    async with anyio.create_task_group() as tasks:
        for token in tokens:
            tasks.start_soon(ask, token)
    served.tell()
    code, log = await anyio.to_thread.run_sync(served.end)

    assert (statuses, code) == ({200}, 143)
    assert "Traceback" not in log
