"""The end of a server: it drains, breaks off no answer, and its debates go on in the next process."""

import json
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio import to_thread
from mcp import Client
from mcp.types import ElicitResult

from server.http_server.serving import ANSWER_SECONDS
from tests.support.client_calls import call
from tests.support.gated_model import Gate
from tests.support.http_servers import Running, send, serve_http
from tests.support.mcp_debates import run_debate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "M3")]

CUTTING_SECONDS = 1.2
"""In which streams would be cut that are cut when draining ends. A cut that does not come is no event to wait for."""


async def wait_until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE):
        while not holds():
            await wait_before_next_poll(0.05)


async def read_status(root: str, path: str = "/readyz") -> int:
    async with httpx2.AsyncClient() as client:
        return (await client.get(root + path)).status_code


async def wait_for_status(root: str, status: int) -> None:
    with anyio.fail_after(PATIENCE):
        while await read_status(root) != status:
            await wait_before_next_poll(0.02)


async def test_a_server_with_open_listeners_ends_in_time_and_its_debate_goes_on_after_a_restart(
    start: Any,
) -> None:
    slow = {"COUNTERPOINT_MODELS": "scripted?delay=2.5", "COUNTERPOINT_DRAIN_SECONDS": "2"}
    first = start(**slow)
    async with Client(first.address) as client, Client(first.address) as listener:
        began = await run_debate(client, wait_seconds=0)
        uri = f"debate://{began['debate_id']}/transcript"
        statuses: list[str] = []
        async with listener.listen(resource_subscriptions=[uri]), anyio.create_task_group() as tasks:
            waits = anyio.Event()

            async def hear(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
                waits.set()

            async def wait_for_verdict() -> None:
                asked = {"debate_id": began["debate_id"], "wait_seconds": 30}
                waited = await client.call_tool("get_verdict", asked, progress_callback=hear)
                statuses.append((waited.structured_content or {})["status"])

            tasks.start_soon(wait_for_verdict)
            with anyio.fail_after(PATIENCE):
                await waits.wait()
            told_at = time.monotonic()
            first.tell()
            await wait_for_status(first.root, 503)
            assert await read_status(first.root, "/healthz") == 200
            assert (await send(first.address)).status_code == 200  # as long as it drains
            code, log = await anyio.to_thread.run_sync(first.end)
            took = time.monotonic() - told_at
    assert code == 128 + signal.SIGTERM
    assert took < PATIENCE
    assert statuses == ["running"]  # what there was, and no broken answer
    assert "Traceback" not in log

    second = start(COUNTERPOINT_MODELS="scripted?delay=0")
    async with Client(second.address) as client:
        with anyio.fail_after(PATIENCE):
            while (await call(client, "get_verdict", debate_id=began["debate_id"]))["status"] != "concluded":
                pass


async def test_an_interrupt_skips_the_draining(start: Any) -> None:
    served = start(COUNTERPOINT_DRAIN_SECONDS="60")
    told_at = time.monotonic()
    served.tell(signal.SIGINT)

    assert served.end()[0] == 128 + signal.SIGINT
    assert time.monotonic() - told_at < 10


async def test_a_hangup_ends_a_server_as_its_termination_does(start: Any) -> None:
    served = start(COUNTERPOINT_DRAIN_SECONDS="0.1")
    served.tell(signal.SIGHUP)
    code, log = served.end()

    assert code == 128 + signal.SIGHUP
    assert "Traceback" not in log


def list_answers(database: Path) -> list[tuple[str, ...]]:
    """(debate, kind, seat, round and more) of the answers that are recorded."""
    with closing(sqlite3.connect(database)) as other:
        rows = other.execute("select stream, entry from journal order by position").fetchall()
    facts = [(stream, json.loads(entry)["body"]) for stream, entry in rows]
    keys = ("kind", "seat", "round", "slot_index", "seen")
    return [(stream, *(str(fact.get(key)) for key in keys)) for stream, fact in facts if "usage" in fact]


async def begin_debate(served: Any, database: Path) -> str:
    """One whose first models are being asked."""
    async with Client(served.address) as client:
        debate_id = str((await run_debate(client, wait_seconds=0))["debate_id"])
    await wait_until(lambda: has_reservation(database))
    return debate_id


async def conclude(start: Any, debate_id: str) -> None:
    async with Client(start(COUNTERPOINT_MODELS="scripted?delay=0").address) as client:
        with anyio.fail_after(PATIENCE):
            while (await call(client, "get_verdict", debate_id=debate_id))["status"] != "concluded":
                pass


async def test_a_server_waits_for_the_answers_on_their_way_and_ends_when_they_are_recorded(
    start: Any, tmp_path: Path
) -> None:
    served = start(COUNTERPOINT_MODELS="scripted?delay=1", COUNTERPOINT_DAILY_CALLS="1000")
    debate_id = await begin_debate(served, tmp_path / "a.db")
    served.tell()
    await wait_for_status(served.root, 503)
    async with Client(served.address) as client:  # one that keeps calling
        other = (await run_debate(client, question="Or not?", wait_seconds=0))["debate_id"]
        assert (await call(client, "get_verdict", debate_id=debate_id, wait_seconds=0))["status"] == "running"
    code, log = await anyio.to_thread.run_sync(served.end)

    assert code == 128 + signal.SIGTERM
    assert "Traceback" not in log
    answers = list_answers(tmp_path / "a.db")
    assert len(answers) == len({*answers}) >= 2
    assert {stream for stream, *_ in answers} == {debate_id}
    await conclude(start, debate_id)
    await conclude(start, other)


@pytest.mark.parametrize("is_told_twice", [False, True], ids=["its time", "a second signal"])
async def test_a_server_whose_models_take_longer_than_the_drain_ends_and_its_debate_goes_on(
    start: Any, tmp_path: Path, *, is_told_twice: bool
) -> None:
    seconds = "60" if is_told_twice else "0.5"
    options = {"COUNTERPOINT_DRAIN_SECONDS": seconds, "COUNTERPOINT_DAILY_CALLS": "1000"}
    served = start(COUNTERPOINT_MODELS="scripted?delay=7", **options)
    await begin_debate(served, tmp_path / "a.db")
    served.tell()
    if is_told_twice:
        await wait_for_status(served.root, 503)
        served.tell()
    code, log = await anyio.to_thread.run_sync(served.end)

    assert code == 128 + signal.SIGTERM
    assert "Traceback" not in log
    assert list_answers(tmp_path / "a.db") == []
    start()
    await wait_until(lambda: bool(list_answers(tmp_path / "a.db")))


def has_reservation(database: Path) -> bool:
    """Whether requests are on their way."""
    with closing(sqlite3.connect(database)) as other:
        return bool(other.execute("select 1 from lease where requests > 0").fetchone())


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
        end(running)
        await wait_until(lambda: bool(found))
        tasks.cancel_scope.cancel()

    assert found["status"] == "running"
    assert "get_verdict" in found["next"] or "step_round" in found["next"]


class Callers:
    """Clients of a server that make one call each, and the status that each kind of call returned."""

    def __init__(self, running: Running, era: str) -> None:
        self.running, self.era = running, era
        self.connected, self.arrived, self.answers = 0, 0, Counter[tuple[str, str]]()
        running.server.service.mcp.middleware.append(self.count)

    async def count(self, ctx: Any, call_next: Any) -> Any:
        self.arrived += ctx.method == "tools/call"
        return await call_next(ctx)

    async def ask(self, begun: anyio.Event, kind: str, tool: str, **arguments: Any) -> None:
        async with self.running.connect(self.era) as client:
            await client.list_tools()  # which the client wants to know before it takes a result
            self.connected += 1
            await begun.wait()
            self.answers[kind, (await call(client, tool, **arguments))["status"]] += 1


@asynccontextmanager
async def lock_database(database: Path) -> AsyncIterator[None]:
    """Keep everybody else from writing to it. The server runs in this loop, and may have to finish what it writes."""
    connection = sqlite3.connect(database, isolation_level=None, timeout=PATIENCE, check_same_thread=False)
    with closing(connection) as other:
        await to_thread.run_sync(other.execute, "BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.parametrize(("era", "is_stateless"), [("legacy", False), ("auto", True)])
async def test_every_call_that_is_in_flight_when_the_draining_ends_is_answered(
    tmp_path: Path, era: str, is_stateless: bool
) -> None:
    """Those too whose answers take a while: here the database is busy until the server has been ending for a second."""
    gate, database = Gate(), tmp_path / "a.db"
    served = serve_http(
        str(database), models={"held": gate.model}, default="held", is_stateless=is_stateless, drain_seconds=0
    )
    async with served as running, running.connect(era) as client, anyio.create_task_group() as tasks:
        # It is about what ends calls, and a busy machine takes longer to answer than the two seconds they have.
        running.server.config.timeout_graceful_shutdown = int(PATIENCE)
        one = (await run_debate(client, wait_seconds=0))["debate_id"]
        other = (await call(client, "start_debate", question="Step by step?"))["debate_id"]
        callers, waits, writes = Callers(running, era), anyio.Event(), anyio.Event()
        wait, write = partial(callers.ask, waits), partial(callers.ask, writes)
        for number in range(4):
            tasks.start_soon(partial(wait, "waits", "get_verdict", debate_id=one, wait_seconds=60))
            tasks.start_soon(partial(wait, "steps", "step_round", debate_id=other, wait_seconds=60))
            tasks.start_soon(partial(write, "starts", "start_debate", question=f"{number}?", run=True))
            tasks.start_soon(partial(write, "reads", "read_debate", debate_id=one, view="transcript"))
        await wait_until(lambda: callers.connected == 16)
        waits.set()
        await gate.wait_for_call()
        async with lock_database(database):
            writes.set()
            await wait_until(lambda: callers.arrived == 16)
            end(running)
            await anyio.sleep(CUTTING_SECONDS)
        await wait_until(lambda: callers.answers.total() == 16)
        tasks.cancel_scope.cancel()

    assert callers.answers == {(kind, "running"): 4 for kind in ("waits", "steps", "starts", "reads")}


async def test_a_call_that_waits_for_people_returns_when_the_server_ends(tmp_path: Path) -> None:
    asked, found = anyio.Event(), dict[str, Any]()

    async def never_answer(_context: Any, _form: Any) -> ElicitResult:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    people = [
        {"name": "Ann", "stance": "yes", "model": "human"},
        {"name": "Bob", "stance": "no", "model": "human"},
    ]
    async with (
        serve_http(str(tmp_path / "a.db"), drain_seconds=0) as running,
        running.connect("legacy", elicitation_callback=never_answer) as client,
        anyio.create_task_group() as tasks,
    ):
        await client.list_tools()

        async def wait() -> None:
            found.update(await run_debate(client, debaters=people, wait_seconds=60))

        tasks.start_soon(wait)
        with anyio.fail_after(PATIENCE):
            await asked.wait()
            end(running)
        with anyio.fail_after(ANSWER_SECONDS):  # when what has no answer is cut
            while not found:
                await wait_before_next_poll()
        tasks.cancel_scope.cancel()

    assert found["status"] == "waiting"


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
