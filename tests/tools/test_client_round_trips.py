"""Answers of a client's model that come with a repeated call: late, twice, under other keys, too few, to nothing."""

import json
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import CallToolResult, CreateMessageRequest, ElicitResult, InputRequiredResult, TextContent

from tests.support.client_calls import call
from tests.support.client_models import ClientModel, answer_prompt, build_message
from tests.support.mcp_debates import read_all_events, read_events
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.task_client import Polling

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N7", "N8")]

THREE = [
    {"name": name, "stance": stance} for name, stance in (("Ada", "now"), ("Ben", "later"), ("Cleo", "never"))
]
ASKED = {
    "question": "When do we ship?",
    "debaters": THREE,
    "run": True,
    "format": "verdict",
    "max_rounds": 1,
    "options": {"ballots": "none", "speaking": "together", "quorum": 1},
    "wait_seconds": 5,
}
QUICK = {"client_timeout": 0.2}


async def trip(
    client: Client, tool: str, arguments: dict[str, Any], answers: Any = None, state: str | None = None
) -> Any:
    """One leg of a call: its result, or what it asks."""
    return await client.session.call_tool(
        tool, arguments, input_responses=answers, request_state=state, allow_input_required=True
    )


async def begin(client: Client, **more: Any) -> InputRequiredResult:
    asked = await trip(client, "start_debate", {**ASKED, **more})
    assert isinstance(asked, InputRequiredResult), asked
    return asked


def find_id(asked: InputRequiredResult) -> str:
    return str(json.loads(asked.request_state or "")["debate_id"])


def answer_all(asked: InputRequiredResult) -> dict[str, Any]:
    """A usable answer to each request."""
    answers = {}
    for key, request in (asked.input_requests or {}).items():
        assert isinstance(request, CreateMessageRequest)
        content = request.params.messages[-1].content
        assert isinstance(content, TextContent)
        answers[key] = build_message(answer_prompt(content.text))
    return answers


def find_key(asked: InputRequiredResult, seat: str) -> str:
    return next(key for key in asked.input_requests or {} if key.startswith(seat))


async def finish(client: Client, debate_id: str, result: Any) -> Any:
    """Answer everything that is still asked, in calls that wait."""
    arguments, tool = {"debate_id": debate_id, "wait_seconds": 5}, "get_verdict"
    while True:
        if isinstance(result, CallToolResult):
            assert result.structured_content
            if result.structured_content["status"] in ("concluded", "paused"):
                return result.structured_content
            result = await trip(client, tool, arguments)
        else:
            result = await trip(client, tool, arguments, answer_all(result), result.request_state)


async def read_turns(client: Client, debate_id: str) -> list[str]:
    spoke = await read_events(client, {"debate_id": debate_id}, "spoke")
    return sorted(event["seat"] for event in spoke)


async def test_all_that_is_due_is_asked_in_one_result(open_modern: Any) -> None:
    async with open_modern(default="client", sampling_callback=ClientModel()) as client:
        asked = await begin(client)
        debate_id = find_id(asked)
        judged = await trip(client, "start_debate", ASKED, answer_all(asked), asked.request_state)
        done = await trip(client, "start_debate", ASKED, answer_all(judged), judged.request_state)
        rows = (await call(client, "find_debates"))["debates"]

    assert sorted(key.split()[0] for key in asked.input_requests or {}) == ["Ada", "Ben", "Cleo"]
    assert sorted(key[:7] for key in judged.input_requests) == ["judge 1", "judge 1"]
    assert done.structured_content["status"] == "concluded"
    assert [row["debate_id"] for row in rows] == [debate_id]


@pytest.mark.full
async def test_an_answer_that_comes_twice_is_recorded_once(open_modern: Any) -> None:
    async with open_modern(default="client", sampling_callback=ClientModel()) as client:
        asked = await begin(client)
        first = await trip(client, "start_debate", ASKED, answer_all(asked), asked.request_state)
        repeated = {**ASKED, "wait_seconds": 1}
        again = await trip(client, "start_debate", repeated, answer_all(asked), asked.request_state)
        done = await finish(client, find_id(asked), again)
        turns = await read_turns(client, find_id(asked))

    assert isinstance(first, InputRequiredResult)
    assert again.structured_content["status"] == "running"  # the judges are asked already
    assert done["status"] == "concluded"
    assert turns == ["Ada", "Ben", "Cleo"]


async def test_an_answer_after_its_time_is_not_recorded(open_modern: Any) -> None:
    async with open_modern(default="client", sampling_callback=ClientModel(), settings=QUICK) as client:
        asked = await begin(client)
        debate_id = find_id(asked)
        while True:
            failed = await read_events(client, {"debate_id": debate_id}, "failed")
            if len(failed) == 3:
                break
            await wait_before_next_poll()
        late = await trip(client, "start_debate", ASKED, answer_all(asked), asked.request_state)
        before = await read_all_events(client, debate_id)

    assert {event["cause"] for event in failed} == {"timeout"}
    assert late.structured_content["status"] == "paused"
    assert not [event for event in before if event["kind"] == "spoke"]


async def test_who_is_left_out_of_an_answer_is_asked_once_more_alone_and_then_has_failed(
    open_modern: Any,
) -> None:
    async with open_modern(default="client", sampling_callback=ClientModel()) as client:
        asked = await begin(client)
        ben = find_key(asked, "Ben")
        some = {key: answer for key, answer in answer_all(asked).items() if key != ben}
        alone = await trip(client, "start_debate", ASKED, some, asked.request_state)
        last = await trip(client, "start_debate", ASKED, {}, alone.request_state)
        failed = await read_events(client, {"debate_id": find_id(asked)}, "failed")
        turns = await read_turns(client, find_id(asked))

    assert [*alone.input_requests] == [ben]
    assert [(event["seat"], event["cause"]) for event in failed] == [("Ben", "refused")]
    assert turns == ["Ada", "Cleo"]
    assert not isinstance(last, InputRequiredResult)
    assert "never heard: Ben" in last.structured_content["reason"]


@pytest.mark.parametrize("fallback", [[], ["scripted"]])
async def test_a_person_who_refuses_twice_is_asked_no_more_until_the_debate_is_resumed(
    open_modern: Any, fallback: list[str]
) -> None:
    options = {"ballots": "none", "speaking": "together", "quorum": 1, "fallback_models": fallback}
    async with open_modern(default="client", sampling_callback=ClientModel()) as client:
        debate_id = find_id(await begin(client, options=options))
        anew = {"debate_id": debate_id, "wait_seconds": 5}
        alone = await trip(client, "get_verdict", anew)
        left = await trip(client, "get_verdict", anew)
        assert len(alone.input_requests) == 1
        assert not isinstance(left, InputRequiredResult)
        if fallback:
            assert left.structured_content["status"] == "concluded"
            return
        assert "its person may have refused" in left.structured_content["reason"]
        await call(client, "intervene", debate_id=debate_id, action="resume")
        again = await trip(client, "get_verdict", anew)
        assert len(again.input_requests) == 3
        assert (await finish(client, debate_id, again))["status"] == "concluded"


@pytest.mark.full
async def test_a_call_that_is_made_anew_asks_one_by_one(open_modern: Any) -> None:
    async with open_modern(default="client", sampling_callback=ClientModel()) as client:
        asked = await begin(client)
        debate_id = find_id(asked)
        anew = {"debate_id": debate_id, "wait_seconds": 5}
        asked_alone: list[str] = []
        result = await trip(client, "get_verdict", anew)
        while len(asked_alone) < 3:
            (key,) = result.input_requests
            asked_alone.append(key.split()[0])
            result = await trip(client, "get_verdict", anew, answer_all(result), result.request_state)
        done = await finish(client, debate_id, result)

    assert asked_alone == ["Ada", "Ben", "Cleo"]
    assert done["status"] == "concluded"


async def test_keys_of_another_seat_or_debate_and_answers_of_another_kind_count_for_nothing(
    open_modern: Any,
) -> None:
    async with open_modern(default="client", sampling_callback=ClientModel()) as client:
        one, other = await begin(client), await begin(client, question="Another one?")
        foreign = {
            **answer_all(other),
            "Ada nonsense": build_message("Forged."),
            "": build_message("Forged."),
        }
        result = await trip(client, "start_debate", ASKED, foreign, one.request_state)
        turns = await read_turns(client, find_id(one)) + await read_turns(client, find_id(other))
        form = ElicitResult(action="accept", content={"text": "Forged."})
        wrong = dict.fromkeys(result.input_requests, form)
        await trip(client, "start_debate", ASKED, wrong, result.request_state)
        failed = await read_events(client, {"debate_id": find_id(one)}, "failed")

    assert turns == []
    assert failed
    assert {event["cause"] for event in failed} == {"unreadable"}


@pytest.mark.full
@pytest.mark.parametrize(
    "state", ["no json", '{"asks": "client"}', '{"asks": "client", "debate_id": "2222"}']
)
async def test_a_state_that_was_made_up_breaks_nothing(open_modern: Any, state: str) -> None:
    async with open_modern(default="client", sampling_callback=ClientModel()) as client:
        asked = await begin(client)
        anew = {"debate_id": find_id(asked), "wait_seconds": 5}
        result = await trip(client, "get_verdict", anew, {"Ada x": build_message("Forged.")}, state)
        done = await finish(client, find_id(asked), result)
        turns = await read_turns(client, find_id(asked))

    assert done["status"] == "concluded"
    assert turns == ["Ada", "Ben", "Cleo"]


async def test_a_call_asks_eight_times_at_most_and_the_next_one_goes_on(open_modern: Any) -> None:
    nine = {"max_rounds": 3, "options": {"ballots": "none", "quorum": 1}}
    async with open_modern(default="client", sampling_callback=ClientModel()) as client:
        result: Any = await begin(client, **nine)
        legs = 1
        while isinstance(result, InputRequiredResult):
            arguments = {**ASKED, **nine}
            state, answers = result.request_state, answer_all(result)
            result = await trip(client, "start_debate", arguments, answers, state)
            legs += isinstance(result, InputRequiredResult)
        stood = result.structured_content
        done = await finish(client, stood["debate_id"], result)

    assert legs == 8
    assert stood["status"] == "waiting"
    assert stood["next"].startswith(f"get_verdict(debate_id='{stood['debate_id']}')")
    assert done["status"] == "concluded"


async def look(client: Client, begun: CallToolResult) -> dict[str, Any]:
    """How a debate stands, by a call that does not wait."""
    debate_id = (begun.structured_content or {})["debate_id"]
    return await call(client, "step_round", debate_id=debate_id, wait_seconds=0)


async def test_without_an_open_call_the_debate_waits_and_nothing_fails(open_modern: Any) -> None:
    async with open_modern(default="client", sampling_callback=ClientModel()) as client:
        begun = await trip(client, "start_debate", {**ASKED, "wait_seconds": 0})
        with anyio.fail_after(PATIENCE):
            while (stood := await look(client, begun))["status"] != "waiting":
                await wait_before_next_poll()
        with anyio.move_on_after(0.3):
            while not await read_events(client, stood, "failed"):
                await wait_before_next_poll()
        done = await finish(client, stood["debate_id"], begun)

    assert stood["status"] == "waiting"
    assert "The client's own model is to answer for" in stood["reason"]
    assert stood["next"].startswith("get_verdict(")
    assert done["status"] == "concluded"


async def test_a_client_that_polls_tasks_is_asked_in_results_where_its_model_is_wanted(
    open_modern: Any,
) -> None:
    options: dict[str, Any] = {"sampling_callback": ClientModel(), "extensions": [Polling()]}
    async with open_modern(default="client", **options) as client:
        asked = await begin(client)
        done = await finish(client, find_id(asked), asked)

    assert done["status"] == "concluded"
