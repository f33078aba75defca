"""What is asked without litellm: which names, where, and with which protocol."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest

from server.models import FunctionCall, ModelError, Reply, Request
from server.models.prices import compute_token_cost, load_table
from server.models.providers.connections import MAX_RESPONSE_BYTES, Connections
from server.models.providers.direct import Fields, OpenAIModel, add_thoughts
from server.models.providers.endpoints import ADDRESSES, Endpoint, choose_endpoint
from server.models.providers.litellm import import_litellm
from tests.contract.model import build_argument_request, build_judgment_request, reply_in_time
from tests.contract.tasks import HANDOFF
from tests.support.fixed_answers import serve_and_close as serve
from tests.support.ollama import Ollama
from tests.support.provider.stub import StubRequest, encode_response
from tests.support.provider_models import build_direct

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N22")]


async def ask(
    connections: Connections,
    base: str,
    request: Request | None = None,
    *,
    name: str = "mine/m",
    stream: bool = False,
) -> Reply:
    model = build_direct(name, base, connections)
    request = request or build_argument_request()
    return await reply_in_time(model, replace(request, max_attempts=1), (lambda _: None) if stream else None)


@pytest.mark.parametrize(
    ("name", "endpoint"),
    [
        ("openai/gpt-5.4-mini", Endpoint("openai", "gpt-5.4-mini", "https://api.openai.com/v1")),
        ("gpt-5.4-mini", Endpoint("openai", "gpt-5.4-mini", "https://api.openai.com/v1")),
        ("groq/qwen/qwen3", Endpoint("groq", "qwen/qwen3", "https://api.groq.com/openai/v1")),
        ("openrouter/a/b:free", Endpoint("openrouter", "a/b:free", "https://openrouter.ai/api/v1")),
        ("lmstudio/m", Endpoint("lmstudio", "m", "http://127.0.0.1:1234/v1")),
        ("ollama/codellama", Endpoint("ollama", "codellama", "http://127.0.0.1:11434", is_ollama=True)),
        ("ollama_chat/m:8b", Endpoint("ollama", "m:8b", "http://127.0.0.1:11434", is_ollama=True)),
        ("mine/m", Endpoint("mine", "m", "http://127.0.0.1:9/v1")),
        ("anthropic/claude-sonnet-5-5", None),
        ("claude-sonnet-5-5", None),
        ("azure/gpt-5.4-mini", None),  # known to litellm, and another protocol
        ("openai/gpt-5-pro", None),  # asked with another protocol
        ("unheard-of/m", None),
        ("litellm/openai/gpt-5.4-mini", None),
    ],
)
def test_a_name_is_asked_directly_where_its_provider_is_compatible(
    name: str, endpoint: Endpoint | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE_API_BASE", "http://127.0.0.1:9/v1/")
    monkeypatch.setenv("AZURE_API_BASE", "http://127.0.0.1:9/v1/")
    monkeypatch.delenv("OLLAMA_HOST", raising=False)

    assert choose_endpoint(name) == endpoint


def test_the_address_of_a_provider_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ADDRESSES.keys() - {"openai"}:
        monkeypatch.setenv(f"{provider.upper()}_API_BASE", "http://127.0.0.1:9/v1")
        endpoint = choose_endpoint(f"{provider}/m")
        assert endpoint is not None, provider
        assert endpoint.base == "http://127.0.0.1:9/v1"


@pytest.mark.parametrize("stream", [False, True])
async def test_ollama_is_asked_in_its_own_words(connections: Connections, stream: bool) -> None:
    def answer(request: StubRequest) -> bytes:
        asked.append(request)
        chunks = [
            {"model": "m", "message": {"role": "assistant", "content": "It "}, "done": False},
            {
                "model": "m",
                "message": {"role": "assistant", "content": "depends.", "tool_calls": CALLS},
                "done": True,
                "done_reason": "length",
                "prompt_eval_count": 20,
                "eval_count": 3,
            },
        ]
        if stream:
            lines = b"\n".join(json.dumps(chunk).encode() for chunk in chunks)
            return b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + lines
        chunks[1]["message"]["content"] = "It depends."  # type: ignore[index]
        return encode_response(200, chunks[1])

    asked: list[StubRequest] = []
    request = replace(build_argument_request(), functions=(HANDOFF,))
    async with serve(answer) as base:
        reply = await ask(connections, base, request, name="ollama/m", stream=stream)

    assert (reply.text, reply.cut) == ("It depends.", True)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.model) == (20, 3, "ollama/m")
    assert reply.function_calls == (FunctionCall("f", '{"x": 1}'), FunctionCall("g", "{}"))
    body = asked[0].body
    assert (asked[0].path, body["stream"], body["options"]) == (
        "/api/chat",
        stream,
        {"num_ctx": 8192, "num_predict": 600},
    )
    assert body["tools"][0]["function"]["name"] == HANDOFF.name


CALLS = [{"function": {"name": "f", "arguments": {"x": 1}}}, {"function": {"name": "g", "arguments": {}}}]


async def test_ollama_gets_the_schema_of_an_answer(connections: Connections) -> None:
    async with Ollama(context_length=32_000) as ollama:
        reply = await ask(connections, ollama.url, build_judgment_request(), name="ollama/m")

    assert json.loads(reply.text)["winner"]
    assert ollama.requests[0]["format"]["required"]


ODD_CHOICES = {"choices": [{"message": {"content": {"a": 1}}, "delta": {"content": 1}}]}
TOO_LONG = {"error": {"message": "This prompt is too long.", "code": "context_length_exceeded"}}


@pytest.mark.parametrize(
    ("status", "body", "cause", "told", "stream"),
    [
        (404, {"error": "model 'm' not found"}, "bad_request", "model 'm' not found", False),
        (200, {"error": "out of memory"}, "unavailable", "out of memory", False),
        (200, {"error": {"code": 429, "message": "slow down"}}, "rate_limited", "slow down", True),
        *((200, [], "unreadable", "read", stream) for stream in (False, True)),
        *((200, ODD_CHOICES, "unreadable", "read", stream) for stream in (False, True)),
        (200, {"choices": 7}, "unreadable", "read", True),
        (200, "x" * (MAX_RESPONSE_BYTES + 1), "unreadable", "more than 8,000,000 bytes", False),
        (413, {"error": {"message": "Too large."}}, "bad_request", "Too large.", True),
        (400, TOO_LONG, "too_long", "larger", False),
    ],
)
async def test_what_is_no_completion_is_an_error_that_says_why(
    connections: Connections, status: int, body: Any, cause: str, told: str, stream: bool
) -> None:
    def answer(_: StubRequest) -> bytes:
        if stream and status == 200:
            line = b"data: " + json.dumps(body).encode() + b"\n\n"
            return b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + line
        return encode_response(status, body)

    async with serve(answer) as base:
        with pytest.raises(ModelError) as failure:
            await ask(connections, base, stream=stream)

    assert failure.value.cause == cause
    assert told in failure.value.detail


@pytest.mark.parametrize("stream", [False, True])
async def test_a_text_in_parts_is_joined_without_its_thoughts(connections: Connections, stream: bool) -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Yes"},
        {"type": "text", "text": "."},
    ]
    part = "delta" if stream else "message"
    body = {"model": "m", "choices": [{part: {"content": parts}, "finish_reason": "stop"}]}

    def answer(_: StubRequest) -> bytes:
        lines = b"data: " + json.dumps(body).encode() + b"\n\ndata: [DONE]\n\n"
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
        return head + lines if stream else encode_response(200, body)

    async with serve(answer) as base:
        assert (await ask(connections, base, stream=stream)).text == "Yes."


async def test_a_model_that_wants_its_limit_under_the_newer_name_gets_it(connections: Connections) -> None:
    asked: list[Any] = []

    def answer(request: StubRequest) -> bytes:
        asked.append(request.body)
        if "max_tokens" in request.body:
            message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return encode_response(400, {"error": {"message": message}})
        return encode_response(200, {"choices": [{"message": {"content": "Yes."}}]})

    async with serve(answer) as base:
        assert (await ask(connections, base)).text == "Yes."

    assert [body.get("max_completion_tokens") for body in asked] == [None, 600]


async def test_mistral_is_not_asked_to_count_what_it_counts_anyway(connections: Connections) -> None:
    asked: list[Any] = []

    def answer(request: StubRequest) -> bytes:
        asked.append(request)
        return b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: [DONE]\n\n"

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MISTRAL_API_KEY", "key-of-mistral")
        async with serve(answer) as base:
            await ask(connections, base, name="mistral/m", stream=True)

    assert asked[0].body["stream"]
    assert "stream_options" not in asked[0].body
    assert asked[0].headers["authorization"] == "Bearer key-of-mistral"


async def test_a_provider_that_needs_a_key_is_not_asked_without_one(connections: Connections) -> None:
    with pytest.raises(ModelError) as failure:
        await ask(connections, "http://127.0.0.1:9/v1", name="groq/m")

    assert failure.value.cause == "unauthorized"
    assert "Set GROQ_API_KEY" in failure.value.detail


@pytest.mark.requirement("N10")
@pytest.mark.parametrize("provider", ["openai", "mistral", "xai", "groq", "deepseek"])
@pytest.mark.usefixtures("litellm_used")
def test_the_costs_are_those_that_litellm_computes(provider: str) -> None:
    litellm, usage = import_litellm(), import_module("litellm").Usage
    compared = 0
    for key, row in load_table().items():
        name = key if key.startswith(f"{provider}/") else f"{provider}/{key}"
        is_priced = "input_cost_per_token" in row and "off_peak_pricing" not in row
        if row.get("litellm_provider") != provider or row.get("mode") != "chat" or not is_priced:
            continue
        for tokens, cached, reasoning in ((1000, 0, 0), (150_000, 50_000, 0), (300_000, 999, 100)):
            counts = usage(
                prompt_tokens=tokens,
                completion_tokens=500,
                prompt_tokens_details={"cached_tokens": cached},
                completion_tokens_details={"reasoning_tokens": reasoning},
            )
            expected = sum(litellm.cost_per_token(model=name, usage_object=counts))
            endpoint = choose_endpoint(name)
            if endpoint is None:
                continue
            model = OpenAIModel(name, endpoint=endpoint, connections=Connections())
            told = json.loads(counts.model_dump_json(), object_hook=Fields)
            ours = model.look_up_cost(add_thoughts(told) if provider == "xai" else told)
            assert Decimal(ours) == pytest.approx(Decimal(expected), rel=Decimal("1e-6")), (name, tokens)
            compared += 1
    assert compared > 10


@pytest.mark.parametrize(
    ("at", "cost"),
    [
        (datetime(2026, 11, 23, 9, 30, tzinfo=UTC), "0.0015"),  # a Monday
        (datetime(2026, 11, 23, 10, 0, tzinfo=UTC), "0.00075"),
        (datetime(2026, 11, 23, 0, 30, tzinfo=UTC), "0.00075"),
        (datetime(2026, 11, 22, 9, 30, tzinfo=UTC), "0.00075"),
    ],
)
def test_prices_that_depend_on_the_hour_are_those_of_the_hour(at: datetime, cost: str) -> None:
    assert compute_token_cost("deepseek/deepseek-flash", 1000, 1000, at=at) == cost
