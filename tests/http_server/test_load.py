"""Many clients at once, and some that only hold connections."""

import socket
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from server.http_server.limits import BoundedBodies
from server.web.connections import BoundedProtocol
from tests.support.gated_model import Gate
from tests.support.http_servers import build_request, open_raw, send, serve_http
from tests.support.mcp_debates import run_debate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]


class Hasty(BoundedProtocol):
    head_seconds = 0.3


def is_left(connection: socket.socket) -> bool:
    """Whether the server closes the connection; waits for it."""
    while connection.recv(10_000):
        pass
    return True


async def test_clients_that_never_finish_their_headers_are_left_and_hold_up_nobody(tmp_path: Path) -> None:
    async with serve_http(str(tmp_path / "a.db"), protocol=Hasty) as running:
        held = [open_raw(running.place) for _ in range(100)]
        for one in held:
            one.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        assert (await send(running.address)).status_code == 200
        for one in held:
            with one:
                assert await anyio.to_thread.run_sync(is_left, one)


async def test_a_client_that_goes_on_to_send_what_was_refused_is_left(tmp_path: Path) -> None:
    async with serve_http(str(tmp_path / "a.db"), protocol=Hasty) as running:
        with open_raw(running.place) as connection:
            head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9000000\r\n\r\n"
            connection.sendall(head)
            assert b" 413 " in await anyio.to_thread.run_sync(connection.recv, 10_000)
            connection.sendall(b" ")
            assert await anyio.to_thread.run_sync(is_left, connection)


async def test_a_slow_answer_does_not_count_as_a_slow_client(tmp_path: Path) -> None:
    gate = Gate()
    async with (
        serve_http(
            str(tmp_path / "a.db"), models={"held": gate.model}, default="held", protocol=Hasty
        ) as running,
        running.connect() as client,
    ):
        ran = await run_debate(client, wait_seconds=1)
    assert ran["status"] == "running"


async def test_two_hundred_clients_are_answered_at_once(tmp_path: Path) -> None:
    statuses: Counter[str] = Counter()
    limits = httpx2.Limits(max_connections=200)
    async with (
        serve_http(str(tmp_path / "a.db")) as running,
        httpx2.AsyncClient(limits=limits, timeout=PATIENCE) as web,
    ):

        async def open_debate(number: int) -> None:
            arguments = {"question": f"Number {number}?", "options": {"framing": False}}
            headers, body = build_request("tools/call", name="start_debate", arguments=arguments)
            answer = (await web.post(running.address, json=body, headers=headers)).json()["result"]
            statuses[answer["structuredContent"]["status"]] += 1

        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(open_debate, number)
    assert statuses == {"ready": 200}


async def test_a_body_that_does_not_arrive_is_given_up() -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, object]:
        await anyio.sleep_forever()
        return {}

    async def take(message: Any) -> None:
        sent.append(message)

    async def app(*_: object) -> None:
        raise AssertionError

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": []}
    bodies = BoundedBodies(app, max_bytes=100, seconds=0.01)
    with anyio.fail_after(PATIENCE):
        await bodies(scope, receive, take)

    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
