"""Windows of models: what is known of them, from whom, and what servers are asked."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from server.models.providers.connections import Connections
from server.models.providers.endpoints import build_ollama_address, read_api_base
from server.models.windows import WindowTable, read_listed_window, read_ollama_window
from tests.contract.model import build_argument_request, reply_in_time
from tests.support.fixed_answers import serve_answer
from tests.support.ollama import Ollama
from tests.support.provider.stub import StubRequest, encode_response
from tests.support.provider_models import build_direct

pytestmark = pytest.mark.requirement("N23")


async def find(name: str, **own: int) -> int:
    return sum(window.tokens for window in await WindowTable(own).find([name]))


@pytest.mark.asyncio
async def test_a_window_comes_from_the_settings_then_from_litellms_table() -> None:
    assert await find("openai/gpt-4o") == await find("gpt-4o") == 128_000
    assert await find("faulty?model=openai/gpt-4o&failure=0.1") == 128_000
    assert await WindowTable({"openai/gpt-4o": 9_000}).find(["openai/gpt-4o", "acme/unheard-of"]) != ()
    assert [w.tokens for w in await WindowTable({"openai/gpt-4o": 9_000}).find(["openai/gpt-4o"])] == [9_000]


@pytest.mark.parametrize(
    "name", ["caller", "scripted", "local", "acme/unheard-of", "unheard-of", "scripted?delay=1"]
)
@pytest.mark.asyncio
async def test_models_without_a_known_window_have_none(name: str) -> None:
    assert await WindowTable().find([name]) == ()


@pytest.mark.parametrize("provider", ["ollama", "ollama_chat"])
@pytest.mark.asyncio
async def test_ollama_is_asked_once_for_what_its_model_reads(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Ollama() as ollama:
        monkeypatch.setenv("OLLAMA_API_BASE", ollama.url)
        table = WindowTable()
        found = [await table.find([f"{provider}/tiny:1b"]) for _ in range(3)]

    assert {window.tokens for windows in found for window in windows} == {2050}
    assert ollama.shown == ["tiny:1b"]


@pytest.mark.asyncio
async def test_where_ollama_does_not_answer_litellms_table_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_BASE", "http://127.0.0.1:9")

    assert await find("ollama/llama2") == 4096


@pytest.mark.parametrize(
    ("shown", "tokens"),
    [
        ({"model_info": {"llama.context_length": 131072}, "parameters": "stop x\nnum_ctx   8192\n"}, 8192),
        ({"model_info": {"llama.context_length": 2048}, "parameters": "num_ctx 8192"}, 2048),
        ({"parameters": "num_ctx 8192"}, 8192),
        ({"model_info": {"llama.context_length": "many"}, "parameters": "num_ctx\nnum_ctx x"}, 0),
        ({"model_info": ["x"], "parameters": 3}, 0),
        (None, 0),
    ],
)
def test_what_ollama_shows_is_read_with_care(shown: Any, tokens: int) -> None:
    assert read_ollama_window(shown) == tokens


@pytest.mark.parametrize(
    ("row", "tokens"),
    [
        ({"id": "m", "max_model_len": 32_768}, 32_768),
        ({"id": "m", "context_length": 65_536.0}, 65_536),
        ({"id": "m", "context_window": 8_192}, 8_192),
        ({"id": "m", "meta": {"n_ctx_train": 4_096}}, 4_096),
        ({"id": "m", "max_model_len": -1, "context_length": float("inf")}, 0),
        ({"id": "m", "meta": "?"}, 0),
    ],
)
def test_what_a_list_of_models_says_is_read_under_all_its_names(row: dict[str, Any], tokens: int) -> None:
    assert read_listed_window({"data": [{"id": "other", "max_model_len": 1}, row]}, "m") == tokens
    assert read_listed_window({"data": [row | {"id": "/models/m.gguf"}]}, "m") == tokens  # the only one
    answers: list[Any] = [None, [], {"data": 3}, {"data": ["m"]}, {"data": []}]
    for nonsense in answers:
        assert read_listed_window(nonsense, "m") == 0


@pytest.mark.asyncio
async def test_an_openai_compatible_server_is_asked_for_its_models_with_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[StubRequest] = []
    listed = {"data": [{"id": "mine", "max_model_len": 12_345}]}
    async with serve_answer(encode_response(200, listed), asked) as address:
        monkeypatch.setenv("HOSTED_VLLM_API_BASE", f"{address}/v1/")
        monkeypatch.setenv("HOSTED_VLLM_API_KEY", "key-of-mine")

        assert await find("hosted_vllm/mine") == 12_345

    assert [(request.path, request.headers["authorization"]) for request in asked] == [
        ("/v1/models", "Bearer key-of-mine")
    ]


@pytest.mark.full
@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{x}", None], ids=["nonsense", "nothing"]
)
@pytest.mark.asyncio
async def test_a_server_that_answers_badly_or_not_at_all_holds_nobody_up(
    answer: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.models.windows.TIMEOUT", 0.1)
    asked: list[StubRequest] = []
    async with asyncio.timeout(5), serve_answer(answer, asked) as address:
        monkeypatch.setenv("ACME_API_BASE", address)

        assert await find("acme/mine") == 0
    assert asked


@pytest.mark.asyncio
async def test_offline_no_server_elsewhere_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[StubRequest] = []
    monkeypatch.setenv("ACME_API_BASE", "http://models.example/v1")
    async with (
        asyncio.timeout(5),
        serve_answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", asked) as proxy,
    ):
        monkeypatch.setenv("http_proxy", proxy)  # that requests to other machines go through
        monkeypatch.delenv("no_proxy", raising=False)

        assert await find("acme/mine") == 0
        assert asked == []
        monkeypatch.setenv("COUNTERPOINT_OFFLINE", "0")
        await find("acme/mine")

    assert [request.path for request in asked] == ["http://models.example/v1/models"]


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("box:8080", "http://box:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104  (nothing listens there)
        ("[::1]:8080", "http://[::1]:8080"),
        ("http://box", "http://box:80"),
        ("https://box/ollama/", "https://box:443/ollama"),
    ],
)
def test_ollama_is_where_its_own_programs_look_for_it(
    host: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OLLAMA_API_BASE", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", host)

    assert build_ollama_address(host) == read_api_base("ollama/m") == address


@pytest.mark.asyncio
async def test_ollama_is_told_how_much_to_read_and_reads_it() -> None:
    async with Ollama(context_length=40_000) as ollama, Connections() as connections:
        model = build_direct("ollama/m", ollama.url, connections)
        short = replace(build_argument_request(), window=40_000)
        long = replace(short, max_tokens=30_000)
        for request in (short, long, short):
            assert (await reply_in_time(model, request)).usage.sent_tokens == 0

    assert [body["options"]["num_ctx"] for body in ollama.requests] == [8_192, 32_768, 32_768]  # loaded once
