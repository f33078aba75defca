"""A request only watches: over stdio, in both eras, whatever becomes of it, its client or its server."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from server.compose import open_manager
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from tests.support.client_calls import call
from tests.support.mcp_debates import read_events, read_view
from tests.support.patience import PATIENCE
from tests.support.processes.gated_servers import CallGate, open_call_gate, start_server_process

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8", "D4", "D7", "M3")]

ONCE = {"judges": {"both_orders": False}}
ASKED = {"question": "Ship it?", "format": "verdict", "options": ONCE, "wait_seconds": 0, "again": True}


@pytest.fixture
async def at() -> AsyncIterator[CallGate]:
    async with open_call_gate() as made:
        yield made


async def spoken(client: Client, step: dict[str, Any]) -> list[tuple[int, str]]:
    return [(turn["round"], turn["seat"]) for turn in await read_events(client, step, "spoke")]


async def notes(client: Client, step: dict[str, Any]) -> list[str]:
    return [row["text"] for row in (await read_view(client, step, "interventions"))["log"]]


async def in_mid_call(client: Client, at: CallGate, step: dict[str, Any]) -> None:
    """Have a question of the next round on its way, and steer the debate meanwhile."""
    at.hold()
    count = len(at.calls)
    await call(client, "step_round", debate_id=step["debate_id"], wait_seconds=0)
    await at.wait_for_calls(count + 1)
    await call(client, "intervene", debate_id=step["debate_id"], action="inject", text=f"note {count}")


async def given_up(client: Client, at: CallGate) -> None:
    """Three calls that are cut off in the middle, and what they had begun."""
    step = await call(client, "start_debate", **ASKED)
    this = {"debate_id": step["debate_id"]}

    async with anyio.create_task_group() as tasks:  # cancelled, with an intervention in mid-call
        tasks.start_soon(client.call_tool, "step_round", this)
        await at.wait_for_calls(1)
        await call(client, "intervene", action="inject", text="cancelled", **this)
        tasks.cancel_scope.cancel()
    with pytest.raises(MCPError, match="timed out"):
        await client.call_tool("step_round", this, read_timeout_seconds=0.05)
    at.release.set()
    async with anyio.create_task_group() as tasks:  # and called twice at once
        for _ in range(2):
            tasks.start_soon(client.call_tool, "step_round", {"round": 1, **this})
    assert await spoken(client, step) == [(1, "Proponent"), (1, "Opponent")]

    at.hold()
    await call(client, "intervene", action="conclude", **this)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "get_verdict", this)
        await at.wait_for_calls(3)
        tasks.cancel_scope.cancel()
    at.release.set()
    verdict = await call(client, "get_verdict", **this)
    assert (verdict["status"], verdict["reason"]) == ("concluded", "request: concluded on request")
    assert await notes(client, step) == ["cancelled", ""]
    assert [asked.seat for asked in at.calls] == ["Proponent", "Opponent", "judge 1"]


async def test_requests_that_are_cut_off_and_clients_that_go_cost_no_more_than_the_call_in_flight(
    database: str, at: CallGate, era: str
) -> None:
    async with start_server_process(database, at, era) as (server, client):
        await given_up(client, at)
        step = await call(client, "start_debate", **ASKED)
        await in_mid_call(client, at, step)
        assert await server.close_and_wait() == 0

    async with start_server_process(database, at, era) as (server, client):
        assert (await spoken(client, step), await notes(client, step)) == ([], ["note 3"])
        at.release.set()
        await call(client, "step_round", debate_id=step["debate_id"], round=1)
        await in_mid_call(client, at, step)
        await server.abandon_and_wait()
    assert (len(at.calls), at.repeated_call_count) == (3 + 1 + 2 + 1, 1)

    model = ScriptedModel()
    async with open_manager(Settings(db=database), {"gated": model}, environ={}) as manager:
        snapshot = await manager.step(step["debate_id"], wait=PATIENCE)
    both = ("Proponent", "Opponent")
    assert [(turn.round, turn.seat) for turn in snapshot.debate.turns] == [
        (n, seat) for n in (1, 2) for seat in both
    ]
    assert [note.text for note in snapshot.debate.notes] == ["note 3", "note 6"]
    assert (model.requests[0].seat, model.requests[0].seed) == (at.calls[-1].seat, at.calls[-1].seed)
    assert len(model.requests) == 2


@pytest.mark.both_databases
async def test_two_servers_take_over_what_a_killed_one_ran(database: str, at: CallGate) -> None:
    async with start_server_process(database, at, "auto") as (server, client):
        own = await call(client, "start_debate", run=True, **ASKED)
        stepped = await call(client, "start_debate", **ASKED)
        await in_mid_call(client, at, stepped)
        await at.wait_for_calls(2)
        server.kill()
        with anyio.fail_after(PATIENCE):
            await server.process.wait()

    async with (
        start_server_process(database, at, "auto") as (_, one),
        start_server_process(database, at, "auto") as (_, two),
    ):
        await at.wait_for_calls(3)
        at.release.set()
        verdicts = [
            await call(client, "get_verdict", debate_id=own["debate_id"], wait_seconds=5)
            for client in (one, two)
        ]
        assert [verdict["status"] for verdict in verdicts] == ["concluded", "concluded"]
        assert await spoken(two, stepped) == []
        # In flight at the kill: one question of each. That of the stepped debate waits for its step.
        assert (len(at.calls), at.repeated_call_count) == (2 + 5, 1)

        async with anyio.create_task_group() as tasks:
            for client in (one, two):
                tasks.start_soon(call_step, client, stepped)
        assert await spoken(one, stepped) == [(1, "Proponent"), (1, "Opponent")]
        assert (len(at.calls), at.repeated_call_count) == (2 + 5 + 2, 2)
        for step in (own, stepped):
            assert (await read_view(one, step, "receipt"))["head"] == (await read_view(two, step, "receipt"))[
                "head"
            ]


async def call_step(client: Client, step: dict[str, Any]) -> None:
    await call(client, "step_round", debate_id=step["debate_id"], round=1, wait_seconds=5)
