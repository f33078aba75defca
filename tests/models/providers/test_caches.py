"""What is sent to providers so that their caches of prompts serve what requests have in common."""

from dataclasses import replace
from typing import Any

import pytest

from server.models import Message, Prompt, PromptSummary, Request
from server.models.prices import compute_token_cost
from server.models.providers.connections import Connections
from server.models.providers.litellm import LitellmModel
from tests.contract.model import SCHEMA, reply_in_time
from tests.support.provider.stub import Stub
from tests.support.provider_models import build_direct

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N11")]

RECORD = "# Question\n> why?\n\n# Document 1\n> because\n\n# Positions\n> A. so\n\n"
TEXT = f"{RECORD}# Your task\nYou are A.\n\nSpeak."
DOCUMENTS = RECORD.index("# Positions")


def build_request(*, marks: tuple[int, ...] = (), task: str = TEXT, sends_schema: bool = True) -> Request:
    messages = (Message("system", "Be right."), Message("user", task))
    prompt = Prompt(
        messages, PromptSummary("argument", "why?", 1), SCHEMA, record=len(RECORD), documents=DOCUMENTS
    )
    request = Request(prompt, seat="A", max_tokens=100, timeout=20, seed=1, marks=marks)
    return replace(request, sends_schema=sends_schema)


async def ask_openai(
    stub: Stub, connections: Connections, request: Request, *names: str
) -> list[dict[str, Any]]:
    """The bodies that the stub gets."""
    for name in names or ("gpt-5.6-terra",):
        await reply_in_time(build_direct(f"openai/{name}", stub.url, connections), request)
    return [one.body for one in stub.chat_requests]


async def test_blocks_are_the_text_and_the_same_whatever_is_marked(
    stub: Stub, connections: Connections
) -> None:
    for marks in ((DOCUMENTS,), (DOCUMENTS, len(RECORD))):
        bodies = await ask_openai(stub, connections, build_request(marks=marks))

    one, two = (body["messages"][-1]["content"] for body in bodies)
    assert [each["text"] for each in one] == [each["text"] for each in two]
    assert "".join(each["text"] for each in one) == TEXT
    marked = [
        [n for n, each in enumerate(blocks) if "prompt_cache_breakpoint" in each] for blocks in (one, two)
    ]
    assert marked == [[1], [1, 2]]
    assert len(one) == 4  # what comes after the record is one block


async def test_requests_that_begin_alike_have_one_key(stub: Stub, connections: Connections) -> None:
    other_task, other_document = TEXT.replace("Speak", "Judge"), TEXT.replace("because", "in spite")
    for text in (TEXT, other_task, other_document):
        bodies = await ask_openai(stub, connections, build_request(marks=(DOCUMENTS,), task=text), "gpt-5")

    keys = [body["prompt_cache_key"] for body in bodies]
    assert keys[0] == keys[1] != keys[2]
    assert all("prompt_cache_options" not in body for body in bodies)  # from GPT-5.6 on
    assert all(isinstance(body["messages"][-1]["content"], str) for body in bodies)


async def test_what_nobody_reads_again_is_not_kept(stub: Stub, connections: Connections) -> None:
    (body,) = await ask_openai(stub, connections, build_request())

    assert body["prompt_cache_options"] == {"mode": "explicit"}  # else all of it is kept, for a quarter more
    assert body["messages"][-1]["content"] == TEXT
    assert "prompt_cache_key" not in body


async def test_a_schema_can_be_left_to_the_words_of_the_prompt(stub: Stub, connections: Connections) -> None:
    for sends_schema in (True, False):
        bodies = await ask_openai(stub, connections, build_request(sends_schema=sends_schema))

    assert ["response_format" in body for body in bodies] == [True, False]


async def test_an_endpoint_without_such_a_cache_is_asked_without_it_and_with_the_schema(
    stub: Stub, connections: Connections
) -> None:
    stub.queue.extend(["no_cache"] * 3)
    model = build_direct("openai/gpt-5.6-terra", stub.url, connections)

    replies = [await reply_in_time(model, build_request(marks=(DOCUMENTS,))) for _ in range(2)]

    assert [reply.usage.attempts for reply in replies] == [2, 1]
    bodies = [one.body for one in stub.chat_requests]
    assert ["prompt_cache_options" in body for body in bodies] == [True, False, False]
    assert all("response_format" in body for body in bodies)
    assert isinstance(bodies[-1]["messages"][-1]["content"], str)


async def test_anthropic_gets_blocks_only_where_one_is_marked(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0123456789")
    model = LitellmModel("anthropic/claude-sonnet-5-5")
    for marks in ((), (DOCUMENTS,)):
        await reply_in_time(model, build_request(marks=marks, sends_schema=False))

    plain, marked = (one.body["messages"][-1]["content"] for one in stub.chat_requests)
    texts = [plain] if isinstance(plain, str) else [each["text"] for each in plain]
    assert texts == [TEXT]
    assert [n for n, each in enumerate(marked) if "cache_control" in each] == [1]
    assert not {"tools", "output_format", "output_config"} & stub.chat_requests[-1].body.keys()


@pytest.mark.requirement("N10")
def test_what_a_provider_keeps_costs_what_its_table_says() -> None:
    plain = compute_token_cost("openai/gpt-5.6-terra", 10_000, 0)
    kept = compute_token_cost("openai/gpt-5.6-terra", 10_000, 0, kept_tokens=10_000)
    read = compute_token_cost("openai/gpt-5.6-terra", 10_000, 0, cached_tokens=10_000)

    assert [plain, kept, read] == ["0.02", "0.025", "0.002"]
    assert compute_token_cost("openai/gpt-5", 10_000, 0, kept_tokens=10_000) == "0.0125"
