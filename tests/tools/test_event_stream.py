"""The stream of events over MCP: pages with a cursor, which together hold every event once."""

import json
from typing import Any

import pytest

from server.models.fakes.scripted import ScriptedModel
from tests.support.client_calls import call, read_resource, result_text
from tests.support.mcp_debates import read_all_events, run_debate
from tests.support.servers import OpenClient

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D26")]

YES, NO = {"name": "Yes", "stance": "yes"}, {"name": "No", "stance": "no"}
ME, BOT = {"name": "Me", "stance": "yes", "model": "caller"}, {"name": "Bot", "stance": "no", "model": "bot"}


def seqs(events: list[dict[str, Any]]) -> list[int]:
    return [event["seq"] for event in events]


async def test_every_event_is_on_one_page_with_who_when_and_what(open_modern: OpenClient) -> None:
    async with open_modern() as client:
        debate_id = (await run_debate(client))["debate_id"]
        events = await read_all_events(client, debate_id)
        rest = await read_all_events(client, debate_id, since_seq=4)
        resource = json.loads(await read_resource(client, f"debate://{debate_id}/events?since_seq=4"))
        beyond = await read_all_events(client, debate_id, since_seq=10**6)

    assert seqs(events) == list(range(1, len(events) + 1))
    assert (rest, resource["events"], beyond) == (events[4:], events[4:], [])
    assert (resource["next_seq"], resource["more"]) == (len(events), False)
    assert all(event["at"].endswith("Z") and event["actor"] and event["kind"] for event in events)
    assert events[-1]["names"] == ["phase_end", "debate_end"]
    assert events[-1]["ended_phase"] == "verdict"
    assert [event["text"] for event in events if event["kind"] == "spoke"]


@pytest.mark.full
async def test_a_page_has_a_bound_whatever_was_written(open_modern: OpenClient) -> None:
    talker = ScriptedModel(lambda request: f"猫 {request.seat} " * 700)
    debaters = [{"name": f"N{number}", "stance": f"s{number}"} for number in range(26)]
    document = {"title": "All", "text": "猫" * 150_000}
    async with open_modern({"mine": talker}, "mine") as client:
        started = await call(
            client,
            "start_debate",
            question="Q?",
            debaters=debaters,
            documents=[document],
            max_rounds=1,
            options={"ballots": "none"},
        )
        this = {"debate_id": started["debate_id"], "view": "events"}
        await call(client, "step_round", debate_id=started["debate_id"])
        pages, since = [], 0
        while True:
            result = await client.call_tool("read_debate", {**this, "since_seq": since})
            page = dict(result.structured_content or {})
            assert len(json.dumps(page)) < 40_000
            assert json.loads(result_text(result)) == page["data"]
            pages.append(page["data"])
            since = page["data"]["next_seq"]
            if not page["data"]["more"]:
                break
            assert f"since_seq={since})" in page["next"]

    rows = [row for page in pages for row in page["events"]]
    assert len(pages) > 3
    assert seqs(rows) == list(range(1, 29))
    assert [row["seq"] for row in rows if row.get("cut")] == [1]
    assert rows[0]["question"] == "Q?"
    assert rows[0]["documents"][0]["text"].startswith("猫猫")
    assert all("猫 N" in row["text"] for row in rows[2:])


async def test_parts_of_a_page_are_all_of_that_page_and_the_last_names_the_next_page(
    open_modern: OpenClient,
) -> None:
    talker = ScriptedModel(lambda request: f"{request.seat} says: it pays. " * 300)
    async with open_modern({"mine": talker}, "mine") as client:
        started = await call(client, "start_debate", question="Q?", debaters=[YES, NO], run=True)
        this = {"debate_id": started["debate_id"], "view": "events", "since_seq": 3}
        page = await call(client, "read_debate", **this)
        assert page["data"]["more"]
        parts = [await call(client, "read_debate", **this, limit=9_000)]
        while offset := parts[-1]["next_offset"]:
            assert f"since_seq=3, offset={offset}, limit=9000)" in parts[-1]["next"]
            parts.append(await call(client, "read_debate", **this, limit=9_000, offset=offset))

    assert len(parts) > 2
    assert json.loads("".join(part["text"] for part in parts)) == page["data"]
    assert parts[-1]["next"] == page["next"]


@pytest.mark.requirement("N7")
async def test_the_stream_waits_before_what_the_caller_is_not_to_see_yet_and_then_tells_it_whole(
    open_modern: OpenClient,
) -> None:
    bot = ScriptedModel(lambda _: "A zebra.")
    options = {"framing": False, "ballots": "none"}
    asked = {"question": "Ship it?", "debaters": [ME, BOT], "options": options, "max_rounds": 1}
    async with open_modern({"bot": bot}, "bot") as client:
        debate_id = (await client.call_tool("start_debate", asked)).structured_content["debate_id"]
        await call(client, "step_round", debate_id=debate_id)
        before = await read_all_events(client, debate_id)
        await call(client, "intervene", debate_id=debate_id, action="inject", text="Mind the costs.")
        assert await read_all_events(client, debate_id) == before
        await call(client, "submit_turn", debate_id=debate_id, speaker="Me", text="It pays.")
        after = await read_all_events(client, debate_id, since_seq=before[-1]["seq"])

    assert [row["kind"] for row in before] == ["opened", "phase_entered"]
    assert [(row["kind"], row["text"]) for row in after[:3]] == [
        ("spoke", "A zebra."),
        ("note_added", "Mind the costs."),
        ("spoke", "It pays."),
    ]
    assert seqs(after) == list(range(3, 3 + len(after)))
