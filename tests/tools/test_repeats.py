"""A call that is made again, because nobody saw its result: it joins the debate of the first."""

from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import ElicitResult, Implementation

from server.models.fakes.scripted import ScriptedModel
from server.tools.texts import JOINED
from tests.support.client_calls import call, fill_in, result_text
from tests.support.mcp_debates import build_scripted_model, run_debate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.processes.gated_servers import open_call_gate, start_server_process

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N18")]

ASKED: dict[str, Any] = {"question": "Ship it?", "options": {"framing": False}}
WRITTEN_OTHERWISE: dict[str, Any] = {
    "question": "  Ship it? ",
    "format": "advocates",
    "debaters": None,
    "options": {"limits": {"turn_timeout": 300}, "framing": False, "tags": []},
    "wait_seconds": 3,
}


QUEUES = {"kind": "open", "positions": ["Use Kafka", "Use neither"], "assumption": ""}


async def count_debates(client: Client) -> int:
    return len((await call(client, "find_debates"))["debates"])


@pytest.mark.both_databases
async def test_an_identical_call_gets_the_same_debate_and_is_told(open_modern: Any) -> None:
    model = ScriptedModel()
    async with open_modern({"mine": model}, "mine") as client:
        first = await run_debate(client)
        again = await client.call_tool("start_debate", {**WRITTEN_OTHERWISE, "run": True})
        asked = len(model.requests)
        another = await run_debate(client, again=True)

    repeated = fill_in("start_debate", again.structured_content)
    assert (first["joined"], repeated["joined"], another["joined"]) == (False, True, False)
    assert repeated | {"joined": False} == first
    assert JOINED in result_text(again)
    assert another["debate_id"] != first["debate_id"]
    assert len(model.requests) == 2 * asked


async def test_a_debate_that_is_only_opened_says_first_that_the_same_call_with_run_holds_it(
    open_modern: Any,
) -> None:
    async with open_modern() as client:
        opened = await client.call_tool("start_debate", ASKED)
        held = await client.call_tool("start_debate", {**ASKED, "run": True})

    data = opened.structured_content
    assert data["reason"].startswith(
        "No model was asked: the same call with run=true (and without again) holds all of it"
    )
    assert result_text(opened).startswith(f"Debate {data['debate_id']}: ready. {data['reason']}\n")
    assert held.structured_content["debate_id"] == data["debate_id"]
    assert held.structured_content["status"] == "concluded"


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Ship it now?"},
        {"models": ["scripted"]},
        {"documents": [{"title": "Plan", "text": "Later."}]},
        {"options": {"framing": False, "seed": 7}},
        {"again": True},
    ],
)
async def test_a_call_that_asks_for_something_else_begins_another(
    open_modern: Any, change: dict[str, Any]
) -> None:
    async with open_modern() as client:
        await call(client, "start_debate", **ASKED)
        assert (await call(client, "start_debate", **{**ASKED, **change}))["joined"] is False
        assert await count_debates(client) == 2


async def test_another_caller_s_debate_is_never_joined(open_modern: Any) -> None:
    async with (
        open_modern() as mine,
        open_modern(client_info=Implementation(name="other", version="1")) as yours,
    ):
        first = await call(mine, "start_debate", **ASKED)
        other = await call(yours, "start_debate", **ASKED)
        both = [await call(client, "start_debate", **ASKED) for client in (mine, yours)]

    assert [step["debate_id"] for step in both] == [first["debate_id"], other["debate_id"]]
    assert first["debate_id"] != other["debate_id"]


async def test_calls_that_are_given_up_buy_one_debate(open_client: Any) -> None:
    model = ScriptedModel(delay=0.1)
    async with open_client({"mine": model}, "mine") as client:
        for asked in range(1, 4):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run_debate, client)
                while len(model.requests) < asked:
                    await wait_before_next_poll()
                tasks.cancel_scope.cancel()
        ended = await run_debate(client)
        count = await count_debates(client)

    assert (ended["joined"], ended["status"], count) == (True, "concluded", 1)
    seats = [(request.seat, request.seed) for request in model.requests]
    assert len(seats) == len({*seats})


async def test_a_repeat_does_not_run_past_the_person_who_is_asked(open_modern: Any) -> None:
    asked_for = {"question": "Which queue?", "format": "advocates", "options": {"framing": True}, "run": True}
    shown, answered = anyio.Event(), anyio.Event()
    ended: list[dict[str, Any]] = []

    async def confirm(_context: Any, _params: Any) -> ElicitResult:
        shown.set()
        await answered.wait()
        return ElicitResult(action="accept", content={"position_1": "Use Redis"})

    async with open_modern(
        {"mine": build_scripted_model(framing=QUEUES)}, "mine", elicitation_callback=confirm
    ) as client:

        async def start() -> None:
            ended.append(await call(client, "start_debate", **asked_for))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(start)
                await shown.wait()
                waiting = await call(client, "start_debate", **asked_for, wait_seconds=0)
                tasks.start_soon(start)
                await client.list_tools()
                answered.set()

    assert (waiting["joined"], waiting["round"]) == (True, 0)
    assert [step["status"] for step in ended] == ["concluded"] * 2
    for step in ended:
        assert [row["stance"] for row in step["positions"]] == ["Use Redis", "Use neither"]


async def test_a_repeat_has_the_positions_named_that_a_killed_server_left_open(open_modern: Any) -> None:
    asked = {"question": "Which queue?", "format": "advocates", "options": {"framing": True}}
    async with open_modern({"mine": ScriptedModel(delay=30)}, "mine") as client:
        first = await call(client, "start_debate", **asked, wait_seconds=0)
    async with open_modern({"mine": build_scripted_model(framing=QUEUES)}, "mine") as client:
        joined = await call(client, "start_debate", **asked)

    assert (joined["joined"], joined["debate_id"]) == (True, first["debate_id"])
    assert [position["stance"] for position in joined["positions"]] == ["Use Kafka", "Use neither"]


@pytest.mark.full
async def test_a_fork_is_begun_once(open_modern: Any) -> None:
    async with open_modern() as client:
        parent = (await run_debate(client))["debate_id"]
        asked = {"debate_id": parent, "at_round": 1, "changes": {"instructions": "Be brief."}}
        first = await call(client, "fork_debate", **asked)
        asked["changes"] = {**asked["changes"], "run": True}
        ran = await call(client, "fork_debate", **asked)
        others = [
            await call(client, "fork_debate", **{**asked, **change})
            for change in ({"at_round": 0}, {"changes": {"seed": 7}}, {"again": True})
        ]

    assert (first["joined"], ran["joined"], ran["status"]) == (False, True, "concluded")
    assert ran["debate_id"] == first["debate_id"]
    assert [step["joined"] for step in others] == [False] * 3
    assert len({parent, first["debate_id"], *(step["debate_id"] for step in others)}) == 5


class Clock:
    now = datetime(2026, 3, 1, 10, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


async def test_ten_minutes_later_a_repeat_is_a_debate_of_its_own(open_modern: Any) -> None:
    clock, steps = Clock(), []
    async with open_modern(clock=clock) as client:
        for milliseconds in (0, 600_000, 1, 600_000, 1):
            clock.advance(milliseconds=milliseconds)
            steps.append(await run_debate(client))

    assert [step["joined"] for step in steps] == [False, True, False, True, False]


@pytest.mark.full
@pytest.mark.requirement("N8")
@pytest.mark.both_databases
async def test_two_servers_begin_one_debate_between_them_and_a_killed_one_keeps_it(database: str) -> None:
    asked = {**ASKED, "run": True, "wait_seconds": 0}
    ids: set[str] = set()
    async with open_call_gate() as gate:
        async with (
            start_server_process(database, gate, "auto") as (server, one),
            start_server_process(database, gate, "legacy") as (other, two),
        ):

            async def start(client: Client) -> None:
                ids.add((await call(client, "start_debate", **asked))["debate_id"])

            async with anyio.create_task_group() as tasks:
                for number in range(20):
                    tasks.start_soon(start, (one, two)[number % 2])
            await gate.wait_for_calls(4)  # both debaters write and vote at once
            server.kill()
            other.kill()
        gate.release.set()
        async with start_server_process(database, gate, "auto") as (_, client):
            ended = await call(client, "start_debate", **{**asked, "wait_seconds": 5})
            count = await count_debates(client)

    assert (count, ended["joined"], ended["status"]) == (1, True, "concluded")
    assert ids == {ended["debate_id"]}
    assert gate.repeated_call_count == 4  # those in flight at the kill
