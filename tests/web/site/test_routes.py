"""The pages of `counterpoint view` and the data behind them. Looking runs nothing."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from server.debate.commands.requests import ChangesInput
from server.debate.interventions.action import InterventionRequest
from server.models.fakes.scripted import ScriptedModel
from server.web.site.routes import Visitor, build_site
from tests.support.engines import alter_entries, open_engine, run_debate, run_round, start_debate
from tests.support.patience import PATIENCE
from tests.support.sites import Guest, open_site

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]

HOSTILE = "</script><img src=x onerror=alert(1)> \u202e' \" & <!--"


@pytest.fixture
async def guest(database: str) -> AsyncIterator[Guest]:
    async with open_site(database, ScriptedModel()) as opened:
        yield opened


def find_listed(page: str) -> list[str]:
    """The ids of the debates in a list that is drawn."""
    return re.findall(r'<li><a href="debates/(\w+)">', page)


def read_embedded(page: str) -> dict[str, Any]:
    """The data that stands in a page."""
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


async def test_the_list_is_a_page_with_the_newest_debates_in_it(guest: Guest) -> None:
    ids = [(await start_debate(guest.manager, question=f"Question {number}?")).id for number in range(25)]
    assert find_listed((await guest.get()).text) == ids[:4:-1]

    first = (await guest.read("list"))["list"]
    second = (await guest.read(f"list?cursor={first['cursor']}"))["list"]
    assert [row["debate_id"] for row in (*first["rows"], *second["rows"])] == ids[::-1]
    assert second["cursor"] == ""


async def test_the_list_is_searched_and_filtered_as_data_and_as_a_page(guest: Guest) -> None:
    ended = await run_debate(guest.manager, question="Adopt Rust for billing?")
    ready = await start_debate(guest.manager, question="Adopt Go for billing?", options={"tags": ["release"]})
    for query, expected in (
        ("query=rust", [ended.id]),
        ("query=billing", [ready.id, ended.id]),
        ("status=ready", [ready.id]),
        ("query=billing&status=concluded", [ended.id]),
        ("outcome=leaning&model=mine", [ended.id]),
        ("tag=release", [ready.id]),
        ("tag=release&outcome=leaning", []),
        ("cost=0.01", []),
        ("query=nothing", []),
        ("status=nothing", []),
        (f"query={'x' * 5000}", []),
    ):
        listed = (await guest.read(f"list?{query}"))["list"]
        assert [row["debate_id"] for row in listed["rows"]] == expected
        for drawn in (listed["html"], (await guest.get(f"?{query}")).text):
            assert find_listed(drawn) == expected
    filtered = (await guest.get("?outcome=leaning")).text
    assert '<option value="leaning" selected>Leaning</option>' in filtered
    assert '<option value="ready">not running</option>' in filtered
    refused = await guest.get("list?cursor=nothing")
    assert (refused.status_code, "cursor" in refused.json()["error"]) == (409, True)
    assert "<h1>" in (page := await guest.get("?cursor=nothing")).text
    assert page.status_code == 409


async def test_a_debate_is_a_page_with_its_record_and_what_comes_later_is_asked_for(guest: Guest) -> None:
    debate_id = (await run_round(guest.manager)).id
    page = read_embedded((await guest.get(f"debates/{debate_id}")).text)
    [debate] = page["debates"]
    assert debate["debate_id"] == debate_id
    seen = len(debate["entries"])

    after = await guest.manager.step(debate_id, wait=PATIENCE)
    found = await guest.read(f"debates/{debate_id}/record?since={seen}")
    [later] = found["data"]["debates"]
    assert [entry["seq"] for entry in later["entries"]] == [*range(seen + 1, after.debate.version + 1)]
    assert found["next_round"] == 3
    for whole in ("", "?since=", "?since=x", "?since=-1", f"?since={'9' * 40}", "?since=0"):
        [debate] = (await guest.read(f"debates/{debate_id}/record{whole}"))["data"]["debates"]
        assert len(debate["entries"]) == after.debate.version


async def test_nothing_is_sent_again_until_something_is_new(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager)).id
    path = f"debates/{debate_id}/record"
    tag = (await guest.get(path)).headers["etag"]
    again = await guest.get(path, **{"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert (await guest.get(f"{path}?since=1", **{"if-none-match": tag})).status_code == 200

    await guest.manager.intervene(debate_id, "pause", InterventionRequest(), actor="test")
    assert (await guest.get(path, **{"if-none-match": tag})).status_code == 200


async def test_relatives_are_sent_to_whom_they_are_new(guest: Guest) -> None:
    parent = await run_debate(guest.manager)
    path = f"debates/{parent.id}/record?since=1&family=1"
    alone = await guest.get(path)
    assert alone.json()["data"]["debates"][0]["relatives"] == []
    tag = alone.headers["etag"]
    assert (await guest.get(path, **{"if-none-match": tag})).status_code == 304

    fork = await guest.manager.fork(parent.id, 1, ChangesInput(), actor="test")
    found = await guest.get(path, **{"if-none-match": tag})
    [debate] = found.json()["data"]["debates"]
    assert (debate["since_seq"], [one["debate_id"] for one in debate["relatives"]]) == (1, [fork.id])
    [plain] = (await guest.read(f"debates/{parent.id}/record?since=1"))["data"]["debates"]
    assert plain["relatives"] == []


async def test_looking_runs_nothing_and_writes_nothing(database: str) -> None:
    model = ScriptedModel()
    async with open_engine(database, model) as other:
        debate_id = (await run_round(other, run=False)).id
        version = (await other.load(debate_id)).debate.version
    async with open_site(database, ScriptedModel()) as guest:
        for path in ("", "list", f"debates/{debate_id}", f"debates/{debate_id}/record"):
            assert (await guest.get(path)).status_code == 200
        async with guest.follow() as events:
            await events.settle()
        assert not await guest.manager.is_run(debate_id)
        assert (await guest.manager.load(debate_id)).debate.version == version


async def test_what_was_left_in_the_middle_is_said_and_what_waits_to_be_stepped_is_not(database: str) -> None:
    async with open_site(database, ScriptedModel()) as guest:
        stepped = (await run_round(guest.manager)).id
        fresh = (await start_debate(guest.manager)).id
        ended = (await run_debate(guest.manager)).id
        for debate_id in (stepped, fresh, ended):
            assert (await guest.read(f"debates/{debate_id}/record"))["note"] == ""


async def test_errors_are_sentences_in_pages_and_in_data(guest: Guest, database: str) -> None:
    debate_id = (await start_debate(guest.manager)).id
    for path in ("debates/zzzz", f"debates/{debate_id[:4]}", "debates/%3Cb%3E"):
        page, data = await guest.get(path), await guest.get(f"{path}/record")
        assert (page.status_code, data.status_code) == (404, 404)
        assert data.json()["error"].startswith("There is no debate")
        assert "There is no debate" in page.text
        assert "<b>" not in page.text
        assert "<a href='..'>" in page.text

    guest.manager.store.recent.clear()
    alter_entries(database, "Ship it?", "Sell it?")
    altered = await guest.get(f"debates/{debate_id}/record")
    assert altered.status_code == 503
    assert f"The record of debate {debate_id} was altered" in altered.json()["error"]
    assert (await guest.get("list")).status_code == 200


async def test_hostile_texts_stay_texts(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager, question=f"Ship {HOSTILE}?")).id
    for path in ("", f"debates/{debate_id}"):
        page = (await guest.get(path)).text
        assert "<img" not in page
        assert "&lt;img src=x onerror=alert(1)&gt;" in page


async def test_a_defect_is_a_sentence_without_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    nothing: Any = None
    site = build_site(lambda _request: nothing)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(site), base_url="http://test") as client:
        data, page = await client.get("/debates/abcd/record"), await client.get("/debates/abcd")
    for response in (data, page):
        assert response.status_code == 500
        assert "AttributeError, which is a defect of this server" in response.text
        assert "Traceback" not in response.text
    assert "AttributeError" in caplog.text


async def test_another_server_can_mount_it_behind_access_control_of_its_own_that_says_who_looks(
    tmp_path: Path,
) -> None:
    async with (
        open_engine(tmp_path / "ann.db", ScriptedModel()) as ann,
        open_engine(tmp_path / "ben.db") as ben,
    ):
        visitors = {
            name: Visitor(manager, f"page of {name}") for name, manager in (("ann", ann), ("ben", ben))
        }
        site = build_site(lambda request: visitors[request.headers["x-owner"]])
        server = httpx2.ASGITransport(Starlette(routes=[Mount("/debates", site)]))
        debate_id = (await start_debate(ann)).id
        async with httpx2.AsyncClient(transport=server, base_url="http://test/debates/") as client:
            for owner, status, count in (("ann", 200, 1), ("ben", 404, 0)):
                headers = {"x-owner": owner}
                assert len((await client.get("list", headers=headers)).json()["list"]["rows"]) == count
                for path in (f"debates/{debate_id}", f"debates/{debate_id}/record"):
                    assert (await client.get(path, headers=headers)).status_code == status
                pause = {"action": "pause", "request_id": "press-0001"}
                pressed = await client.post(f"debates/{debate_id}/presses", json=pause, headers=headers)
                assert pressed.status_code == status
        assert (await ann.load(debate_id)).entries[-1].actor == "page of ann"
