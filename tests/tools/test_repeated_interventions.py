"""An intervention that is sent again with its request_id is made once, and told as it was the first time."""

from typing import Any

import anyio
import pytest
from mcp import Client

from tests.support.client_calls import call, expect_tool_error, result_text
from tests.support.mcp_debates import opened, read_view

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N18", "D4")]

INTERVENTIONS: list[dict[str, Any]] = [
    {"action": "pause"},
    {"action": "inject", "text": "Mind the costs.", "reason": "they forget"},
    {"action": "extend", "rounds": 2, "limits": {"max_calls": 90, "max_seconds": 900}},
    {"action": "retract", "to": "Proponent", "round": 1},
    {"action": "conclude"},
]


async def steer(client: Client, debate_id: str, **given: Any) -> str:
    """What the intervention does, in the words of the result."""
    result = await client.call_tool("intervene", {"debate_id": debate_id, **given})
    assert not result.is_error, result_text(result)
    return result_text(result).split("\n\n")[0]


async def count_entries(client: Client, debate_id: str) -> int:
    return int((await read_view(client, {"debate_id": debate_id}, "receipt"))["entries"])


@pytest.mark.parametrize("given", INTERVENTIONS, ids=[row["action"] for row in INTERVENTIONS])
async def test_a_repeat_does_nothing_and_says_the_same_also_after_the_end_and_a_restart(
    open_modern: Any, given: dict[str, Any]
) -> None:
    asked = {**given, "request_id": "r1"}
    async with opened(open_modern) as (client, debate_id):
        await call(client, "step_round", debate_id=debate_id)
        before = await count_entries(client, debate_id)
        effects = [await steer(client, debate_id, **asked) for _ in range(2)]
        after = await count_entries(client, debate_id) - before
        if given["action"] == "pause":
            await steer(client, debate_id, action="resume")
            effects.append(await steer(client, debate_id, **asked))
        else:
            await client.call_tool("intervene", {"debate_id": debate_id, "action": "conclude"})
            await call(client, "get_verdict", debate_id=debate_id)
    async with open_modern() as client:
        effects.append(await steer(client, debate_id, **asked))
        told = await expect_tool_error(
            client, "intervene", debate_id=debate_id, action="inject", text="Else.", request_id="r1"
        )

    assert len({*effects}) == 1, effects
    assert after == 1 + (given["action"] == "extend") or given["action"] == "conclude"
    assert f"request_id='r1' belongs to another intervention, entry {before + 1}" in told


async def test_two_servers_that_are_sent_one_request_make_it_once(open_modern: Any) -> None:
    effects: set[str] = set()
    async with opened(open_modern) as (one, debate_id), open_modern() as two:

        async def extend(client: Client) -> None:
            effects.add(await steer(client, debate_id, action="extend", rounds=1, request_id="again"))

        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(extend, (one, two)[number % 2])
        state = await read_view(two, {"debate_id": debate_id}, "state")

    assert effects == {"1 round more, 3 in all, from the next round on."}
    assert state["max_rounds"] == 3


async def test_another_seat_under_the_same_id_is_refused(open_modern: Any) -> None:
    asked = {"action": "inject", "text": "One.", "request_id": "r1"}
    async with opened(open_modern) as (client, debate_id):
        await steer(client, debate_id, **asked)
        told = await expect_tool_error(client, "intervene", debate_id=debate_id, **asked, to="Opponent")
        without = [await steer(client, debate_id, action="inject", text="One.") for _ in range(2)]
        state = await read_view(client, {"debate_id": debate_id}, "state")

    assert "Pass a new one, or repeat that call as it was." in told
    assert len(without) == 2
    assert state["notes"] == 3


async def test_a_request_to_a_debate_is_none_to_its_fork(open_modern: Any) -> None:
    asked = {"action": "inject", "text": "One.", "request_id": "r1"}
    async with opened(open_modern) as (client, debate_id):
        await steer(client, debate_id, **asked)
        await call(client, "step_round", debate_id=debate_id)
        fork = (await call(client, "fork_debate", debate_id=debate_id, at_round=1))["debate_id"]
        await steer(client, fork, **asked)
        state = await read_view(client, {"debate_id": fork}, "state")

    assert state["notes"] == 2
