"""What turned out right, recorded over MCP after the end, in both eras of the protocol."""

from typing import Any

import pytest

from tests.support.client_calls import call, result_text
from tests.support.mcp_debates import read_events, read_view

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N21")]

SIDES = [{"name": "Ada", "stance": "Ship it"}, {"name": "Ben", "stance": "Wait"}]


async def run_debate(client: Any) -> dict[str, Any]:
    started = await call(client, "start_debate", question="Ship it?", debaters=SIDES, run=True)
    await call(client, "get_verdict", debate_id=started["debate_id"])
    return {"debate_id": started["debate_id"]}


async def test_an_outcome_is_recorded_and_shown_and_can_be_corrected(open_modern: Any) -> None:
    async with open_modern() as client:
        this = await run_debate(client)
        before = await call(client, "get_verdict", **this)
        assert before["settled"] == ""
        assert before["answer"]["how_sure"].endswith("Not measured on your questions yet.")

        given = {**this, "action": "outcome", "to": "ship it", "reason": "It went well.", "request_id": "r"}
        told = [result_text(await client.call_tool("intervene", given)) for _ in range(2)]
        assert told[0] == told[1]
        assert told[0].startswith("It is recorded; what the ledger learns")
        found = await client.call_tool("get_verdict", this)
        line = 'Turned out right: Ship it (Ada). "It went well."'
        assert found.structured_content["settled"] == line
        assert line in result_text(found)
        assert found.structured_content["status"] == "concluded"
        for narrowed in ({"status": "concluded"}, {"outcome": before["outcome"]}, {"tag": "q3"}):
            listed = await call(client, "find_debates", **narrowed)
            assert [row["debate_id"] for row in listed["debates"]] == [this["debate_id"]] * (
                "tag" not in narrowed
            )
        refused = await client.call_tool("find_debates", {"outcome": "won"})
        assert "There is no outcome 'won'. One of: any, decided" in result_text(refused)

        await call(client, "intervene", **this, action="outcome", to="none")
        assert (await call(client, "get_verdict", **this))["settled"] == "Turned out right: no position."
        log = (await read_view(client, this, "interventions"))["log"]
        assert [(row["action"], row["to"], row["text"]) for row in log] == [
            ("outcome", "Ada", "turned out right"),
            ("outcome", "", "no position turned out right"),
        ]
        events = await read_events(client, this, "ended", "outcome_recorded")
        assert [row["names"] for row in events[-2:]] == [["outcome"], ["outcome"]]
        stepped = await call(client, "step_round", **this)
        assert stepped["status"] == "concluded"
