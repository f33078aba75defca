"""Debates as resources: read, listed in pages, completed, and safe against odd addresses."""

import json
from typing import Any

import pytest
from mcp import MCPError
from mcp.types import ResourceTemplateReference

from server.resources import PAGE
from tests.calling import call, read

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M2")]


@pytest.fixture
async def finished(connected: Any) -> Any:
    async with connected() as client:
        started = await call(client, "start_debate", question="Should penguins fly?", run=True)
        yield client, started["debate_id"]


async def test_the_transcript_reads_as_a_document(finished: Any) -> None:
    client, debate_id = finished
    text = await read(client, f"debate://{debate_id}/transcript")

    assert text.startswith("# Should penguins fly?\n- **A. Proponent**: for\n- **B. Opponent**: against\n")
    assert text.index("## Round 1: opening") < text.index("## Round 2: rebuttal") < text.index("## Verdict")


async def test_the_transcript_is_also_data_and_starts_where_one_likes(finished: Any) -> None:
    client, debate_id = finished
    data = json.loads(await read(client, f"debate://{debate_id}/transcript?format=json&since=2"))

    assert [(turn["round"], turn["phase"]) for turn in data["turns"]] == [(2, "rebuttal"), (2, "rebuttal")]
    assert set(data["turns"][0]) == {"round", "phase", "agent", "stance", "text"}


async def test_every_part_of_a_debate_is_a_resource(finished: Any) -> None:
    client, debate_id = finished
    state = json.loads(await read(client, f"debate://{debate_id}"))
    verdict = await read(client, f"debate://{debate_id}/verdict")
    last_round = json.loads(await read(client, f"debate://{debate_id}/rounds/3"))
    events = json.loads(await read(client, f"debate://{debate_id}/events"))["events"]
    receipt = json.loads(await read(client, f"debate://{debate_id}/receipt"))
    analysis = json.loads(await read(client, f"debate://{debate_id}/analysis"))
    interventions = json.loads(await read(client, f"debate://{debate_id}/interventions"))

    assert (state["status"], state["round"], state["reason"]) == ("concluded", 3, "max_rounds")
    assert verdict.startswith("## Verdict: Decided")
    assert [judgment["reading"] for judgment in last_round["judgments"]] == [1, 2]
    assert events[0]["kind"] == "opened"
    assert receipt["head"] == events[-1]["hash"]
    assert [row["turns"] for row in analysis["rounds"]] == [2, 2, 0]
    assert interventions["log"] == []


async def test_the_index_lists_debates_newest_first(finished: Any) -> None:
    client, debate_id = finished
    newer = (await call(client, "start_debate", question="Another?"))["debate_id"]
    index = json.loads(await read(client, "debate://index"))

    assert [row["debate_id"] for row in index["debates"]] == [newer, debate_id]


async def test_the_list_comes_in_pages_that_show_each_debate_once(connected: Any) -> None:
    async with connected() as client:
        ids = [
            (await call(client, "start_debate", question=f"Question {number}?"))["debate_id"]
            for number in range(PAGE + 5)
        ]
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)

    listed = [str(resource.uri) for page in (first, second) for resource in page.resources]
    assert listed == ["debate://index", *(f"debate://{name}/transcript" for name in reversed(ids))]
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


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nobody/transcript", "There is no debate 'nobody'"),
        ("../../etc/passwd", "Unknown resource"),
        ("..%2f..%2fetc/transcript", "."),
        ("{id}/rounds/99", "has 3 rounds so far"),
        ("{id}/rounds/x", "must be a whole number"),
        ("{id}/transcript?since=x", "must be a whole number"),
        ("{id}/transcript?format=opera", "markdown or json"),
        ("{id}/soul", "Unknown resource"),
    ],
)
async def test_an_address_that_leads_nowhere_is_told_so(finished: Any, path: str, told: str) -> None:
    client, debate_id = finished
    with pytest.raises(MCPError, match=told):
        await read(client, "debate://" + path.replace("{id}", debate_id))

    assert await read(client, "debate://index")


async def test_a_cursor_of_somebody_else_is_refused(finished: Any) -> None:
    client, _ = finished
    with pytest.raises(MCPError, match="was returned by no page"):
        await client.list_resources(cursor="!!")
