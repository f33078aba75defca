"""What the caller is shown of the turn it is to write: question, stance and task, however long the rest."""

import json
from typing import Any

import pytest

from tests.support.client_calls import byte_count, call, result_text
from tests.support.mcp_debates import read_events

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N7", "M4", "N17")]

SIDES = [{"name": "Me", "stance": "yes, at once", "model": "caller"}, {"name": "Bot", "stance": "no"}]
TALK = {"ballots": "none"}
LONG = [{"title": "Plan", "text": "The plan is long. " * 5_000}]
SHAPE = "Write points that begin with [1], [2] and so on"


def forms(result: Any) -> tuple[str, str]:
    """The prompt of the next turn as it stands in the structured result and in the text."""
    text = result_text(result)
    data = result.structured_content["awaited"][0]["prompt"]
    return data, text[text.index("# Question") : text.index("\n\n**To write", text.index("# Question"))] if (
        text.count("**To write") > 1
    ) else text[text.index("# Question") :]


@pytest.mark.parametrize("documents", [[], LONG])
async def test_the_prompt_of_the_next_seat_is_whole_in_both_forms(
    open_modern: Any, documents: list[dict[str, str]]
) -> None:
    question = "Should the billing service be rewritten this year?"
    asked = {"question": question, "debaters": SIDES, "documents": documents, "run": True, "options": TALK}
    async with open_modern() as client:
        result = await client.call_tool("start_debate", asked)
        this = {"debate_id": result.structured_content["debate_id"]}
        whole = (await client.call_tool("read_debate", {**this, "view": "prompt"})).content[0].text

    assert len(json.dumps(result.structured_content)) < 16_000
    assert byte_count(result_text(result)) <= 4_000
    for prompt in forms(result):
        assert prompt.startswith(f"# Question\n> {question}")
        assert "Your position: yes, at once" in prompt
        assert SHAPE in prompt
        assert ("characters are left out here: read_debate(view='prompt')" in prompt) == bool(documents)
    left_out = f"read_debate(debate_id='{this['debate_id']}', view='prompt')"
    for form in (result_text(result), " ".join(result.structured_content.get("left_out", []))):
        assert (left_out in form) == bool(documents)
    assert "The plan is long." in whole or not documents


@pytest.mark.parametrize("system_prompt", ["", "Be brief. " * 700])
async def test_even_the_longest_question_and_instruction_leave_stance_and_task(
    open_modern: Any, system_prompt: str
) -> None:
    sides = [{**side, "system_prompt": system_prompt} for side in SIDES]
    asked = {"question": "Why? " * 2_000, "debaters": sides, "run": True, "options": TALK}
    async with open_modern() as client:
        result = await client.call_tool("start_debate", asked)

    for prompt in forms(result):
        assert prompt.startswith("# Question\n> Why? Why?")
        assert "Your position: yes, at once" in prompt
        assert SHAPE in prompt


async def test_the_rules_are_given_once_a_debate(open_modern: Any) -> None:
    async with open_modern() as client:
        step = await call(client, "start_debate", question="Ship it?", debaters=SIDES, run=True, options=TALK)
        mine = {"debate_id": step["debate_id"], "speaker": "Me", "text": "It pays."}
        following = await client.call_tool("submit_turn", mine)

    assert step["rules"].startswith("Somebody wants a second opinion")
    assert step["rules"] not in step["awaited"][0]["prompt"]
    assert "rules" not in following.structured_content
    assert "Somebody wants a second opinion" not in result_text(following)
    assert following.structured_content["awaited"][0]["prompt"].startswith("# Question")


async def test_only_the_next_turn_has_its_prompt_and_a_judge_s_readings_are_told_apart(
    open_modern: Any,
) -> None:
    sides = [{**side, "model": "scripted"} for side in SIDES]
    judged = {"judges": {"models": ["caller"]}}
    finding = {"verdict": "So.", "winner": "Me", "reasoning": "Shown.", "margin": 2}
    async with open_modern() as client:
        first = await client.call_tool(
            "start_debate", {"question": "Ship it?", "debaters": sides, "run": True, "options": judged}
        )
        this = {"debate_id": first.structured_content["debate_id"], "speaker": "judge 1"}
        second = await client.call_tool("submit_turn", {**this, "text": json.dumps(finding)})

    readings = [
        [(turn["reading"], "prompt" in turn) for turn in step.structured_content["awaited"]]
        for step in (first, second)
    ]
    assert readings == [[("1 of 2", True), ("2 of 2", False)], [("2 of 2", True)]]
    assert "**To write: judge 1** (judgment, reading 1 of 2). The prompt:" in result_text(first)
    assert "**To write: judge 1** (judgment, reading 2 of 2), later" in result_text(first)
    assert "**To write: judge 1** (judgment, reading 2 of 2). The prompt:" in result_text(second)


@pytest.mark.requirement("B3")
async def test_a_caller_hands_over_where_models_call_a_function(open_modern: Any) -> None:
    options = {"limits": {"max_turns": 2}, "judges": {"both_orders": False}}
    asked = {"question": "Ship it?", "format": "handoff", "debaters": SIDES, "options": options}
    async with open_modern() as client:
        step = await call(client, "start_debate", **asked, run=True)
        prompt = step["awaited"][0]["prompt"]
        text = json.dumps({"response": "It pays.", "next_agent_name": "Bot"})
        await call(client, "submit_turn", debate_id=step["debate_id"], speaker="Me", text=text)
        [handed] = await read_events(client, step, "handed_off")

    assert "Call handoff(" not in prompt
    assert '"next_agent_name"' in prompt
    assert (handed["to"], handed["because"]) == ("Bot", "chosen")
