"""The end of a server: it drains, breaks off no answer, and its debates go on in the next process."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from tests.support.client_calls import call
from tests.support.gated_model import Gate
from tests.support.http_servers import HttpProcess, Running, send, serve_http
from tests.support.mcp_debates import run_debate
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "M3")]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    started: list[HttpProcess] = []

    def begin(*arguments: str, **environ: str) -> HttpProcess:
        started.append(HttpProcess(str(tmp_path / "a.db"), *arguments, environ=environ))
        return started[-1]

    yield begin
    for one in started:
        one.kill()


async def read_status(root: str, path: str = "/readyz") -> int:
    async with httpx2.AsyncClient() as client:
        return (await client.get(root + path)).status_code


async def wait_for_status(root: str, status: int) -> None:
    with anyio.fail_after(5):
        while await read_status(root) != status:
            await wait_before_next_poll()


@pytest.mark.slow
@pytest.mark.parametrize("stateless", [(), ("--stateless",)], ids=["sessions", "stateless"])
async def test_a_server_with_open_listeners_ends_in_time_and_its_debate_goes_on_after_a_restart(
    start: Any, stateless: tuple[str, ...]
) -> None:
    slow = {"COUNTERPOINT_MODELS": "scripted?delay=1.2", "COUNTERPOINT_DRAIN_SECONDS": "0.7"}
    first = start(*stateless, **slow)
    async with Client(first.address) as client, Client(first.address) as listener:
        began = await run_debate(client, wait_seconds=0)
        uri = f"debate://{began['debate_id']}/transcript"
        statuses: list[str] = []
        async with listener.listen(resource_subscriptions=[uri]), anyio.create_task_group() as tasks:

            async def wait_for_verdict() -> None:
                waited = await call(client, "get_verdict", debate_id=began["debate_id"], wait_seconds=30)
                statuses.append(waited["status"])

            tasks.start_soon(wait_for_verdict)
            await anyio.sleep(0.3)  # the call waits
            told_at = time.monotonic()
            first.tell()
            await wait_for_status(first.root, 503)
            assert await read_status(first.root, "/healthz") == 200
            assert (await send(first.address)).status_code == 200  # as long as it drains
            code, log = await anyio.to_thread.run_sync(first.end)
            took = time.monotonic() - told_at
    assert code == 128 + signal.SIGTERM
    assert took < 5
    assert statuses == ["running"]  # what there was, and no broken answer
    assert "Traceback" not in log

    second = start(*stateless, COUNTERPOINT_MODELS="scripted?delay=0")
    async with Client(second.address) as client:
        with anyio.fail_after(20):
            while (await call(client, "get_verdict", debate_id=began["debate_id"]))["status"] != "concluded":
                pass


@pytest.mark.slow
async def test_a_killed_server_loses_nothing_that_was_recorded(start: Any) -> None:
    first = start(COUNTERPOINT_MODELS="scripted?delay=0.4")
    async with Client(first.address) as client:
        began = await run_debate(client, wait_seconds=1)
        first.kill()
    second = start()
    async with Client(second.address) as client:
        with anyio.fail_after(20):
            while (ran := await call(client, "get_verdict", debate_id=began["debate_id"]))[
                "status"
            ] == "running":
                pass
    assert ran["status"] == "concluded"


@pytest.mark.slow
async def test_an_interrupt_skips_the_draining(start: Any) -> None:
    served = start(COUNTERPOINT_DRAIN_SECONDS="60")
    told_at = time.monotonic()
    served.tell(signal.SIGINT)

    assert served.end()[0] == 128 + signal.SIGINT
    assert time.monotonic() - told_at < 3


@pytest.mark.slow
async def test_a_second_signal_skips_the_rest_of_the_draining(start: Any) -> None:
    served = start(COUNTERPOINT_DRAIN_SECONDS="60")
    served.tell()
    await wait_for_status(served.root, 503)
    served.tell()

    assert served.end()[0] == 128 + signal.SIGTERM


async def test_calls_that_wait_return_with_what_there_is_when_the_server_ends(
    tmp_path: Path, era: str
) -> None:
    gate = Gate()
    async with (
        serve_http(
            str(tmp_path / "a.db"), models={"held": gate.model}, default="held", drain_seconds=0
        ) as running,
        running.connect(era) as client,
        anyio.create_task_group() as tasks,
    ):
        await client.list_tools()  # which the client wants to know before it takes a result
        found: dict[str, Any] = {}

        async def wait() -> None:
            found.update(await run_debate(client, wait_seconds=60))

        tasks.start_soon(wait)
        await gate.wait_for_call()
        with anyio.fail_after(5):
            end(running)
            while not found:
                await wait_before_next_poll()
        tasks.cancel_scope.cancel()

    assert found["status"] == "running"
    assert "get_verdict" in found["next"] or "step_round" in found["next"]


def end(running: Running) -> None:
    running.server.handle_exit(signal.SIGTERM, None)


async def test_a_server_is_not_ready_without_its_database(tmp_path: Path) -> None:
    database = tmp_path / "a.db"
    async with serve_http(str(database)) as running:
        assert await read_status(running.root) == 200
        for ending in ("", "-wal", "-shm"):
            os.unlink(f"{database}{ending}")  # noqa: PTH108
        assert await read_status(running.root) == 503
        assert await read_status(running.root, "/healthz") == 200
