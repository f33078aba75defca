"""Debates whose moderators and debaters use research tools of real servers."""

import json
from typing import Any

import pytest

from server.models import FunctionCall, Request
from server.models.fakes.scripted import ScriptedModel, ScriptOutput, build_reply_text
from server.settings import ResearchServer
from tests.support.client_calls import call, expect_tool_error, read_resource
from tests.support.mcp_debates import find_prompts, read_events, read_view
from tests.support.paths import NODE
from tests.support.processes.research_client import build_server_config

pytestmark = pytest.mark.requirement("C6")

MEMORY = NODE / "node_modules" / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
QUESTION = "Should the library open on Sundays?"
MODERATED = {"model": "moderator", "tools": ["notes"]}


def build_caller_of(function: str, *, times: int = 1, at_once: int = 1, **arguments: Any) -> ScriptedModel:
    """A model that calls a function so often before it answers."""
    left = times

    def script(request: Request) -> ScriptOutput:
        nonlocal left
        if left and request.prompt.summary.task in ("opening", "argument"):
            left -= 1
            return (FunctionCall(f"notes__{function}", json.dumps(arguments)),) * at_once
        return build_reply_text(request)

    return ScriptedModel(script)


async def run_moderated(client: Any, **more: Any) -> dict[str, Any]:
    """A debate of one round whose moderator may ask the server `notes`."""
    options = {"moderator": MODERATED, **more.pop("options", {})}
    asked = {"question": QUESTION, "format": "verdict", "max_rounds": 1, "run": True, **more}
    return await call(client, "start_debate", **asked, options=options)


@pytest.mark.anyio
@pytest.mark.requirement("C3")
async def test_what_a_moderator_looks_up_is_recorded_quoted_and_in_its_briefing(open_client: Any) -> None:
    moderator, debater = build_caller_of("big", size=3000), ScriptedModel()
    async with open_client(
        {"moderator": moderator, "mine": debater}, "mine", {"notes": build_server_config("bad")}
    ) as client:
        ran = await run_moderated(client)
        (found,) = await read_events(client, ran, "researched")
        result = await read_view(client, ran, "result")
        tasks = (await read_view(client, ran, "tasks"))["tasks"]
        transcript = await read_resource(client, f"debate://{ran['debate_id']}/transcript")

    (lookup,) = found["lookups"]
    assert (found["seat"], found["round"], found["names"]) == ("moderator", 1, ["research"])
    assert (lookup["tool"], lookup["arguments"], lookup["failed"]) == ("notes/big", '{"size": 3000}', "")
    assert lookup["result"] == "x" * 3000
    first, second = find_prompts(moderator, "opening")
    assert "What you looked up" not in first
    assert (
        f'What you looked up for this answer:\n(doc 1) notes/big {{"size": 3000}}\n> {"x" * 3000}\n' in second
    )
    assert "notes__big" in {function.name for function in moderator.requests[0].functions}
    briefing = result["moderator_decisions"][0]["briefing"]
    assert briefing.startswith('What was looked up says: "xxx')
    assert briefing in transcript
    assert all(f"> {briefing}" in prompt for prompt in find_prompts(debater, "argument"))
    assert not any(request.functions for request in debater.requests)
    led_by = {(row["task"], row["state"]) for row in tasks if row["seat"] == "moderator"}
    assert led_by == {("research", "done"), ("opening", "done")}
    assert ran["failures"] == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("notes", "function", "failure"),
    [
        (build_server_config("bad"), "die", "notes/die: the call failed: it ended (exit code 7)"),
        (build_server_config("bad"), "burn", "notes__burn: there is no such function; there are: notes__pid"),
        (build_server_config("broken"), "pid", "servers: The research server notes cannot be used: it ended"),
    ],
)
async def test_a_failing_server_fails_a_lookup_and_not_the_debate(
    open_modern: Any, notes: ResearchServer, function: str, failure: str
) -> None:
    times = 0 if failure.startswith("servers: ") else 1
    async with open_modern(
        {"moderator": build_caller_of(function, times=times)}, research={"notes": notes}
    ) as client:
        ran = await run_moderated(client)
        decisions = (await read_view(client, ran, "result"))["moderator_decisions"]

    assert (ran["status"], ran["outcome"]) == ("concluded", "leaning")
    assert len(ran["failures"]) == 1
    assert ran["failures"][0].startswith(f"moderator: {failure}")
    assert ran["failures"][0].endswith(" (research)")
    assert decisions[0]["next_speakers"] == ["Proponent", "Opponent"]


@pytest.mark.anyio
async def test_a_moderator_that_never_stops_calling_tools_loses_them(open_modern: Any) -> None:
    moderator = build_caller_of("pid", times=9, at_once=9)
    async with open_modern(
        {"moderator": moderator}, research={"notes": build_server_config("bad")}
    ) as client:
        ran = await run_moderated(client)
        found = await read_events(client, ran, "researched")

    assert ran["status"] == "concluded"
    assert [len(each["lookups"]) for each in found] == [4, 4, 4]
    assert [bool(request.functions) for request in moderator.requests] == [True, True, True, False, False]
    assert ran["failures"] == ["moderator (moderator): the model said nothing (empty, 2 times)"]


@pytest.mark.anyio
async def test_a_debater_looks_things_up_where_the_settings_allow_it(open_modern: Any) -> None:
    debaters = [
        {"name": "Ada", "stance": "yes", "model": "ada", "tools": ["notes/big"]},
        {"name": "Ben", "stance": "no"},
    ]
    ada, ben = build_caller_of("big", size=5), ScriptedModel()
    research = {"notes": build_server_config("bad", debaters=True)}
    async with open_modern({"ada": ada, "ben": ben}, "ben", research) as client:
        asked = {"question": QUESTION, "format": "verdict", "debaters": debaters, "run": True}
        ran = await call(client, "start_debate", **asked)
        found = await read_events(client, ran, "researched")

    assert [(each["seat"], each["lookups"][0]["result"]) for each in found] == [("Ada", "xxxxx")]
    assert "> xxxxx" in find_prompts(ada, "argument")[1]
    assert [function.name for function in ada.requests[0].functions] == ["notes__big"]
    assert not any("What you looked up" in request.prompt.messages[-1].content for request in ben.requests)
    assert ran["status"] == "concluded"


@pytest.mark.anyio
async def test_disallowed_tools_are_refused_before_the_debate(open_modern: Any) -> None:
    debaters = [{"name": "A1", "stance": "x", "tools": ["notes"]}, {"name": "B1", "stance": "y"}]
    led = {"format": "verdict", "options": {"moderator": {"tools": ["notes/die"]}}}
    async with open_modern(research={"notes": build_server_config("bad", tools=["pid", "big"])}) as client:
        for asked, expected in (
            ({"debaters": debaters}, "is not for debaters"),
            (led, "no allowed tool 'die'"),
        ):
            assert expected in await expect_tool_error(client, "start_debate", question=QUESTION, **asked)
        assert (await call(client, "find_debates"))["debates"] == []
