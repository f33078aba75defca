"""Embeddings of texts: by OpenAI's protocol, Ollama's, litellm and the stub; and what is no answer."""

from typing import Any

import pytest

from server.models import ModelError
from server.models.concurrency import FIRST_LIMIT
from server.models.embeddings import Embeddings
from server.models.prices import PriceTable
from server.models.providers.connections import Connections
from server.models.registry import ModelRegistry
from server.models.resilience import Guard
from tests.support.fixed_answers import serve_and_close as serve
from tests.support.guarded_requests import FakeClock
from tests.support.provider.stub import StubRequest, encode_response

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D12")]

TEXTS = ("It rains.", "It does not rain.")


def answer(**changes: Any) -> bytes:
    rows = [{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [1, 0.5]}]
    body = {"data": rows, "usage": {"prompt_tokens": 9, "total_tokens": 9}, "model": "e"} | changes
    return encode_response(200, body)


async def embed(name: str = "mine/e", texts: tuple[str, ...] = TEXTS, timeout: float = 5) -> Embeddings:  # noqa: ASYNC109  (the interface)
    async with Connections() as connections:
        return await ModelRegistry(connections=connections).get_embedder(name).embed(texts, timeout)


async def test_vectors_come_in_the_order_of_the_texts_with_what_they_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[StubRequest] = []

    def reply(request: StubRequest) -> bytes:
        asked.append(request)
        return answer()

    async with serve(reply) as base, Connections() as connections:
        monkeypatch.setenv("MINE_API_BASE", f"{base}/v1")
        monkeypatch.setenv("MINE_API_KEY", "sk-mine-0123456789")
        prices = PriceTable({"mine/e": (1_000_000, 0)})  # type: ignore[dict-item]
        embedder = ModelRegistry(prices=prices, connections=connections).get_embedder("mine/e")
        vectors, usage = await embedder.embed(TEXTS, 5)
    assert vectors == ((1.0, 0.5), (0.0, 2.0))
    assert (usage.model, usage.input_tokens, usage.cost_usd, usage.attempts) == ("mine/e", 9, "9", 1)
    (request,) = asked
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "e", "input": list(TEXTS)}
    assert request.headers["authorization"] == "Bearer sk-mine-0123456789"


async def test_ollama_is_asked_by_the_same_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []

    def reply(request: StubRequest) -> bytes:
        paths.append(request.path)
        return answer(usage=None)

    async with serve(reply) as base:
        monkeypatch.setenv("OLLAMA_API_BASE", base)
        _, usage = await embed("ollama/nomic-embed-text")
    assert paths == ["/v1/embeddings"]
    assert (usage.input_tokens, usage.cost_usd) == (0, "")


async def test_a_transient_failure_is_asked_again_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [encode_response(503, {}), answer()]

    async with serve(lambda _: replies.pop(0)) as base:
        monkeypatch.setenv("MINE_API_BASE", base)
        assert (await embed()).usage.attempts == 2
        replies[:] = [encode_response(401, {"error": {"message": "no"}})]
        with pytest.raises(ModelError) as refused:
            await embed()
    assert (refused.value.cause, refused.value.attempts) == ("unauthorized", 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"data": [{"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": [0.0]}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": ["x"]}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [float("inf"), 1.0]}, {"index": 1, "embedding": [1.0, 1.0]}]},
        {"data": None},
        {"usage": 7},
    ],
)
async def test_what_is_no_vector_for_each_text_is_unreadable(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(lambda _: answer(**changes)) as base:
        monkeypatch.setenv("MINE_API_BASE", base)
        with pytest.raises(ModelError) as error:
            await embed()
    assert error.value.cause == "unreadable"


async def test_vectors_that_are_of_no_use_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [encode_response(503, {}), answer(data=[{"index": 0, "embedding": [1.0]}])]
    async with serve(lambda _: replies.pop(0)) as base:
        monkeypatch.setenv("MINE_API_BASE", base)
        with pytest.raises(ModelError) as error:
            await embed()
    usage = error.value.usage
    assert usage
    assert (usage.input_tokens, usage.attempts, error.value.attempts) == (9, 2, 2)


async def test_a_provider_that_is_down_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(lambda _: encode_response(503, {})) as base:
        monkeypatch.setenv("MINE_API_BASE", base)
        with pytest.raises(ModelError) as error:
            await embed(timeout=0.3)
    assert (error.value.cause, error.value.attempts) == ("unavailable", 1)


async def test_texts_that_are_refused_as_too_many_are_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [encode_response(429, {}), encode_response(429, {}), answer()]
    clock = FakeClock(auto_advance=True)
    guard = Guard(now=clock.now, sleep=clock.sleep)
    async with serve(lambda _: replies.pop(0)) as base, Connections() as connections:
        monkeypatch.setenv("MINE_API_BASE", base)
        embedder = ModelRegistry(guard=guard, connections=connections).get_embedder("mine/e")
        _, usage = await embedder.embed(TEXTS, 5)
    assert usage.attempts == 3
    assert guard.limit("mine").places < FIRST_LIMIT


async def test_a_missing_key_is_named_before_anybody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
    with pytest.raises(ModelError, match="Set OPENAI_API_KEY") as error:
        await embed("openai/text-embedding-3-small")
    assert error.value.cause == "unauthorized"


async def test_litellm_asks_where_no_protocol_of_ours_is_spoken(
    monkeypatch: pytest.MonkeyPatch, litellm_used: None
) -> None:
    _ = litellm_used
    async with serve(lambda _: answer()) as base:
        monkeypatch.setenv("OPENAI_API_BASE", f"{base}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        vectors, usage = await embed("litellm/openai/text-embedding-3-small", timeout=20)
    assert vectors == ((1.0, 0.5), (0.0, 2.0))
    assert usage.input_tokens == 9
