"""What is open when its token is revoked ends soon; what is another's, and what only outlives its token, goes on."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.server.auth.provider import AccessToken
from starlette.types import Message, Receive, Scope, Send

from server.access.tokens import make_token
from server.http_server.open_requests import MAX_LATE_SECONDS, OpenRequests
from tests.http_server.test_sessions import Session
from tests.support.gated_model import Gate
from tests.support.http_servers import Running, build_request, send, serve_http
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]

LISTENING = {"notifications": {"toolsListChanged": True}}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    gate = Gate()
    async with serve_http(str(tmp_path / "a.db"), models={"held": gate.model}, default="held") as started:
        yield started


async def add_token(running: Running, owner: str) -> str:
    made, stored = make_token(owner, ("debate",), None)
    await running.manager.store.storage.tokens.add(stored)
    return made


async def revoke_token(running: Running, owner: str) -> None:
    for stored in await running.manager.store.storage.tokens.read():
        if stored.owner == owner:
            await running.manager.store.storage.tokens.revoke(stored.digest, "2026-01-01")


class Streams:
    """Every kind of answer that may take long, for one token or none."""

    def __init__(self, running: Running, web: httpx2.AsyncClient, token: str) -> None:
        self.running, self.web, self.token = running, web, token
        self.headers = {"authorization": f"Bearer {token}"} if token else {}

    async def open(self, kind: str) -> Any:
        """A stream whose answer has begun."""
        if kind == "session":
            session = Session(self.running, self.web)
            session.headers |= self.headers
            return (await session.hello()).open_stream()
        if kind == "page":
            form, own = {"token": self.token}, {"origin": self.running.root}
            entered = await self.web.post(f"{self.running.root}/view/sign-in", data=form, headers=own)
            headers = {"cookie": entered.headers["set-cookie"].partition(";")[0]}
            self.web.cookies.clear()  # each of several owners sends their own
            return self.web.stream("GET", f"{self.running.root}/view/events", headers=headers)
        headers, body = build_request("subscriptions/listen", **LISTENING)
        return self.web.stream("POST", self.running.address, json=body, headers=headers | self.headers)


@pytest.mark.parametrize("kind", ["session", "listener", "page"])
async def test_a_stream_ends_soon_when_its_token_is_revoked_and_that_of_another_goes_on(
    running: Running, kind: str
) -> None:
    async with httpx2.AsyncClient(timeout=PATIENCE) as web, AsyncExitStack() as opened:
        streams = {owner: Streams(running, web, await add_token(running, owner)) for owner in ("ann", "bob")}
        anns, bobs = [
            await opened.enter_async_context(await streams[owner].open(kind)) for owner in ("ann", "bob")
        ]
        assert (anns.status_code, bobs.status_code) == (200, 200)
        await revoke_token(running, "ann")
        with anyio.fail_after(PATIENCE):
            async for _ in anns.aiter_raw():
                pass
        with anyio.move_on_after(0.1) as still_open:  # both are looked at together
            async for _ in bobs.aiter_raw():
                pass
        assert still_open.cancelled_caught


async def test_a_stream_without_a_token_ends_when_there_are_tokens(running: Running) -> None:
    async with (
        httpx2.AsyncClient(timeout=PATIENCE) as web,
        await Streams(running, web, "").open("listener") as stream,
    ):
        assert stream.status_code == 200
        await add_token(running, "ann")
        with anyio.fail_after(PATIENCE):
            async for _ in stream.aiter_raw():
                pass


async def test_a_call_that_waits_is_refused_when_its_token_is_revoked_and_its_debate_goes_on(
    running: Running,
) -> None:
    token, found = await add_token(running, "ann"), list[httpx2.Response]()
    headers = {"authorization": f"Bearer {token}"}
    asked = {"question": "Ship it?", "run": True, "wait_seconds": 60}

    async def ask() -> None:
        found.append(await send(running.address, "tools/call", headers, name="start_debate", arguments=asked))

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            while not (runs := await running.manager.find_runs()):
                await wait_before_next_poll()
            await revoke_token(running, "ann")
    assert found[0].status_code == 401
    assert found[0].json()["error"]["message"] == "The token was revoked, or has ended."
    assert await running.manager.find_runs() == runs


@pytest.mark.parametrize(
    ("late", "is_open"), [(None, False), (-60, False), (60, True), (MAX_LATE_SECONDS + 60, False)]
)
async def test_a_request_outlives_the_end_of_its_token_by_the_time_of_a_call_and_its_revocation_by_none(
    late: float | None, is_open: bool
) -> None:
    """`late`: seconds since the end that its token had."""
    told, looked = list[Message](), anyio.Event()
    end = None if late is None else int(time.time() - late)

    async def refuse(_token: str) -> AccessToken | None:
        looked.set()
        return None

    async def is_needed() -> bool:
        return True

    async def stream(_scope: Scope, _receive: Receive, reply: Send) -> None:
        await reply({"type": "http.response.start", "status": 200, "headers": []})
        await anyio.sleep_forever()

    async def receive() -> Message:
        raise AssertionError

    async def take(message: Message) -> None:
        told.append(message)

    requests = OpenRequests(refuse, is_needed)
    verified = AccessToken(token="", client_id="c", scopes=[], expires_at=end)
    scope = {"type": "http", "headers": []}
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(requests.run)
            tasks.start_soon(requests.answer, stream, scope, receive, take, "t", verified)
            await looked.wait()
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    ended = {"type": "http.response.body", "body": b""}
    assert (ended in told) != is_open
