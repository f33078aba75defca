"""Functions and schemas over the wire: what providers are offered, and what they make of it."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from server.models import Function, FunctionCall, ModelError, Request
from server.models.providers.response import MAX_ARGUMENTS_LENGTH, MAX_CALLS, MAX_NAME_LENGTH, Completion
from tests.contract.model import build_judgment_request, reply_in_time
from tests.contract.tasks import DELIVERABLE_SCHEMA, HANDOFF, build_deliverable_request, build_task_request
from tests.support.provider.stub import Stub
from tests.support.provider_models import Ask

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("B7")]

CHOICE = json.dumps({"response": "A \u201cgood\u201d reason, " * 40, "next_agent_name": "Ben"})


def handoff() -> Request:
    return build_task_request("argument", handoff=True, functions=(HANDOFF,))


@pytest.mark.requirement("B3")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_comes_back_whole_and_counts_as_an_answer(
    through: Ask, stub: Stub, stream: bool
) -> None:
    stub.tool_calls = (("handoff", CHOICE), ("web__search", '{"query": "x"}'))
    told: list[str] = []

    reply = await reply_in_time(through("calls"), handoff(), told.append if stream else None)

    assert reply.function_calls == (
        FunctionCall("handoff", CHOICE),
        FunctionCall("web__search", '{"query": "x"}'),
    )
    assert (reply.text, reply.cut, "".join(told)) == ("", False, "")
    assert reply.usage.input_tokens > 0


@pytest.mark.requirement("B3")
async def test_a_function_is_offered_as_it_is_and_nothing_is_forced(through: Ask, stub: Stub) -> None:
    await reply_in_time(through("stub"), handoff())

    body = stub.requests[0].body
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "handoff",
                "description": HANDOFF.description,
                "parameters": HANDOFF.parameters,
            },
        }
    ]
    assert "tool_choice" not in body


async def test_with_functions_no_schema_is_sent(through: Ask, stub: Stub) -> None:
    request = build_task_request(
        "opening", functions=(Function("web__search", "Searches.", {"type": "object"}),)
    )

    await reply_in_time(through("gpt-5.4-mini"), request)

    assert {"tools", "response_format"} & stub.requests[0].body.keys() == {"tools"}


async def test_a_model_that_refuses_functions_answers_in_prose(through: Ask, stub: Stub) -> None:
    reply = await reply_in_time(through("plain"), handoff())

    assert reply.text
    assert (reply.function_calls, reply.usage.attempts) == ((), 2)
    assert ["tools" in asked.body for asked in stub.requests] == [True, False]


@pytest.mark.parametrize(
    "request_", [build_judgment_request(), build_deliverable_request()], ids=["ours", "the caller's"]
)
async def test_a_refused_schema_is_left_to_the_words_of_the_prompt(
    through: Ask, stub: Stub, request_: Request
) -> None:
    stub.queue.extend(["plain", "plain"])

    reply = await reply_in_time(through("gpt-5.4-mini"), request_)

    assert reply.text
    assert ["response_format" in asked.body for asked in stub.requests] == [True, False]


async def test_a_schema_that_was_refused_once_is_not_offered_again(through: Ask, stub: Stub) -> None:
    model = through("plain")
    asked = [await reply_in_time(model, build_judgment_request()) for _ in range(3)]

    assert [reply.usage.attempts for reply in asked] == [2, 1, 1]
    assert ["response_format" in request.body for request in stub.requests] == [True, False, False, False]


async def test_a_refusal_for_another_reason_leaves_the_schema_offered(through: Ask, stub: Stub) -> None:
    model = through("plain")
    stub.queue.extend(["400", "400", "stub"])
    with pytest.raises(ModelError):
        await reply_in_time(model, build_judgment_request())
    await reply_in_time(model, build_judgment_request())

    assert ["response_format" in request.body for request in stub.requests] == [True, False, True]


async def test_a_request_that_is_refused_without_them_too_has_failed(through: Ask) -> None:
    with pytest.raises(ModelError) as failure:
        await reply_in_time(through("400"), handoff())

    assert (failure.value.cause, failure.value.attempts) == ("bad_request", 2)


async def test_a_context_that_is_too_long_is_not_tried_again_without_functions(through: Ask) -> None:
    with pytest.raises(ModelError) as failure:
        await reply_in_time(through("context"), handoff())

    assert failure.value.attempts == 1


async def test_a_schema_of_the_caller_is_sent_as_it_is_and_not_held_to_strictly(
    through: Ask, stub: Stub
) -> None:
    await reply_in_time(through("gpt-5.4-mini"), build_deliverable_request())
    await reply_in_time(through("gpt-5.4-mini"), build_deliverable_request({"type": "array"}))

    sent, without = (asked.body.get("response_format") for asked in stub.requests)
    assert sent["json_schema"] == {"name": "answer", "strict": False, "schema": DELIVERABLE_SCHEMA}
    assert without is None


def piece(index: int | None, identity: str | None, name: Any, arguments: Any) -> SimpleNamespace:
    return SimpleNamespace(index=index, id=identity, function=SimpleNamespace(name=name, arguments=arguments))


def test_calls_are_bounded_in_number_and_length() -> None:
    calls = Completion()
    for index in range(MAX_CALLS + 5):
        calls.add_calls([piece(index, f"call_{index}", "n" * 500, "x" * MAX_ARGUMENTS_LENGTH)])
        calls.add_calls([piece(index, None, None, "more")])

    read = calls.function_calls

    assert len(read) == MAX_CALLS
    assert {(len(call.name), len(call.arguments)) for call in read} == {
        (MAX_NAME_LENGTH, MAX_ARGUMENTS_LENGTH)
    }


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([piece(0, "a", "f", "{}"), piece(0, "b", "g", "{}")], [("f", "{}"), ("g", "{}")]),
        ([piece(0, "a", "f", "{"), piece(0, "a", "f", "}")], [("f", "{}")]),
        ([piece(None, None, "f", {"x": 1})], [("f", '{"x": 1}')]),
        ([piece(0, "a", "f\n\x1b[2J g", "{}\x00")], [("f g", "{}")]),
        ([piece(0, "a", None, "{}"), piece(1, "b", 7, None)], []),
    ],
)
def test_calls_are_read_however_they_are_numbered_and_written(
    pieces: list[SimpleNamespace], expected: list[tuple[str, str]]
) -> None:
    calls = Completion()
    for one in pieces:
        calls.add_calls([one])

    assert [(call.name, call.arguments) for call in calls.function_calls] == expected
