"""The client's own model over stdio, in both eras: killed servers, cancelled calls, two clients, and subscribers."""

import json
from contextlib import suppress
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from tests.support.client_calls import call
from tests.support.client_models import ClientModel, always, hang
from tests.support.mcp_debates import read_events
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.processes.gated_servers import CallGate, start_server_process

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N7", "N8", "D7")]

THREE = [
    {"name": name, "stance": stance} for name, stance in (("Ada", "now"), ("Ben", "later"), ("Cleo", "never"))
]
BEN, CLEO = "Your position: later", "Your position: never"
ASKED = {
    "question": "When do we ship?",
    "debaters": THREE,
    "models": ["client"],
    "run": True,
    "options": {"ballots": "none", "quorum": 1},
    "wait_seconds": 20,
}
PATIENT, QUICK = {"COUNTERPOINT_CLIENT_TIMEOUT": "30"}, {"COUNTERPOINT_CLIENT_TIMEOUT": "2"}


def serve(database: str, era: str, model: ClientModel, environ: Any = PATIENT, **options: Any) -> Any:
    """A server, and a client of it that lends a model."""
    options |= {"environ": environ, "sampling_callback": model}
    return start_server_process(database, CallGate(0), era, **options)


async def find_debate(client: Client) -> dict[str, Any]:
    with anyio.fail_after(PATIENCE):
        while not (rows := (await call(client, "find_debates"))["debates"]):
            await wait_before_next_poll()
    found: dict[str, Any] = rows[0]
    return found


async def begin(client: Client, model: ClientModel, asked: int = 3) -> dict[str, Any]:
    """A debate whose first call is given up as soon as so much was asked."""

    async def open_debate() -> None:
        with suppress(MCPError):
            await client.call_tool("start_debate", ASKED)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(open_debate)
        with anyio.fail_after(PATIENCE):
            while len(model.prompts) < asked:
                await wait_before_next_poll()
        tasks.cancel_scope.cancel()
    return await find_debate(client)


async def finish(client: Client, debate_id: str, seconds: float = 4) -> dict[str, Any]:
    """Go on until nothing is to be done, with calls that the client gives up after so many seconds."""
    with anyio.fail_after(PATIENCE):
        while True:
            with anyio.move_on_after(seconds):
                try:
                    step = await call(client, "get_verdict", debate_id=debate_id, wait_seconds=10)
                except MCPError:
                    continue
                if step["status"] not in ("running", "waiting"):
                    return step


async def read_turns(client: Client, debate_id: str) -> list[tuple[int, str]]:
    spoke = await read_events(client, {"debate_id": debate_id}, "spoke")
    return sorted((event["round"], event["seat"]) for event in spoke)


WHOLE = [(number, name) for number in (1, 2) for name in ("Ada", "Ben", "Cleo")]


async def test_who_comes_after_a_kill_is_asked_anew_and_nothing_is_recorded_twice(
    database: str, era: str
) -> None:
    silent = ClientModel(always(hang, [CLEO]))
    async with serve(database, era, silent) as (server, client):
        begun = await begin(client, silent)
        if era == "legacy":  # in the 2026 era answers come with the next call, all at once
            with anyio.fail_after(PATIENCE):
                while len(await read_turns(client, begun["debate_id"])) < 2:
                    await wait_before_next_poll()
        server.kill()
        await server.process.wait()

    model = ClientModel()
    async with serve(database, era, model) as (_, client):
        stood = await call(client, "step_round", debate_id=begun["debate_id"], wait_seconds=0)
        ran = await finish(client, begun["debate_id"])
        turns = await read_turns(client, begun["debate_id"])
        failed = await read_events(client, begun, "failed")

    assert stood["status"] in ("waiting", "running")
    assert ran["status"] == "concluded"
    assert turns == WHOLE
    assert failed == []
    assert model.count("Begin with a paragraph") == (1 if era == "legacy" else 3)


async def test_two_clients_on_one_database_lend_each_their_own(database: str) -> None:
    one, other = ClientModel(hang), ClientModel()
    async with (
        serve(database, "legacy", one, QUICK) as (_, first),
        serve(database, "legacy", other) as (_, second),
    ):
        begun = await begin(first, one)
        with anyio.fail_after(PATIENCE):
            while not await read_events(second, begun, "paused"):
                await wait_before_next_poll()
        await call(second, "intervene", debate_id=begun["debate_id"], action="resume")
        ran = await finish(second, begun["debate_id"], 10)
        turns = await read_turns(second, begun["debate_id"])

    assert ran["status"] == "concluded"
    assert len(one.prompts) == 3
    assert turns == WHOLE


async def send(server: Any, message: dict[str, Any]) -> None:
    await server.process.stdin.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


async def test_answers_to_requests_that_nobody_made_change_nothing(database: str) -> None:
    model = ClientModel()
    forged = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Forged."}}
    async with serve(database, "legacy", model) as (server, client):
        for number in (0, 1, 2, 3, 999, "1", "request"):
            await send(server, {"id": number, "result": forged})
            await send(server, {"id": number, "error": {"code": -1, "message": "no"}})
        ran = await call(client, "start_debate", **ASKED)
        for number in range(1, 20):
            await send(server, {"id": number, "result": forged})
        turns = await read_turns(client, ran["debate_id"])
        text = json.dumps(await read_events(client, ran, "spoke", "judged"))

    assert ran["status"] == "concluded"
    assert turns == WHOLE
    assert "Forged" not in text
