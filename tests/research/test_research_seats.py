"""Judges, referee and synthesizer may look things up too; what they find is theirs alone, and in the record."""

import json
from typing import Any

import pytest

from server.models import FunctionCall, Request
from server.models.fakes.scripted import ScriptedModel, ScriptOutput, build_reply_text
from tests.support.client_calls import call, expect_tool_error, read_resource
from tests.support.mcp_debates import read_events, read_view
from tests.support.processes.research_client import build_server_config

pytestmark = pytest.mark.requirement("C18")

QUESTION = "Should the library open on Sundays?"


class Curious(ScriptedModel):
    """A model that looks up something of its own once before each of its answers."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        super().__init__(self.look_up_once)

    def look_up_once(self, request: Request) -> ScriptOutput:
        prompt = request.prompt.messages[-1].content
        self.prompts.append(prompt)
        if request.functions and "What you looked up" not in prompt:
            return (FunctionCall("notes__big", json.dumps({"size": 40 + len(self.prompts)})),)
        return build_reply_text(request)


async def run(client: Any, **fields: Any) -> dict[str, Any]:
    return await call(client, "start_debate", question=QUESTION, max_rounds=1, run=True, **fields)


@pytest.mark.anyio
async def test_each_reading_of_a_judge_looks_up_on_its_own(open_modern: Any) -> None:
    judge = Curious()
    async with open_modern({"judge": judge}, research={"notes": build_server_config("bad")}) as client:
        ran = await run(client, options={"judges": {"models": ["judge"], "tools": ["notes/big"]}})
        found = await read_events(client, ran, "researched")
        shown = (await read_view(client, ran, "result"))["lookups"]
        transcript = await read_resource(client, f"debate://{ran['debate_id']}/transcript")

    assert ran["status"] == "concluded"
    assert sorted((each["seat"], each["slot_index"]) for each in found) == [("judge 1", 1), ("judge 1", 2)]
    results = [each["lookups"][0]["result"] for each in found]
    assert len(set(results)) == 2
    informed = [prompt for prompt in judge.prompts if "What you looked up" in prompt]
    for result in results:
        assert sum(f"> {result}\n" in prompt for prompt in informed) == 1
    assert all("with your tools (notes/big)" in prompt for prompt in judge.prompts)
    assert sorted(row["result"] for row in shown) == sorted(results)
    assert {(row["seat"], row["round"], row["tool"]) for row in shown} == {("judge 1", 2, "notes/big")}
    for reading, result in zip((each["slot_index"] for each in found), results, strict=True):
        beside = transcript.partition(f"### judge 1, reading {reading}")[2]
        assert "*judge 1 looked up notes/big" in beside
        assert f': "{result}"*' in beside


@pytest.mark.anyio
async def test_referee_and_synthesizer_look_things_up(open_modern: Any) -> None:
    referee, writer, other = Curious(), Curious(), ScriptedModel()
    models = {"referee": referee, "writer": writer, "mine": other}
    async with open_modern(models, "mine", {"notes": build_server_config("bad")}) as client:
        options = {
            "referee": {"model": "referee", "tools": ["notes/big"]},
            "synthesizer": {"model": "writer", "tools": ["notes/big"]},
        }
        ran = await run(client, format="verdict", options=options)
        found = await read_events(client, ran, "researched")
        shown = (await read_view(client, ran, "result"))["lookups"]
        transcript = await read_resource(client, f"debate://{ran['debate_id']}/transcript")

    assert [each["seat"] for each in found] == ["referee", "synthesizer"]
    assert [row["seat"] for row in shown] == ["referee", "synthesizer"]
    for seat, model in (("referee", referee), ("synthesizer", writer)):
        assert f"*{seat} looked up notes/big" in transcript
        assert sum("What you looked up" in prompt for prompt in model.prompts) == 1
    assert not any("What you looked up" in request.prompt.messages[-1].content for request in other.requests)
    assert not any(request.functions for request in other.requests)


@pytest.mark.anyio
@pytest.mark.requirement("C17")
async def test_what_a_hidden_seat_looked_up_is_hidden_with_it(open_modern: Any) -> None:
    async with open_modern({"judge": Curious()}, research={"notes": build_server_config("bad")}) as client:
        options = {
            "judges": {"models": ["judge"], "tools": ["notes"]},
            "visibility": {"hide_from_client": ["judges"]},
        }
        ran = await run(client, options=options)
        shown = (await read_view(client, ran, "result"))["lookups"]
        transcript = await read_resource(client, f"debate://{ran['debate_id']}/transcript")

    assert shown == []
    assert "looked up" not in transcript


@pytest.mark.anyio
@pytest.mark.parametrize("seat", ["judges", "referee", "synthesizer"])
async def test_servers_that_are_not_configured_are_refused_for_every_seat(
    open_modern: Any, seat: str
) -> None:
    async with open_modern(research={"notes": build_server_config("bad")}) as client:
        asked = {"question": QUESTION, "format": "verdict", "options": {seat: {"tools": ["books"]}}}
        assert "'books'. Configured: notes." in await expect_tool_error(client, "start_debate", **asked)
