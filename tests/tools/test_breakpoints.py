"""Breakpoints over MCP and in the terminal: where it stops is said, with how to go on."""

import re

import pytest

from server.models.fakes.scripted import ScriptedModel
from tests.support.client_calls import call, expect_tool_error, result_text
from tests.support.mcp_debates import read_view
from tests.support.servers import Cli, OpenClient

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D23")]

HELD = {"question": "Ship it?", "run": True, "options": {"framing": False, "pause_when": ["verdict"]}}


async def test_a_debate_that_runs_by_itself_says_where_it_stopped_and_goes_on_when_it_is_resumed(
    open_client: OpenClient,
) -> None:
    model = ScriptedModel()
    async with open_client({"scripted": model}) as client:
        result = await client.call_tool("start_debate", HELD)
        found = dict(result.structured_content or {})
        debate_id = found["debate_id"]
        assert found["status"] == "paused"
        assert found["reason"].startswith("pause_when verdict: the verdict comes next, after round 2.")
        assert f"intervene(debate_id='{debate_id}', action='resume')" in found["next"]
        for said in ("pause_when verdict", "action='resume'"):
            assert said in result_text(result)
        again = await call(client, "get_verdict", debate_id=debate_id)
        assert (again["status"], again["outcome"]) == ("paused", "")
        in_force = (await read_view(client, found, "interventions"))["settings"]
        assert (in_force["paused"], in_force["pause_when"]) == (True, ["verdict"])
        asked = [request.prompt.summary.task for request in model.requests]
        assert sorted(asked) == ["argument"] * 4 + ["ballot"] * 2  # the last ballots come with the judges

        await call(client, "intervene", debate_id=debate_id, action="resume")
        assert (await call(client, "get_verdict", debate_id=debate_id))["status"] == "concluded"


async def test_a_fork_takes_its_breakpoints_along_or_leaves_them(open_modern: OpenClient) -> None:
    async with open_modern() as client:
        held = await call(client, "start_debate", **HELD)
        fork = {"debate_id": held["debate_id"], "at_round": 1}
        inherited = await call(client, "fork_debate", **fork, changes={"run": True})
        assert inherited["reason"].startswith("pause_when verdict")
        free = await call(client, "fork_debate", **fork, changes={"run": True, "pause_when": []})
        assert free["status"] == "concluded"


async def test_what_is_no_breakpoint_is_refused_with_those_there_are(open_modern: OpenClient) -> None:
    async with open_modern() as client:
        for wrong in ("end", "round:0", "budget:2"):
            text = await expect_tool_error(
                client, "start_debate", question="Ship it?", options={"pause_when": [wrong]}
            )
            assert f"{wrong!r} is no breakpoint" in text
            assert "verdict, failure, contested, unheard, round:N" in text


def test_the_terminal_stops_and_says_how_to_go_on(cli: Cli) -> None:
    stopped = cli(
        "debate", "Ship it?", "--model", "scripted", "--pause-when", "verdict", "--pause-when", "round:2"
    )
    [debate_id] = re.findall(r"counterpoint debate --continue (\w+)", stopped.stderr)
    assert stopped.exit_code == 1
    assert "The debate is paused: pause_when round:2: round 2 (rebuttal) comes next" in stopped.stderr

    later = cli("debate", "--continue", debate_id)
    assert "pause_when verdict" in later.stderr
    assert "verdict" not in {
        line.partition(": ")[2] for line in later.stdout.splitlines() if line[:2] == "=="
    }
    assert cli("debate", "--continue", debate_id).exit_code == 0
    assert "is no breakpoint" in cli("debate", "Ship it?", "--pause-when", "later").stderr
