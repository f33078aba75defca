"""A developer's view of a debate: which question went to whom, what became of it, how long it took."""

from typing import Any

import pytest

from server.models import ModelError
from tests.support.client_calls import call, read_resource, read_text
from tests.support.mcp_debates import build_scripted_model, read_view, run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C16")]


async def test_every_question_is_a_task_with_its_state_and_duration(open_client: Any) -> None:
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
    async with open_client(models) as client:
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


@pytest.mark.requirement("N7")
async def test_a_prompt_that_is_too_long_for_a_result_can_be_read_whole(open_modern: Any) -> None:
    documents = [{"title": "Plan", "text": "A line of the plan.\n" * 1_000}]
    async with open_modern() as client:
        asked = {"question": "Q?", "models": ["caller"], "documents": documents, "run": True}
        step = await call(client, "start_debate", **asked)
        shown = await client.call_tool("step_round", {"debate_id": step["debate_id"]})
        whole = await read_text(client, step["debate_id"], "prompt")

    place = f"read_debate(debate_id='{step['debate_id']}', view='prompt')"
    assert step["left_out"] == [f"Shortened here: awaited. Whole: {place}."]
    assert step["left_out"][0] in shown.content[0].text
    assert whole.count("A line of the plan.") == 2_000
    question, rest = step["awaited"][0]["prompt"].split("\n\n", 1)
    task = rest[rest.index("# Your turn") :]
    assert question in whole
    assert task in whole
    assert (step["awaited"][0]["prompt"] in whole, step["awaited"][1]["prompt"]) == (False, "")


@pytest.mark.requirement("C8", "C20")
async def test_a_synthesis_is_shown_with_its_position_wherever_outcomes_are(open_client: Any) -> None:
    finding = {"winner": None, "common_position": "Half now, the rest in May.", "verdict": "Neither alone."}
    models = {name: build_scripted_model(judgment=finding) for name in ("one", "two", "three")}
    async with open_client(models) as client:
        judges = {"judges": {"models": [*models]}}
        ran = await run_debate(client, question="Ship it?", options=judges)
        found = await call(client, "get_verdict", debate_id=ran["debate_id"])
        [row] = (await call(client, "find_debates"))["debates"]
        listed = (await client.call_tool("find_debates", {})).content[0].text
        shown = (await client.call_tool("get_verdict", {"debate_id": ran["debate_id"]})).content[0].text
        result = await read_view(client, ran, "result")

    assert (found["outcome"], found["winner"], found["winner_stance"]) == ("synthesis", "", "")
    assert found["verdict"] == ran["verdict"] == row["position"] == "Half now, the rest in May."
    assert (row["outcome"], row["winner"]) == ("synthesis", "")
    assert 'synthesis "Half now, the rest in May.", opened' in listed
    assert shown.startswith('## Verdict: Synthesis: "Half now, the rest in May."')
    assert result["verdict"]["outcome"] == "synthesis"
    assert (result["verdict"]["winner"], result["verdict"]["verdict"]) == (None, found["verdict"])


@pytest.mark.requirement("N2")
async def test_every_field_of_a_verdict_is_there_before_there_is_one(open_client: Any) -> None:
    async with open_client() as client:
        opened = await call(client, "start_debate", question="Ship it?")
        found = await call(client, "get_verdict", debate_id=opened["debate_id"], wait_seconds=0)
        shown = await read_resource(client, f"debate://{opened['debate_id']}/verdict")

    nobody = {"asked": 0, "voted": 0, "abstained": 0, "failed": 0, "support": "", "against": "", "voices": 0}
    assert found["panel"] == {**nobody, "proven": [], "rule": "", "consensus": ""}
    assert (found["ahead"], found["outcome"], found["cautions"]) == ("", "", [])
    assert "No verdict yet" in shown
