"""What pages are told as it happens, whichever process does it."""

import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.interventions.action import InterventionRequest
from server.models.fakes.scripted import ScriptedModel
from server.web.site.feed import ChangeFeed, EventStream
from tests.support.client_calls import call
from tests.support.engines import open_engine, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.processes.gated_servers import open_call_gate, start_server_process
from tests.support.sites import open_site

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]

NOTE = InterventionRequest(text="Mind the costs.")


def is_there(database: str) -> bool:
    return Path(database).exists()


async def test_what_any_process_writes_is_told_with_the_ids_of_its_debates(database: str) -> None:
    async with open_site(database, ScriptedModel()) as guest, open_engine(database, ScriptedModel()) as other:
        own, foreign = await start_debate(guest.manager), await start_debate(other)
        async with guest.follow() as events:
            await events.settle()
            for manager, debate in ((other, foreign), (guest.manager, own), (other, own)):
                await manager.intervene(debate.id, "inject", NOTE, actor="test")
                assert await events.next() == {"debates": [debate.id], "trouble": ""}


async def test_it_is_told_when_a_process_begins_to_run_a_debate_and_when_it_is_killed(database: str) -> None:
    asked = {"question": "Ship it?", "run": True, "wait_seconds": 0}
    async with (
        open_site(database) as guest,
        open_call_gate() as gate,
        start_server_process(database, gate, "auto") as (server, client),
        guest.follow() as events,
    ):
        await events.settle()
        debate_id = (await call(client, "start_debate", **asked))["debate_id"]
        found: dict[str, Any] = {}
        for status, note in (("running", ""), ("ready", "No process runs this debate now")):
            while not found or found["data"]["debates"][0]["status"] != status:
                await events.wait_for(debate_id)
                found = await guest.read(f"debates/{debate_id}/record")
            assert found["note"].partition(":")[0] == note
            work = found["data"]["debates"][0]["drawing"]["progress"]["work"]
            assert ("waiting for" in work) == (status == "running")
            if status == "running":
                server.kill()


async def test_a_page_that_is_slow_is_told_of_all_that_changed_meanwhile_in_one_event(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager, anyio.create_task_group() as tasks:
        ids = sorted([(await start_debate(manager)).id for _ in range(2)])
        feed = ChangeFeed(manager)
        tasks.start_soon(feed.run)
        with anyio.fail_after(PATIENCE):
            async with aclosing(feed.follow()) as slow, aclosing(feed.follow()) as quick:
                for stream in (slow, quick, slow, quick):
                    assert b'"debates": null' in await anext(stream)
                for debate_id in (*ids, *ids):
                    await manager.intervene(debate_id, "inject", NOTE, actor="test")
                    assert f'"debates": ["{debate_id}"]'.encode() in await anext(quick)
                assert json.dumps({"debates": ids, "trouble": ""}).encode() in await anext(slow)
        tasks.cancel_scope.cancel()


async def test_a_database_that_is_gone_is_told_and_so_is_its_return(database: str) -> None:
    async with open_site(database, ScriptedModel()) as guest:
        debate_id = (await start_debate(guest.manager)).id
        async with guest.follow() as events:
            await events.settle()
            await anyio.Path(database).rename(f"{database}.away")
            gone = await events.next()
            assert gone["debates"] == []
            assert "cannot be used" in gone["trouble"]
            await anyio.Path(f"{database}.away").rename(database)
            assert await events.next() == {"debates": None, "trouble": ""}
            await guest.manager.intervene(debate_id, "inject", NOTE, actor="test")
            assert (await events.next())["debates"] == [debate_id]


async def test_looking_at_a_lost_database_begins_no_new_one_until_somebody_was_told(database: str) -> None:
    async with open_site(database, ScriptedModel()) as guest:
        debate_id = (await start_debate(guest.manager)).id
        async with guest.follow() as events:
            await events.settle()
            for path in Path(database).parent.glob("debates.db*"):
                path.unlink()
            assert "cannot be used" in (await events.next())["trouble"]
            for _ in range(3):  # what a page asks for by itself
                assert (await guest.get(f"debates/{debate_id}/record")).status_code == 503
            assert not is_there(database)
            told = await guest.get(f"debates/{debate_id}")  # somebody loads it again
            assert (told.status_code, is_there(database)) == (503, False)
            assert "cannot be used" in told.text
            page = await guest.get(f"debates/{debate_id}")  # and again
            assert (page.status_code, is_there(database)) == (404, True)
            assert "There is no debate" in page.text
            while (change := await events.next())["trouble"]:
                pass  # files go one after the other, and each way of being lost has its words
            assert change == {"debates": None, "trouble": ""}
            assert (await guest.read("list"))["list"]["rows"] == []


async def test_nothing_is_polled_while_nobody_follows(database: str) -> None:
    async with open_site(database, ScriptedModel()) as guest:
        await start_debate(guest.manager)
        assert guest.site.feed.position == -1
        async with guest.follow() as events:
            await events.settle()
            assert guest.site.feed.position > 0


async def test_more_streams_than_pages_can_be_open_are_refused_and_closed_ones_do_not_count(
    database: str,
) -> None:
    async with open_site(database) as guest, anyio.create_task_group() as tasks:
        followed, ready, enough = 0, anyio.Event(), anyio.Event()

        async def follow() -> None:
            nonlocal followed
            async with guest.follow() as events:
                await events.next()
                followed += 1
                if followed == 100:
                    ready.set()
                await enough.wait()

        for _ in range(100):
            tasks.start_soon(follow)
        with anyio.fail_after(PATIENCE):
            await ready.wait()
        refused = await guest.get("events")
        assert (refused.status_code, refused.json()) == (503, {"error": "More than 100 pages are open."})
        assert (await guest.get("list")).status_code == 200
        enough.set()
    async with open_site(database) as guest:
        async with guest.follow() as events:
            await events.next()
        with anyio.fail_after(PATIENCE):
            while guest.site.feed.followers:
                await anyio.lowlevel.checkpoint()


async def test_a_page_that_takes_nothing_is_left_and_nothing_piles_up_for_it(database: str) -> None:
    async with open_engine(database) as manager:
        feed, never = ChangeFeed(manager), anyio.Event()
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            if sent:
                await never.wait()
            sent.append(message)

        async def receive() -> dict[str, Any]:
            await never.wait()
            raise AssertionError

        stream = EventStream(feed.follow(), send_timeout=0.01)
        with anyio.fail_after(PATIENCE):
            await stream({"type": "http", "method": "GET"}, receive, send)  # type: ignore[arg-type]
        assert [message["type"] for message in sent] == ["http.response.start"]
        assert not feed.followers


async def test_streams_end_with_the_server(database: str) -> None:
    async with open_site(database) as guest, guest.follow() as events:
        await events.settle()
        guest.site.stop()
        with pytest.raises(StopAsyncIteration):
            await events.next()


async def test_a_running_debate_is_told_answer_by_answer(database: str) -> None:
    gate = Gate()
    async with (
        open_site(database) as guest,
        open_engine(database, gate.model) as other,
        guest.follow() as events,
    ):
        await events.settle()
        debate_id = (await start_debate(other, run=True)).id
        await gate.wait_for_call()
        gate.release.set()
        seen, status = 0, ""
        while status not in ("concluded", "truncated", "paused"):
            await events.wait_for(debate_id)
            found = await guest.read(f"debates/{debate_id}/record?since={seen}")
            [debate] = found["data"]["debates"]
            assert [entry["seq"] for entry in debate["entries"]] == [
                *range(seen + 1, seen + 1 + len(debate["entries"]))
            ]
            seen, status = seen + len(debate["entries"]), debate["status"]
        assert seen == (await other.load(debate_id)).debate.version
