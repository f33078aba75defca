"""Budgets that several server processes on one database share: what providers were asked, to the call."""

from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from mcp import Client

from tests.support.client_calls import call
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.processes.gated_servers import (
    CallGate,
    ServerProcess,
    open_call_gate,
    start_server_process,
)

pytestmark = [pytest.mark.anyio, pytest.mark.full, pytest.mark.requirement("N10", "N8")]

DAILY_CALLS = 10
USED_UP = "the day's budget: 10 of 10 calls made today"
ASKED: dict[str, Any] = {"format": "verdict", "run": True, "wait_seconds": 0}


async def open_servers(
    opened: AsyncExitStack, database: str, gate: CallGate, count: int
) -> list[tuple[ServerProcess, Client]]:
    return [
        await opened.enter_async_context(start_server_process(database, gate, "auto")) for _ in range(count)
    ]


async def start_debates(client: Client, name: str) -> list[str]:
    """Two debates, of 8 calls each if none fails."""
    return [
        (await call(client, "start_debate", question=f"{name} {number}?", **ASKED))["debate_id"]
        for number in range(2)
    ]


async def wait_for_pauses(client: Client, debate_ids: list[str]) -> list[str]:
    """The reasons of the debates that are paused once none of them is running any more."""
    with anyio.fail_after(PATIENCE):
        while True:
            found = [await call(client, "get_verdict", debate_id=one, wait_seconds=0) for one in debate_ids]
            if all(one["status"] != "running" for one in found):
                return [one["reason"] for one in found if one["status"] == "paused"]
            await wait_before_next_poll()


@pytest.mark.both_databases
async def test_processes_together_make_as_many_calls_as_a_day_allows(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERPOINT_DAILY_CALLS", str(DAILY_CALLS))
    async with open_call_gate() as gate, AsyncExitStack() as opened:
        servers = await open_servers(opened, database, gate, 3)
        started: dict[int, list[str]] = {}

        async def start(number: int, client: Client) -> None:
            started[number] = await start_debates(client, f"Server {number}, question")

        async with anyio.create_task_group() as tasks:
            for number, (_, client) in enumerate(servers):
                tasks.start_soon(start, number, client)
        await gate.wait_for_calls(2)
        gate.release.set()
        reasons = []
        for number, (_, client) in enumerate(servers):
            reasons += await wait_for_pauses(client, started[number])

    assert {reason.partition(".")[0] for reason in reasons} == {USED_UP}

    assert len(gate.calls) == DAILY_CALLS
    assert gate.repeated_call_count == 0


async def test_a_killed_process_takes_what_was_on_its_way_and_nothing_more(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERPOINT_DAILY_CALLS", str(DAILY_CALLS))
    async with open_call_gate() as gate, AsyncExitStack() as opened:
        (killed, its_client), *others = await open_servers(opened, database, gate, 3)
        await start_debates(its_client, "Of the killed one, question")
        await gate.wait_for_calls(2)
        killed.kill()
        on_their_way = len(gate.calls)
        gate.release.set()
        reasons = []
        for number, (_, client) in enumerate(others):
            reasons += await wait_for_pauses(
                client, await start_debates(client, f"Server {number}, question")
            )

    assert {reason.partition(".")[0] for reason in reasons} == {USED_UP}
    made_by_others = [made for made in gate.calls if made.pid != killed.process.pid]
    assert len(made_by_others) == DAILY_CALLS
    assert len(gate.calls) == DAILY_CALLS + on_their_way
