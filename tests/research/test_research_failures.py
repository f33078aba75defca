"""Research servers that hang, exit, flood or send invalid output, as real child processes."""

import os

import anyio
import pytest

from server.research import Research
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.processes.research_client import (
    build_server_config,
    call_research_tool,
    is_alive,
    open_research,
)

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C6")]


@pytest.mark.parametrize(
    ("function", "failed"),
    [
        ("die", "the call failed: it ended (exit code 7)"),
        ("close", "the call failed: it closed the connection"),
        ("endless", "the call failed: it sent a message of over 16 MB"),
        ("rubbish", "the call failed: it sent too much unsolicited output"),
        ("questions", "the call failed: it sent too much unsolicited output"),
        ("hang", "there was no answer within 1 s"),
    ],
)
async def test_after_a_broken_connection_the_next_call_opens_another(function: str, failed: str) -> None:
    timeout = 1 if function == "hang" else 30
    async with open_research(bad=build_server_config("bad", timeout=timeout)) as research:
        before = int((await call_research_tool(research, "bad__pid")).result)
        lookup = await call_research_tool(research, f"bad__{function}")
        connection = research.connections["bad"]
        after = int((await call_research_tool(research, "bad__pid")).result)
        await connection.closed.wait()

        assert (lookup.failed, lookup.result) == (failed, "")
        assert is_alive(after)
        assert not is_alive(before)


async def test_unsolicited_output_is_counted_anew_for_each_call() -> None:
    async with open_research(bad=build_server_config("bad")) as research:
        for _ in range(3):
            assert (await call_research_tool(research, "bad__questions", size=400)).failed == ""


async def test_a_server_that_ended_between_two_calls_is_started_again() -> None:
    async with open_research(bad=build_server_config("bad")) as research:
        before = int((await call_research_tool(research, "bad__pid")).result)
        connection = research.connections["bad"]
        os.kill(before, 9)
        await connection.closed.wait()

        assert research.find_problems(["bad"]) == (
            "The research server bad cannot be used: it ended (exit code -9).",
        )
        assert int((await call_research_tool(research, "bad__pid")).result) != before
        assert research.find_problems(["bad"]) == ()


async def test_calls_to_one_server_go_over_one_connection() -> None:
    found: list[str] = []

    async with open_research(sdk=build_server_config("bad")) as research:

        async def ask() -> None:
            found.append((await call_research_tool(research, "sdk__pid")).result)

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(ask)

    assert len(found) == 20
    assert len(set(found)) == 1


async def test_a_cancelled_call_leaves_the_connection_to_others() -> None:
    async with open_research(bad=build_server_config("bad")) as research:
        before = (await call_research_tool(research, "bad__pid")).result
        with anyio.move_on_after(0.05) as scope:
            await call_research_tool(research, "bad__hang")

        assert scope.cancelled_caught
        assert is_alive(int(before))
        assert not research.connections["bad"].has_ended


async def test_leaving_ends_stubborn_children_and_their_children_within_a_second() -> None:
    async with open_research(
        stubborn=build_server_config("stubborn"), other=build_server_config("bad")
    ) as research:
        pids = [
            int((await call_research_tool(research, name)).result)
            for name in ("stubborn__pid", "stubborn__child")
        ]
        pids.append(int((await call_research_tool(research, "other__pid")).result))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call_research_tool, research, "stubborn__hang")
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        began = anyio.current_time()

    assert anyio.current_time() - began < 1
    with anyio.fail_after(PATIENCE):  # a loaded machine removes a killed process with a delay
        while [pid for pid in pids if is_alive(pid)]:
            await wait_before_next_poll()


async def test_leaving_while_a_server_is_being_started_leaves_no_child() -> None:
    servers = {"silent": build_server_config("silent"), "late": build_server_config("bad")}
    async with anyio.create_task_group() as tasks, Research(servers) as research:
        tasks.start_soon(research.list_functions, ["silent"])
        await anyio.wait_all_tasks_blocked()

    assert research.connections["silent"].closed.is_set()
    assert (await call_research_tool(research, "late__pid")).failed.endswith("the server is closing.")
