"""Sessions of the older era: what a client missed is sent again, and to that client alone."""

from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import types

from server.http_server.sessions import MAX_ANSWERS, MAX_NEWS, RecentMessages
from tests.support.client_calls import call
from tests.support.http_servers import ACCEPT, Running, parse_events, serve_http
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N8")]

VERSION = "2025-11-25"
HELLO = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Session:
    """A client of the older era that says everything by hand."""

    def __init__(self, running: Running, client: httpx2.AsyncClient) -> None:
        self.address, self.client, self.number = running.address, client, 0
        self.headers = {**ACCEPT, "mcp-protocol-version": VERSION}

    async def post(self, method: str, **params: Any) -> httpx2.Response:
        self.number += 1
        body = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        return await self.client.post(self.address, json=body, headers=self.headers)

    async def hello(self) -> "Session":
        opened = await self.post("initialize", **HELLO)
        assert opened.status_code == 200, opened.text
        self.headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await self.client.post(self.address, json=told, headers=self.headers)).status_code == 202
        return self

    def open_stream(self, last_event_id: str = "") -> Any:
        more = {"last-event-id": last_event_id} if last_event_id else {}
        return self.client.stream("GET", self.address, headers={**self.headers, **more})


async def read_update(lines: Any) -> tuple[str, str]:
    """(id, address) of the next update."""
    event_id = ""
    with anyio.fail_after(PATIENCE):
        while True:
            line = await anext(lines)
            if line.startswith("id: "):
                event_id = line[4:]
            if line.startswith("data: {") and "resources/updated" in line:
                return event_id, parse_events(line)[0]["params"]["uri"]


async def test_updates_that_a_client_missed_are_sent_when_it_connects_again(tmp_path: Path) -> None:
    async with (
        serve_http(str(tmp_path / "a.db")) as running,
        httpx2.AsyncClient(timeout=PATIENCE) as web,
        running.connect() as other,
    ):
        session = await Session(running, web).hello()
        debates = [(await call(other, "start_debate", question=f"{n}?"))["debate_id"] for n in (1, 2)]
        for debate_id in debates:
            assert (await session.post("resources/subscribe", uri=f"debate://{debate_id}")).status_code == 200
        async with session.open_stream() as stream:
            lines = stream.aiter_lines()
            await call(other, "step_round", debate_id=debates[0])
            last_id, uri = await read_update(lines)
            assert uri == f"debate://{debates[0]}"
        await call(other, "step_round", debate_id=debates[1])
        async with session.open_stream(last_id) as stream:
            lines = stream.aiter_lines()
            while (await read_update(lines))[1] != f"debate://{debates[1]}":
                pass


async def test_a_session_is_sent_nothing_of_another(tmp_path: Path) -> None:
    async with serve_http(str(tmp_path / "a.db")) as running, httpx2.AsyncClient(timeout=PATIENCE) as web:
        one, two = await Session(running, web).hello(), await Session(running, web).hello()
        await one.post("tools/call", name="find_debates", arguments={})
        async with two.open_stream(f"0-{one.number}") as stream:
            assert stream.status_code == 200
            with anyio.move_on_after(0.3):
                async for line in stream.aiter_lines():
                    assert "jsonrpc" not in line


async def test_a_result_whose_connection_was_cut_is_there_when_the_client_comes_back(tmp_path: Path) -> None:
    async with serve_http(str(tmp_path / "a.db")) as running, httpx2.AsyncClient(timeout=PATIENCE) as web:
        session = await Session(running, web).hello()
        session.number += 1
        call_tool = {"name": "find_debates", "arguments": {}}
        body = {"jsonrpc": "2.0", "id": session.number, "method": "tools/call", "params": call_tool}
        async with web.stream("POST", running.address, json=body, headers=session.headers) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("id: "):
                    break
        async with session.open_stream(line[4:]) as stream:
            with anyio.fail_after(PATIENCE):
                async for told in stream.aiter_lines():
                    if told.startswith("data: {"):
                        break
    assert parse_events(told)[0]["id"] == session.number


async def test_only_the_last_messages_of_a_session_are_kept() -> None:
    store, sent = RecentMessages(), list[Any]()

    async def take(message: Any) -> None:
        sent.append(message)

    first = await store.store_event("_GET_stream", None)
    for number in range(MAX_NEWS + 50):
        news = types.JSONRPCNotification(jsonrpc="2.0", method=f"notifications/{number}")
        await store.store_event("_GET_stream", news)
    for number in range(MAX_ANSWERS + 5):
        await store.store_event(str(number), types.JSONRPCResponse(jsonrpc="2.0", id=number, result={}))

    assert await store.replay_events_after(first, take) == "_GET_stream"
    assert len(sent) == MAX_NEWS
    assert sent[-1].message.method == f"notifications/{MAX_NEWS + 49}"
    sent.clear()
    assert await store.replay_events_after("1-12", take) == "12"
    assert [one.message.id for one in sent] == [12]


@pytest.mark.parametrize("event_id", ["", "x", "1", "1-", "-1", "²-a", "99-_GET_stream"])
async def test_an_id_that_names_no_message_of_the_session_brings_nothing(event_id: str) -> None:
    store = RecentMessages()
    await store.store_event("_GET_stream", None)

    async def take(_: Any) -> None:
        raise AssertionError

    assert await store.replay_events_after(event_id, take) is None


async def test_the_name_of_a_request_cannot_end_the_line_of_its_event() -> None:
    assert "\n" not in await RecentMessages().store_event("a\nevent: b", None)
