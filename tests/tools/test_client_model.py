"""Debates whose seats are the client's own model, in both eras of the protocol."""

import json
from contextlib import suppress
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, ImageContent, TextContent

from tests.support.client_calls import call, expect_tool_error
from tests.support.client_models import ClientModel, always, build_message, hang, once, refuse
from tests.support.mcp_debates import read_events, read_view
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N7", "M4")]

QUICK = {"client_timeout": 0.8}
THREE = [
    {"name": name, "stance": stance} for name, stance in (("Ada", "now"), ("Ben", "later"), ("Cleo", "never"))
]
BEN, CLEO = "Your position: later", "Your position: never"


async def start(client: Client, **arguments: Any) -> dict[str, Any]:
    """A debate of three seats that are the client's own model, run to its end as far as the call goes."""
    asked = {"question": "When do we ship?", "debaters": THREE, "run": True, "options": {"ballots": "none"}}
    return await call(client, "start_debate", **{**asked, **arguments})


async def finish(client: Client, step: dict[str, Any]) -> dict[str, Any]:
    """Go on with a debate as its results say, also where the client gives up calls."""
    with anyio.fail_after(PATIENCE):
        while step["status"] not in ("concluded", "truncated", "paused"):
            step = await insist(client, step["debate_id"])
    return step


async def insist(client: Client, debate_id: str, seconds: float = 1.5) -> dict[str, Any]:
    """The verdict as far as it is known, by a client that gives up a call after some time and makes it again."""
    while True:
        with anyio.move_on_after(seconds):
            try:
                return await call(client, "get_verdict", debate_id=debate_id, wait_seconds=5)
            except MCPError:
                continue


async def begin(client: Client, model: ClientModel, asked: int = 3, **arguments: Any) -> dict[str, Any]:
    """As `start`, for a client whose first call may fail, or never end: it is given up after so many prompts."""
    found: dict[str, Any] = {}

    async def open_debate() -> None:
        with suppress(MCPError):
            found.update(await start(client, **arguments))
        tasks.cancel_scope.cancel()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(open_debate)
            while len(model.prompts) < asked:
                await wait_before_next_poll()
            tasks.cancel_scope.cancel()
    (row,) = (await call(client, "find_debates"))["debates"]
    return found or await call(client, "get_verdict", debate_id=row["debate_id"], wait_seconds=0)


async def test_a_whole_debate_is_written_by_the_clients_model(open_client: Any) -> None:
    model = ClientModel()
    async with open_client(default="client", sampling_callback=model) as client:
        ran = await start(client, options={"ballots": "blind"})
        usage = await read_view(client, ran, "usage")
        judged = await read_events(client, ran, "judged")

    assert ran["status"] == "concluded", ran["reason"]
    assert [event["slot_index"] for event in judged] == [1, 2]
    assert [*usage["models"]] == ["client/gpt-5-mini"]
    assert usage["total"]["cost_usd"] == ""
    assert usage["total"]["calls_of_unknown_cost"] == len(model.prompts)
    assert ran["answer"]["cost"].endswith(", price unknown.")
    assert "tokens" not in ran["answer"]["cost"]
    assert "One model argued every side (client/gpt-5-mini): count it as one voice." in ran["cautions"]


async def test_seats_that_are_due_together_are_asked_together(open_client: Any) -> None:
    async def wait_for_others(_: str) -> None:
        with anyio.move_on_after(5):
            while len(model.prompts) < 3:
                await wait_before_next_poll()

    model = ClientModel(wait_for_others)
    async with open_client(default="client", sampling_callback=model) as client:
        ran = await start(client)

    assert ran["status"] == "concluded"
    assert model.most_at_once == 3


async def test_what_is_asked_has_the_rules_apart_and_a_limit_of_tokens(open_modern: Any) -> None:
    model = ClientModel()
    async with open_modern(default="client", sampling_callback=model) as client:
        limited = [{**one, "max_turn_tokens": 321} for one in THREE]
        opened = await start(client, debaters=limited, run=False)
        ran = await start(client, debaters=limited)

    talk = [one for one in model.requests if "Your position" in str(one.messages)]
    assert ran["status"] == "concluded"
    assert {one.max_tokens for one in talk} == {8_321}  # with room to think
    assert all(one.system_prompt and one.include_context in (None, "none") for one in model.requests)
    assert all(message.role == "user" for one in model.requests for message in one.messages)
    told = f"own model gets about {len(model.prompts)} requests; it may ask you to approve each."
    assert any(warning.endswith(told) for warning in opened["warnings"])


@pytest.mark.full
async def test_an_answer_after_its_time_is_not_recorded(open_client: Any) -> None:
    async def answer_when_given_up(_: str) -> str:
        (row,) = (await call(client, "find_debates"))["debates"]
        with anyio.fail_after(PATIENCE):
            while "Ben" not in {event["seat"] for event in await read_events(client, row, "failed")}:
                await wait_before_next_poll()
        return "Too late."

    model = ClientModel(once(answer_when_given_up, BEN))
    async with open_client(default="client", sampling_callback=model, settings=QUICK) as client:
        ran = await finish(client, await start(client, options={"ballots": "none", "quorum": 1}))
        assert ran["status"] == "paused"
        await call(client, "intervene", debate_id=ran["debate_id"], action="resume")
        ran = await finish(client, await insist(client, ran["debate_id"]))
        spoke = await read_events(client, ran, "spoke")

    assert ran["status"] == "concluded", ran["reason"]
    assert "Too late." not in {event["text"] for event in spoke}
    assert sorted((event["round"], event["seat"]) for event in spoke) == [
        (number, name) for number in (1, 2) for name in ("Ada", "Ben", "Cleo")
    ]


async def test_every_view_says_that_the_clients_model_is_being_asked(open_modern: Any) -> None:
    silent = ClientModel(hang)
    async with (
        open_modern(default="client", sampling_callback=silent) as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(start, client)
        with anyio.fail_after(PATIENCE):
            while len(silent.prompts) < 3:
                await wait_before_next_poll()
        (row,) = (await call(client, "find_debates"))["debates"]
        running = (await call(client, "find_debates", status="running"))["debates"]
        waiting = (await call(client, "find_debates", status="waiting"))["debates"]
        seen = await call(client, "read_debate", debate_id=row["debate_id"], view="state")
        tasks.cancel_scope.cancel()

    assert row["status"] == "running"
    assert (running, waiting) == ([row], [])
    assert (seen["status"], seen["working"], seen["data"]["status"]) == ("running", True, "running")


def test_the_terminal_has_no_client_to_ask(cli: Any) -> None:
    done = cli("debate", "Ship it?", "--model", "client")

    assert done.exit_code != 0
    assert 'models=["caller"]' in done.output


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (build_message(""), "empty"),
        (
            build_message("", content=ImageContent(type="image", data="aGk=", mime_type="image/png")),
            "unreadable",
        ),
    ],
)
async def test_an_answer_without_text_is_no_answer(open_modern: Any, answer: Any, cause: str) -> None:
    model = ClientModel(always(lambda _: answer, [BEN]))
    async with open_modern(default="client", sampling_callback=model) as client:
        ran = await start(client)
        failed = await read_events(client, ran, "failed")

    assert {(event["seat"], event["cause"]) for event in failed} == {("Ben", cause)}
    assert {event["model"] for event in failed} == {"client"}


async def test_an_answer_that_was_cut_is_marked(open_modern: Any) -> None:
    cut = build_message("1. It holds because", stop_reason="maxTokens")
    model = ClientModel(once(lambda _: cut, BEN))
    async with open_modern(default="client", sampling_callback=model) as client:
        ran = await start(client)
        spoke = await read_events(client, ran, "spoke")

    assert [event["seat"] for event in spoke if event["cut"]] == ["Ben"]
    assert "Cut at the length limit: 1 turn." in ran["cautions"]


@pytest.mark.parametrize("setup", [{"models": ["client"]}, {"options": {"judges": {"models": ["client"]}}}])
async def test_a_client_that_lends_no_model_is_told_what_to_use(open_modern: Any, setup: Any) -> None:
    async with open_modern() as client:
        problem = await expect_tool_error(client, "start_debate", question="Ship it?", **setup)
        rows = (await call(client, "find_debates"))["debates"]
        started = await call(client, "start_debate", question="Ship it?")
        who = {"debate_id": started["debate_id"], "action": "replace_model", "to": "Proponent"}
        again = await expect_tool_error(client, "intervene", **who, model="client")

    assert problem == again
    assert 'models=["caller"]' in problem
    assert "submit_turn" in problem
    assert rows == []


async def test_the_next_client_is_asked_where_one_left_in_the_middle(open_client: Any) -> None:
    silent, model = ClientModel(hang), ClientModel()
    async with open_client(default="client", sampling_callback=silent) as client:
        begun = await begin(client, silent)
        assert len(silent.prompts) == 3
    async with open_client(default="client", sampling_callback=model) as client:
        waiting = await call(client, "get_verdict", debate_id=begun["debate_id"], wait_seconds=0)
        ran = await finish(client, waiting)
        spoke = await read_events(client, ran, "spoke")
        failed = await read_events(client, ran, "failed")

    assert ran["status"] == "concluded"
    assert len(spoke) == 6
    assert failed == []


async def test_a_client_that_reports_several_names_is_one_voice_all_the_same(open_modern: Any) -> None:
    other = build_message("1. It holds, no source.", model="claude-opus")
    model = ClientModel(always(lambda _: other, [BEN]))
    async with open_modern(default="client", sampling_callback=model) as client:
        ran = await start(client)

    told = "One client's own model answered for Ada, Ben and Cleo, as client/claude-opus, client/gpt-5-mini"
    assert f"{told}: count it as one voice." in ran["cautions"]


async def test_a_client_without_a_model_reads_who_is_awaited(open_modern: Any) -> None:
    silent = ClientModel(hang)
    async with open_modern(default="client", sampling_callback=silent) as client:
        begun = await begin(client, silent)
    async with open_modern() as client:
        seen = await call(client, "step_round", debate_id=begun["debate_id"], wait_seconds=0)
        again = await call(client, "get_verdict", debate_id=begun["debate_id"], wait_seconds=0)

    told = "The client's own model is to answer for Ada, Ben, Cleo: it is asked while a call of"
    assert (seen["status"], seen["awaited"]) == ("waiting", [])
    assert seen["reason"].startswith(told)
    assert seen["next"].startswith(f"get_verdict(debate_id='{begun['debate_id']}')")
    assert again["next"].startswith("step_round(")


async def test_the_clients_model_may_name_the_positions(open_modern: Any) -> None:
    framing = json.dumps(
        {"kind": "open", "positions": ["Use Kafka", "Use SQLite"], "assumption": "A small team."}
    )
    model = ClientModel(lambda prompt: framing if '"kind"' in prompt else None)
    arguments = {"question": "Which queue?", "format": "advocates", "run": True, "wait_seconds": 5}
    async with open_modern(default="client", sampling_callback=model) as client:
        result = await client.call_tool("start_debate", arguments)

    assert isinstance(result, CallToolResult)
    assert isinstance(result.content[0], TextContent)
    found = result.structured_content or {}
    assert found["status"] == "concluded", result.content[0].text
    assert [position["stance"] for position in found["positions"]] == ["Use Kafka", "Use SQLite"]


async def refuse_all(client: Client, **options: Any) -> dict[str, Any]:
    """A debate whose client refuses each request for its model, by giving up the call or with an error."""
    with suppress(MCPError):
        await start(client, options={"ballots": "none", **options})
    (row,) = (await call(client, "find_debates"))["debates"]
    return await insist(client, (await finish(client, row))["debate_id"])


async def test_a_person_who_refuses_is_named_with_what_to_do(open_client: Any) -> None:
    async with open_client(default="client", sampling_callback=ClientModel(refuse)) as client:
        ran = await refuse_all(client)

    assert ran["status"] == "paused"
    assert "refused" in ran["reason"]
    assert (
        "Have them approve its requests, or give the seat another model with replace_model." in ran["reason"]
    )


async def test_an_advisor_that_is_the_clients_model_writes_prose_in_every_phase(open_modern: Any) -> None:
    model = ClientModel()
    asked = {
        "question": "Ship it?",
        "format": "second_opinion",
        "models": ["scripted", "client"],
        "run": True,
    }
    async with open_modern(sampling_callback=model) as client:
        ran = await finish(client, await call(client, "start_debate", **asked))
        written = await read_events(client, ran, "advised", "reviewed", "exchanged")

    assert (ran["status"], ran["answer"]["head"]) == ("concluded", "Divided")
    own = [event["kind"] for event in written if event["seat"] == "Advisor 2"]
    assert own == ["advised", "reviewed", "exchanged"]
    assert {event["recommendation"] for event in written if event["seat"] == "Advisor 2"} == {
        "1. Somebody says that it holds, no source."
    }
    assert len(model.prompts) == 3
