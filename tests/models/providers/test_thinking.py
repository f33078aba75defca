"""Models that think before they write: the room they get, what is asked of them, and how their thoughts are counted."""

import asyncio
import json
from dataclasses import replace
from typing import Any, Literal

import pytest

from server.debate.facts.setup.options import ThinkingMode
from server.models import ModelError, Reply, Request
from server.models.providers.connections import Connections, ResponseError
from server.models.providers.errors import classify_error
from server.models.providers.litellm import LitellmModel
from server.models.providers.model import ProviderModel
from tests.contract.model import build_argument_request, build_judgment_request, reply_in_time
from tests.support.ollama import Ollama
from tests.support.provider.stub import Stub, read_request
from tests.support.provider_models import Ask, build_direct

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("B7", "D3")]

ROOM = replace(build_argument_request(), max_tokens=8_600, thinking_tokens=8_000)

MODES: tuple[ThinkingMode | Literal[""], ...] = ("", "low", "medium", "high", "off")

LIMITS = ("max_tokens", "max_completion_tokens")


async def ask(model: ProviderModel, request: Request = ROOM, *, stream: bool = False) -> tuple[Reply, str]:
    """(the reply, what a watcher saw of it)."""
    pieces: list[str] = []
    return await reply_in_time(model, request, pieces.append if stream else None), "".join(pieces)


def list_limits(stub: Stub) -> list[int]:
    return [next(chat.body[name] for name in LIMITS if name in chat.body) for chat in stub.chat_requests]


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("stub", 8_600),  # of which no table knows anything
        ("gpt-5.4-mini", 8_600),
        ("gpt-4", 4_096),  # all that it can write
        ("gpt-audio", 600),  # which the table says does not think
    ],
)
async def test_everybody_who_may_think_gets_room_for_it(
    through: Ask, stub: Stub, name: str, limit: int
) -> None:
    await ask(through(name))

    assert list_limits(stub) == [limit]


@pytest.mark.parametrize("stream", [False, True])
async def test_thoughts_are_counted_and_never_shown(through: Ask, stub: Stub, stream: bool) -> None:
    reply, seen = await ask(through("thinks-2600"), stream=stream)

    assert not reply.cut
    assert reply.usage.thinking_tokens == 2_600
    assert reply.usage.output_tokens == 2_600 + len(reply.text.split())
    assert "Hmm" not in reply.text
    assert seen == (reply.text if stream else "")
    assert len(stub.chat_requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_who_thinks_up_to_its_limit_was_cut_and_says_nothing(through: Ask, stream: bool) -> None:
    reply, seen = await ask(through("thinks-9000"), stream=stream)

    assert (reply.text, seen, reply.cut) == ("", "", True)
    assert (reply.usage.output_tokens, reply.usage.thinking_tokens) == (8_600, 8_600)


async def test_a_refusal_to_end_within_the_limit_is_a_cut_answer(through: Ask, stub: Stub) -> None:
    reply, _ = await ask(through("exhausts-9000"))

    assert (reply.text, reply.cut, reply.usage.cost_usd) == ("", True, "")
    assert len(stub.chat_requests) == 1


async def test_a_limit_that_is_refused_is_halved_and_remembered(through: Ask, stub: Stub) -> None:
    model = through("takes-4096")

    reply, _ = await ask(model)
    await ask(model, replace(ROOM, max_tokens=32_000))

    assert reply.usage.attempts == 3
    assert list_limits(stub) == [8_600, 4_300, 2_150, 2_150]


async def test_a_limit_is_not_halved_to_nothing(through: Ask, stub: Stub) -> None:
    with pytest.raises(ModelError, match="at most 9 completion tokens"):
        await ask(through("takes-9"), replace(ROOM, max_tokens=400))

    assert list_limits(stub) == [400, 256]


async def test_how_much_to_think_is_sent_only_where_it_is_asked_for(
    stub: Stub, connections: Connections
) -> None:
    for thinking in MODES:
        await ask(build_direct("mine/stub", stub.url, connections), replace(ROOM, thinking=thinking))

    sent = [chat.body.get("reasoning_effort") for chat in stub.chat_requests]
    assert sent == [None, "low", "medium", "high", "none"]


async def test_a_model_that_cannot_be_told_how_much_to_think_is_not_told_again(
    stub: Stub, connections: Connections
) -> None:
    model = build_direct("mine/no_effort", stub.url, connections)
    request = replace(build_judgment_request(), thinking=MODES[1])
    replies = [(await ask(model, request))[0] for _ in range(2)]

    assert [reply.usage.attempts for reply in replies] == [2, 1]
    assert ["reasoning_effort" in chat.body for chat in stub.chat_requests] == [True, False, False]
    assert all("response_format" in chat.body for chat in stub.chat_requests)  # which nobody objected to


@pytest.mark.parametrize("stream", [False, True])
async def test_ollama_is_told_how_much_to_think_and_has_memory_for_what_it_thought(
    connections: Connections, stream: bool
) -> None:
    async with Ollama(context_length=32_000, thought="Hmm. " * 4_000) as ollama:
        model = build_direct("ollama/m", ollama.url, connections)
        replies = [
            (await ask(model, replace(ROOM, thinking=thinking), stream=stream))[0]
            for thinking in (*MODES[3:], MODES[0])
        ]

    asked = [(body["options"]["num_predict"], body["options"]["num_ctx"]) for body in ollama.requests]
    assert asked == [(8_600, 8_192), (8_600, 16_384), (8_600, 16_384)]
    assert [body.get("think") for body in ollama.requests] == ["high", False, None]
    usage = replies[0].usage
    assert usage.thinking_tokens == 5_000  # by its share of the characters
    assert "Hmm" not in replies[0].text


@pytest.mark.parametrize(
    ("status", "message", "objections"),
    [
        (
            400,
            "max_tokens is too large: 9080. This model supports at most 4096 completion tokens.",
            "high_limit",
        ),
        (402, "Fewer max_tokens, please: you requested up to 9080, but can only afford 3000.", "high_limit"),
        (
            400,
            "The maximum context length is 4096: 500 in the messages, 9080 in the completion.",
            "high_limit",
        ),
        (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", ""),
        (400, "Could not finish the message. Please try again with higher max_tokens.", "low_limit"),
        (422, '{"type": "extra_forbidden", "loc": ["body", "reasoning_effort"]}', "effort"),
        (400, '"a/thinking-model" does not support thinking', "effort"),
        (400, "thinking-model: the schema is too large", ""),
        (500, "max_tokens", ""),
    ],
)
def test_what_a_provider_objects_to_is_found_in_its_words(status: int, message: str, objections: str) -> None:
    failure = classify_error(ResponseError(status, message), "mine/thinking-model")

    assert " ".join(failure.objections) == objections


async def test_thoughts_that_a_provider_counts_apart_are_part_of_what_was_written(
    stub: Stub, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAI_API_KEY", "key-of-xai")
    reply, _ = await ask(build_direct("xai/stub", stub.url, connections))

    written = len(reply.text.split())  # of which the stub says that a tenth was thought
    assert (reply.usage.output_tokens, reply.usage.thinking_tokens) == (
        written + written // 10,
        written // 10,
    )


async def test_ten_megabytes_of_thoughts_are_read_to_their_end(connections: Connections) -> None:
    event = json.dumps({"choices": [{"delta": {"reasoning_content": "Hmm. " * 100_000}}]})
    last = json.dumps({"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]})

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        for line in [event] * 20 + [last]:
            writer.write(f"data: {line}\n\n".encode())
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0, limit=2**24) as server:
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model = build_direct("mine/m", base, connections)
        reply, seen = await ask(model, stream=True)
    assert reply.text == seen == "Yes."


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "key-of-a-provider")


def find_gemini_limit(body: Any) -> Any:
    configured = body["generationConfig"]
    return configured.get("max_output_tokens") or configured.get("maxOutputTokens")


@pytest.mark.full
@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(("provider", "stream"), [("anthropic", True), ("gemini", False)])
async def test_other_protocols_have_the_same_room_and_count_thoughts_too(
    stub: Stub, provider: str, stream: bool
) -> None:
    thinks = LitellmModel(f"{provider}/thinks-2600")
    reply, seen = await ask(thinks, stream=stream)
    cut, _ = await ask(LitellmModel(f"{provider}/thinks-9000"), stream=stream)

    bodies = [chat.body for chat in stub.chat_requests]
    limits = [body["max_tokens"] if provider == "anthropic" else find_gemini_limit(body) for body in bodies]
    assert limits == [8_600, 8_600]
    assert not any("thinking" in body or "thinkingConfig" in str(body) for body in bodies)
    assert (reply.cut, cut.cut, cut.text) == (False, True, "")
    assert seen == (reply.text if stream else "")
    assert "Hmm" not in reply.text
    assert reply.usage.output_tokens == 2_600 + len(reply.text.split())
    assert 0 < reply.usage.thinking_tokens <= 2_600


@pytest.mark.full
@pytest.mark.usefixtures("keys")
async def test_anthropic_is_given_a_budget_below_its_limit(stub: Stub) -> None:
    model = LitellmModel("anthropic/claude-sonnet-4-5")
    asked: list[tuple[ThinkingMode, int]] = [("low", 8_600), ("medium", 8_600), ("high", 8_600)]
    asked += [("high", 3_000), ("low", 1_024), ("off", 8_600)]
    for thinking, limit in asked:
        await ask(model, replace(ROOM, thinking=thinking, max_tokens=limit))

    budgets = [(chat.body.get("thinking") or {}).get("budget_tokens") for chat in stub.chat_requests]
    assert budgets == [1_024, 2_048, 4_096, 2_999, None, None]


@pytest.mark.full
@pytest.mark.usefixtures("keys")
async def test_gemini_is_told_how_much_to_think(stub: Stub) -> None:
    model = LitellmModel("gemini/gemini-2.5-flash")
    for thinking in (MODES[1], MODES[4]):
        await ask(model, replace(ROOM, thinking=thinking))

    told = [chat.body["generationConfig"].get("thinkingConfig") for chat in stub.chat_requests]
    assert [config["thinkingBudget"] for config in told] == [1_024, 0]
