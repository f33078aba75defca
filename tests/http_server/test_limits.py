"""What an owner and an address may hold at a time: one who takes all they can get leaves enough to the others."""

import logging
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio import wait_all_tasks_blocked
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from server.http_server.limits import Admission, BoundedBodies, RequestRates, Shares
from server.http_server.limits import logger as shares_logger
from server.settings import Settings
from server.startup import FLOOD_SECONDS, FloodFilter, open_storage
from server.turns import give_way
from server.web.connections import find_network
from server.web.connections import logger as connections_logger
from tests.http_server.test_revocation import Streams, add_token
from tests.http_server.test_sessions import HELLO, Session
from tests.support.http_servers import Running, open_raw, send, serve_http
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N35")]

MOST = 40


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with serve_http(str(tmp_path / "a.db"), most_connections=MOST) as started:
        yield started


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes a connection; waits for it."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


async def test_whoever_opens_all_the_sessions_they_can_leaves_room_for_another_owner(
    running: Running,
) -> None:
    running.server.service.sessions.shares.total = 8
    async with httpx2.AsyncClient(timeout=PATIENCE) as web:
        ann, bob = Session(running, web), Session(running, web)
        for owner, session in (("ann", ann), ("bob", bob)):
            session.headers["authorization"] = f"Bearer {await add_token(running, owner)}"
        anns = [await ann.post("initialize", **HELLO) for _ in range(3)]
        bobs = await bob.post("initialize", **HELLO)
        name = {"mcp-session-id": anns[0].headers["mcp-session-id"]}
        ended = await web.delete(running.address, headers={**ann.headers, **name})
        again = await ann.post("initialize", **HELLO)

    assert [one.status_code for one in anns] == [200, 200, 429]
    assert "You have too many sessions" in anns[2].text
    assert (bobs.status_code, ended.status_code, again.status_code) == (200, 200, 200)


async def test_whoever_holds_streams_without_end_leaves_room_for_another_owner(running: Running) -> None:
    async with httpx2.AsyncClient(timeout=PATIENCE) as web, AsyncExitStack() as opened:
        tokens = [await add_token(running, owner) for owner in ("ann", "bob")]
        streams = Streams(running, web, tokens[0])
        statuses = [
            (await opened.enter_async_context(await streams.open("listener"))).status_code
            for _ in range(MOST // 4 + 1)
        ]
        headers = {"authorization": f"Bearer {tokens[1]}"}
        answer = await send(running.address, headers=headers)

    assert statuses == [200] * (MOST // 4) + [429]
    assert answer.status_code == 200


async def test_idle_connections_in_any_number_make_room_for_those_that_ask(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """On one address here, which has half of all."""
    with ExitStack() as opened:
        idle = [opened.enter_context(open_raw(running.place)) for _ in range(3 * MOST)]
        answer = await send(running.address)
        for one in idle[: 2 * MOST]:
            assert await anyio.to_thread.run_sync(is_closed, one)

    assert answer.status_code == 200
    assert "There are too many connections" in caplog.text
    assert "Traceback" not in caplog.text


async def test_a_hundredth_of_the_connections_makes_room_at_a_time(tmp_path: Path) -> None:
    """Looking for the longest idle one of all for each new connection would let a flood hold up everybody."""
    async with serve_http(str(tmp_path / "a.db"), most_connections=200) as running:
        with ExitStack() as opened:
            idle = [opened.enter_context(open_raw(running.place)) for _ in range(101)]
            assert (await send(running.address)).status_code == 200
            for one in idle[:3]:
                assert await anyio.to_thread.run_sync(is_closed, one)
            idle[3].setblocking(False)
            with pytest.raises(BlockingIOError):
                idle[3].recv(1)


async def test_bodies_that_an_owner_sends_are_bounded_together_and_given_back() -> None:
    bodies = BoundedBodies(Response("taken"), max_bytes=100)
    bodies.shares.total = 400
    held, goes_on, statuses = anyio.Event(), anyio.Event(), list[int]()

    async def send_slowly() -> Message:
        if not held.is_set():
            held.set()
            return {"type": "http.request", "body": b"x" * 80, "more_body": True}
        await goes_on.wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send_at_once() -> Message:
        return {"type": "http.request", "body": b"x" * 80, "more_body": False}

    async def take(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": []}
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bodies, scope, send_slowly, take)
            await held.wait()
            await anyio.wait_all_tasks_blocked()
            await bodies(scope, send_at_once, take)
            goes_on.set()
        await bodies(scope, send_at_once, take)

    assert statuses == [429, 200, 200]


def test_of_an_address_of_version_6_the_network_of_its_customer_counts() -> None:
    assert find_network("2001:db8::1") == find_network("2001:db8::ffff:1") != find_network("2001:db8:0:1::1")
    assert find_network("10.0.0.1") != find_network("10.0.0.2")
    assert find_network("::ffff:10.0.0.1") == find_network("10.0.0.1")
    assert find_network("a name") == "a name"


def test_an_address_has_half_and_an_owner_a_quarter() -> None:
    shares = Shares("requests", 8)
    owners = [("server", "one address", f"owner {number}") for number in range(3)]

    assert [shares.take(owners[0]) for _ in range(3)] == [None, None, 2]
    assert [shares.take(owners[1]) for _ in range(3)] == [None, None, 1]
    assert shares.take(owners[2]) == 1
    assert [shares.take(("server", f"address {n}", f"another {n}")) for n in range(5)] == [None] * 4 + [0]
    shares.give_back(owners[0], 2)
    assert shares.take(owners[2]) is None


def test_a_flood_of_warnings_is_a_line_a_minute_and_says_how_many_it_left_out() -> None:
    now, filtered = [0.0], FloodFilter(lambda: now[0])

    def log(name: str, line: int, level: int = logging.WARNING) -> str:
        record = logging.LogRecord(name, level, "file.py", line, "Refused %d", (1,), None)
        return record.getMessage() if filtered.filter(record) else ""

    assert [log("uvicorn.error", 1) for _ in range(3)] == ["Refused 1", "", ""]
    assert log("uvicorn.error", 2) == "Refused 1"
    assert [log("server.engine.debates", 1) for _ in range(2)] == ["Refused 1"] * 2
    for door in (shares_logger, connections_logger):
        assert [log(door.name, 3) for _ in range(2)] == ["Refused 1", ""]
    assert [log("mcp.server", 4, logging.INFO) for _ in range(2)] == ["Refused 1"] * 2
    now[0] = FLOOD_SECONDS
    assert log("uvicorn.error", 1) == "Refused 1 (2 more since the last such line)"


async def test_ids_of_sessions_are_not_logged_whole(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    token, other = await add_token(running, "ann"), await add_token(running, "bob")
    with caplog.at_level(logging.INFO, "mcp"):
        async with httpx2.AsyncClient(timeout=PATIENCE) as web:
            session = Session(running, web)
            session.headers["authorization"] = f"Bearer {token}"
            await session.hello()
            whole, made_up = session.headers["mcp-session-id"], "made up by a client"
            for name in (whole, made_up):
                headers = {**session.headers, "authorization": f"Bearer {other}", "mcp-session-id": name}
                assert (await web.post(running.address, json={}, headers=headers)).status_code == 404

    assert f"session {whole[:8]}…" in caplog.text
    assert whole not in caplog.text
    assert made_up not in caplog.text


async def test_an_owner_who_asks_for_much_at_once_has_turns_and_no_more() -> None:
    """Of two that wait the one is begun whose owner has had fewer."""
    begun, ends = list[str](), dict[str, anyio.Event]()

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        begun.append(scope["name"])
        await ends[scope["name"]].wait()

    async def ask(owner: str, name: str) -> None:
        user = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))
        before = auth_context_var.set(user)
        ends[name] = anyio.Event()
        try:
            await admission({"name": name}, nothing, nothing)  # type: ignore[arg-type]
        finally:
            auth_context_var.reset(before)

    async def nothing(*_: object) -> Message:
        return {}

    admission = Admission(app, places=1)
    async with anyio.create_task_group() as tasks:
        for name in ("ann 1", "ann 2", "ann 3", "bob 1", "bob 2"):
            tasks.start_soon(ask, name[:3], name)
        for number in range(1, 6):
            await wait_all_tasks_blocked()
            assert len(begun) == number
            assert admission.limit.waiting.count() == dict(
                Counter(name[:3] for name in ends if name not in begun)
            )
            ends[begun[-1]].set()

    assert begun == ["ann 1", "ann 2", "bob 1", "ann 3", "bob 2"]


@pytest.mark.parametrize("kind", ["waits", "streams", "takes long"])
async def test_a_request_that_only_waits_has_no_place_that_others_need(kind: str) -> None:
    both = anyio.Event()
    begun = list[int]()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        begun.append(1)
        if kind == "waits":
            give_way()
        elif kind == "streams":
            await send({"type": "http.response.start", "status": 200, "headers": []})
        if len(begun) == 2:
            both.set()
        await both.wait()

    async def nothing(*_: object) -> Message:
        return {}

    async def ask() -> None:
        await admission({}, nothing, nothing)  # type: ignore[arg-type]

    admission = Admission(app, places=1, hold_seconds=0.01 if kind == "takes long" else 60)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(ask)

    assert admission.limit.in_use == 0


async def test_servers_on_a_file_count_the_requests_of_an_owner_together(tmp_path: Path) -> None:
    await count_together(str(tmp_path / "a.db"))


@pytest.mark.full
async def test_servers_on_postgresql_count_the_requests_of_an_owner_together(postgres_database: str) -> None:
    await count_together(postgres_database)


async def count_together(database: str) -> None:
    async with open_storage(Settings(db=database)) as one, open_storage(Settings(db=database)) as two:
        first, second = RequestRates(4, one.rates), RequestRates(4, two.rates)
        assert [first.take("ann") for _ in range(3)] == [0, 0, 0]
        assert second.take("ann") == 0
        await first.share()
        await second.share()
        assert second.take("bob") == 0
        assert second.take("ann") > 0
        await two.rates.forget(now=time.time() + 3_600)
        assert (await one.rates.add({"ann": 1.0}))["ann"] < 2
