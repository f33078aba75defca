"""A developer's view of a debate: which question went to whom, what became of it, how long it took."""

from typing import Any

import pytest

from server.models import ModelError
from tests.support.client_calls import call, expect_tool_error, read_resource, result_text
from tests.support.mcp_debates import build_scripted_model, read_view, run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C16")]


async def test_every_question_is_a_task_with_its_state_and_duration(open_modern: Any) -> None:
    models = {
        "slow": "scripted?delay=0.03",
        "odd": build_scripted_model(argument=["", "Better."]),
        "down": build_scripted_model(audit=ModelError("unavailable", "down cannot be reached", attempts=3)),
    }
    debaters = [
        {"name": "Ada", "stance": "now", "model": models.pop("slow")},
        {"name": "Ben", "stance": "later", "model": "odd"},
    ]
    options = {"referee": {"model": "down"}, "moderator": {"opens": True, "closes": True}, "effort": "quick"}
    async with open_modern(models) as client:
        asked = {"question": "Q?", "format": "verdict", "debaters": debaters, "max_rounds": 1}
        ran = await run_debate(client, **asked, options=options)
        rows = (await read_view(client, ran, "tasks"))["tasks"]

    found = [(row["round"], row["phase"], row["seat"], row["task"], row["state"]) for row in rows]
    assert sorted(found) == sorted(
        [
            (1, "argumentation", "moderator", "opening", "done"),
            (1, "argumentation", "Ada", "argument", "done"),
            (1, "argumentation", "Ben", "argument", "failed"),
            (1, "argumentation", "Ben", "argument", "done"),
            (1, "argumentation", "referee", "audit", "failed"),
            (1, "argumentation", "moderator", "closing", "done"),
            *[(2, "verdict", "judge 1", "judgment", "done")] * 2,
        ]
    )
    ada = next(row for row in rows if row["seat"] == "Ada")
    assert (ada["model"], ada["attempts"], ada["detail"]) == ("scripted?delay=0.03", 1, "")
    assert ada["milliseconds"] >= 30
    referee = next(row for row in rows if row["seat"] == "referee")
    assert (referee["model"], referee["attempts"], referee["detail"]) == ("down", 3, "down cannot be reached")


@pytest.mark.requirement("N2")
async def test_every_field_of_a_verdict_is_there_before_there_is_one(open_modern: Any) -> None:
    async with open_modern() as client:
        opened = await call(client, "start_debate", question="Ship it?")
        found = await call(client, "get_verdict", debate_id=opened["debate_id"], wait_seconds=0)
        shown = await read_resource(client, f"debate://{opened['debate_id']}/verdict")

    nobody = {"asked": 0, "voted": 0, "abstained": 0, "failed": 0, "support": "", "against": "", "voices": 0}
    assert found["panel"] == {**nobody, "proven": [], "rule": "", "consensus": ""}
    assert (found["ahead"], found["outcome"], found["cautions"]) == ("", "", [])
    assert "No verdict: the debate is " in shown


@pytest.mark.requirement("N17")
async def test_a_part_of_a_debate_is_read_in_the_view_that_has_parts_or_refused(open_modern: Any) -> None:
    async with open_modern() as client:
        ran = await run_debate(client, question="Ship it?", format="verdict")
        this = {"debate_id": ran["debate_id"]}
        first = await call(client, "read_debate", **this, round=1)
        assert first == await call(client, "read_debate", **this, view="round", round=1)
        assert (first["view"], first["data"]["round"]) == ("round", 1)
        assert (await call(client, "read_debate", **this, since_seq=3))["view"] == "events"
        assert (await call(client, "read_debate", **this, since_round=1))["view"] == "transcript"
        for asked in ({"view": "state", "round": 1}, {"round": 1, "since_seq": 3}):
            refused = await client.call_tool("read_debate", {**this, **asked})
            assert refused.is_error
            assert "`round` is for view='round'" in result_text(refused)


async def test_an_unknown_view_is_told_all_that_there_are(open_modern: Any) -> None:
    async with open_modern() as client:
        debate_id = (await call(client, "start_debate", question="Ship it?"))["debate_id"]
        told = await expect_tool_error(client, "read_debate", debate_id=debate_id, view="minutes")

    assert told.startswith("Error: There is no view 'minutes'. Views: transcript, ")
    assert told.endswith(", options.")
