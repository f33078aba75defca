"""Debates as they are read: as resources, listed, completed, safe against odd addresses; and by tools."""

import json
from typing import Any

import pytest
from mcp import MCPError
from mcp.types import ResourceTemplateReference

from server.debate.views.catalog import VIEWS
from server.debate.views.provenance import RECORDED_HERE
from server.engine.queries import build_list_row, build_listed_debate
from server.mcp.resources import PAGE_SIZE, build_transcript_resource
from server.models.fakes.scripted import ScriptedModel
from storage.streams import StreamListing
from tests.support.client_calls import call, expect_tool_error, read_resource, result_text
from tests.support.mcp_debates import run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M2")]


@pytest.fixture
async def finished(open_modern: Any) -> Any:
    async with open_modern() as client:
        started = await run_debate(client, question="Should penguins fly?")
        yield client, started["debate_id"]


async def test_the_transcript_is_also_data_and_starts_where_one_likes(finished: Any) -> None:
    client, debate_id = finished
    data = json.loads(await read_resource(client, f"debate://{debate_id}/transcript?format=json&since=2"))

    assert [(turn["round"], turn["phase"]) for turn in data["turns"]] == [(2, "rebuttal"), (2, "rebuttal")]
    assert set(data["turns"][0]) == {"round", "phase", "agent", "stance", "text"}


async def test_the_transcript_is_delivered_as_what_it_is(finished: Any) -> None:
    client, debate_id = finished
    for query in ("", "?since=2", "?format=markdown", "?format=json", "?since=2&format=json"):
        [content] = (await client.read_resource(f"debate://{debate_id}/transcript{query}")).contents
        is_json = "json" in query
        assert content.mime_type == ("application/json" if is_json else "text/markdown")
        assert content.text.startswith("{" if is_json else '# "Should penguins fly?"')


async def test_a_view_is_the_same_by_tool_and_by_resource(finished: Any) -> None:
    client, debate_id = finished
    listed = (await client.list_resource_templates()).resource_templates
    paths = {template.name: template.uri_template.partition("{?")[0] for template in listed}
    assert list(paths) == list(VIEWS)
    for view, path in paths.items():
        uri = path.replace("{debate_id}", debate_id).replace("{round}", "3")
        result = await client.call_tool("read_debate", {"debate_id": debate_id, "view": view})
        text, whole = result_text(result), await read_resource(client, uri)
        assert whole.startswith(text) if result.structured_content.get("next_offset") else text == whole
        shown = result.structured_content
        if VIEWS[view].render:
            assert (shown["text"], "data" in shown) == (result_text(result), False)
        else:
            assert ("text" in shown, shown["data"]) == (False, json.loads(await read_resource(client, uri)))


async def test_the_index_lists_debates_newest_first(finished: Any) -> None:
    client, debate_id = finished
    newer = (await call(client, "start_debate", question="Another?"))["debate_id"]
    index = json.loads(await read_resource(client, "debate://index"))

    assert [row["debate_id"] for row in index["debates"]] == [newer, debate_id]


@pytest.mark.both_databases
async def test_the_list_comes_in_pages_that_show_each_debate_once(open_modern: Any) -> None:
    async with open_modern() as client:
        ids = [
            (await call(client, "start_debate", question=f"Question {number}?"))["debate_id"]
            for number in range(PAGE_SIZE + 5)
        ]
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)

    listed = [str(resource.uri) for page in (first, second) for resource in page.resources]
    transcripts = [f"debate://{name}/transcript" for name in reversed(ids)]
    assert listed == ["debate://index", "debate://options", *transcripts]
    assert second.next_cursor is None


async def test_debate_ids_are_completed(finished: Any) -> None:
    client, debate_id = finished
    reference = ResourceTemplateReference(
        type="ref/resource", uri="debate://{debate_id}/transcript{?format,since}"
    )
    ids = await client.complete(reference, {"name": "debate_id", "value": debate_id[:3]})
    formats = await client.complete(reference, {"name": "format", "value": "m"})
    nothing = await client.complete(reference, {"name": "since", "value": ""})

    assert ids.completion.values == [debate_id]
    assert formats.completion.values == ["markdown"]
    assert nothing.completion.values == []


async def test_an_address_that_leads_nowhere_is_told_so(finished: Any) -> None:
    client, debate_id = finished
    for path, told in (
        ("nobody/transcript", "There is no debate 'nobody'"),
        ("../../etc/passwd", "Unknown resource"),
        ("..%2f..%2fetc/transcript", "."),
        (f"{debate_id}/rounds/99", "has 3 rounds so far"),
        (f"{debate_id}/rounds/x", "must be a whole number"),
        (f"{debate_id}/transcript?since=x", "must be a whole number"),
        (f"{debate_id}/transcript?format=opera", "markdown or json"),
        (f"{debate_id}/soul", "Unknown resource"),
    ):
        with pytest.raises(MCPError, match=told):
            await read_resource(client, f"debate://{path}")
    with pytest.raises(MCPError, match="No page returned the cursor"):
        await client.list_resources(cursor="!!")

    assert await read_resource(client, "debate://index")


@pytest.mark.parametrize(
    "details", [{}, {"format": None, "winner": 7, "outcome": ["decided"], "round": "two", "tags": "many"}]
)
def test_a_damaged_row_spoils_no_list(details: dict[str, Any]) -> None:
    at = "2026-12-01T10:00:00.000Z"
    row = build_list_row(StreamListing("abc", 7, "(heading unreadable)", "running", details, at, at), {"abc"})

    assert (row.round, row.tags) == (0, [])
    assert (row.question, row.opened_at, row.status) == ("(heading unreadable)", at[:19] + "Z", "running")
    assert build_transcript_resource(row).uri == "debate://abc/transcript"


@pytest.mark.parametrize(("cost", "told"), [("0.02", "0.02"), ("abc", ""), ("NaN", ""), (None, "")])
def test_a_damaged_cost_spoils_no_list(cost: Any, told: str) -> None:
    at = "2026-12-01T10:00:00.000Z"
    listing = StreamListing("abc", 7, "Tea?", "concluded", {"cost_usd": cost}, at, at)

    assert build_listed_debate(listing, frozenset(), RECORDED_HERE).cost_usd == told


@pytest.mark.requirement("M4")
@pytest.mark.parametrize("view", ["transcript", "result"])
async def test_a_debate_of_any_length_is_read_whole_by_tool(open_modern: Any, view: str) -> None:
    long = ScriptedModel(lambda request: f"猫 {request.seat} " * 700)
    debaters = [{"name": f"N{number}", "stance": f"s{number}"} for number in range(20)]
    async with open_modern({"mine": long}, "mine") as client:
        debate_id = (await call(client, "start_debate", question="Q?", debaters=debaters))["debate_id"]
        await call(client, "step_round", debate_id=debate_id)
        asked = {"debate_id": debate_id, "view": view}
        pieces, offset, on = [], 0, 1
        while on:
            answer = await client.call_tool("read_debate", {**asked, "offset": offset})
            offset = answer.structured_content["next_offset"]
            piece, on = answer.structured_content["text"], offset
            assert result_text(answer) == piece
            assert "data" not in answer.structured_content
            assert len(json.dumps(answer.structured_content)) < 40_000
            assert not offset or f"offset={offset})" in answer.content[1].text
            pieces.append(piece)
        whole = await read_resource(client, f"debate://{debate_id}/{view}")
        beyond = await expect_tool_error(client, "read_debate", **asked, offset=len(whole))

    assert len(pieces) > 1
    assert "".join(pieces) == whole
    assert "is beyond the end" in beyond
