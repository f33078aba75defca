"""Model servers on this machine: found, proposed, and never used unasked."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from mcp.types import ElicitRequestFormParams, ElicitResult

from server.models.model_servers import (
    ModelServer,
    ServedModel,
    choose_models,
    choose_pair,
    find_servers,
    read_names,
)
from server.models.windows import WindowTable
from tests.support.client_calls import call, expect_tool_error
from tests.support.fixed_answers import serve_answer
from tests.support.ollama import Ollama
from tests.support.provider.stub import StubRequest, encode_response

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N23")]

CLOSED = "http://127.0.0.1:9"
OWN_ADDRESSES = ("LMSTUDIO_API_BASE", "LLAMACPP_API_BASE", "VLLM_API_BASE")


@pytest.fixture(autouse=True)
def _nothing_else_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", CLOSED)
    for variable in OWN_ADDRESSES:
        monkeypatch.setenv(variable, f"{CLOSED}/v1")


@pytest.fixture
async def ollama(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ollama]:
    listed = ("llama3.3:8b", "nomic-embed-text", "llama3.3:70b", "qwen3:8b")
    async with Ollama(context_length=40_960, models=listed) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


async def find() -> dict[str, tuple[ServedModel, ...]]:
    return {server.title: server.models for server in await find_servers(WindowTable())}


async def test_ollama_is_found_with_the_models_that_talk_and_their_windows(ollama: Ollama) -> None:
    assert await find() == {
        "Ollama": tuple(
            ServedModel(f"ollama/{name}", 40_960) for name in ("llama3.3:8b", "llama3.3:70b", "qwen3:8b")
        )
    }
    assert ollama.requests == []  # none was asked to talk


async def test_servers_that_speak_openai_are_found_with_the_windows_that_they_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[StubRequest] = []
    listed = {"data": [{"id": "qwen/qwen3-8b", "max_model_len": 32_768}, {"id": "text-embedding-nomic"}]}
    async with serve_answer(encode_response(200, listed), asked) as address:
        monkeypatch.setenv("LMSTUDIO_API_BASE", f"{address}/v1")
        assert await find() == {"LM Studio": (ServedModel("lmstudio/qwen/qwen3-8b", 32_768),)}
    assert {request.path for request in asked} == {"/v1/models"}


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<h1>My app</h1>",
        encode_response(200, {"data": [{"title": "no model"}]}),
        encode_response(200, ["a", "b"]),
        encode_response(404, {"error": "not found"}),
        None,
    ],
    ids=["a page", "other data", "a list", "404", "silence"],
)
async def test_what_else_listens_there_is_no_model_server(
    answer: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve_answer(answer, []) as address:
        monkeypatch.setenv("VLLM_API_BASE", f"{address}/v1")
        assert await find() == {}


async def test_offline_no_address_but_loopback_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://198.51.100.7:11434")  # never answers: asking it takes its time
    assert await find() == {}


@pytest.mark.parametrize(
    ("row", "names"),
    [
        ({"models": [{"name": "a:1b"}, {"name": "all-minilm", "details": {"family": "bert"}}]}, ["a:1b"]),
        ({"data": [{"id": "mxbai-Embed-large"}, {"id": "b"}, {"id": "two words"}, {"id": "c\nd"}]}, ["b"]),
    ],
)
def test_models_that_do_not_talk_are_left_out(row: dict[str, Any], names: list[str]) -> None:
    assert [*read_names(row)] == names


@pytest.mark.parametrize(
    ("names", "pair"),
    [
        (
            ["ollama/llama3.3:8b", "ollama/llama3.3:70b", "lmstudio/qwen3"],
            ("ollama/llama3.3:8b", "lmstudio/qwen3"),
        ),
        (["ollama/llama3.3:8b", "ollama/llama3.3:70b"], ("ollama/llama3.3:8b", "ollama/llama3.3:70b")),
        (["ollama/own", "llamacpp/other"], ("ollama/own", "llamacpp/other")),
        (["ollama/llama3.3:8b"], ("ollama/llama3.3:8b",)),
        ([], ()),
    ],
)
def test_two_models_of_different_families_are_proposed(names: list[str], pair: tuple[str, ...]) -> None:
    models = tuple(ServedModel(name, 0) for name in names)
    assert choose_pair([ModelServer("", "", models[:1]), ModelServer("", "", models[1:])]) == pair


@pytest.mark.usefixtures("ollama")
async def test_what_is_set_up_comes_before_what_runs_here() -> None:
    keyed = {"OPENAI_API_KEY": "k"}
    assert await choose_models(("local",), {}, WindowTable(), []) == ("local",)
    assert [name.partition("/")[0] for name in await choose_models((), keyed, WindowTable(), [])] == [
        "openai"
    ]
    assert await choose_models((), {}, WindowTable(), ["a/b", "c/d"]) == ("a/b", "c/d")


async def test_a_debate_that_names_no_model_is_told_how_to_use_them(open_modern: Any, ollama: Ollama) -> None:
    async with open_modern(default="") as client:
        problem = await expect_tool_error(client, "start_debate", question="Tea?")
        assert f"Ollama at {ollama.url} has ollama/llama3.3:8b (40,960 tokens), " in problem
        assert 'models=["ollama/llama3.3:8b", "ollama/qwen3:8b"]' in problem
        assert (await call(client, "find_debates"))["debates"] == []

        ran = await call(
            client,
            "start_debate",
            question="Tea?",
            run=True,
            models=["ollama/llama3.3:8b", "ollama/qwen3:8b"],
        )

    assert ran["status"] == "concluded"
    assert {request["model"] for request in ollama.requests} == {"llama3.3:8b", "qwen3:8b"}


Person = Callable[[Any, ElicitRequestFormParams], Any]


def answering(forms: list[ElicitRequestFormParams], action: Any, **content: Any) -> Person:
    async def answer(_context: Any, form: ElicitRequestFormParams) -> ElicitResult:
        forms.append(form)
        if "models" not in form.requested_schema["properties"]:
            return ElicitResult(action="decline")
        return ElicitResult(action=action, content=content or None)

    return answer


@pytest.mark.requirement("N13")
@pytest.mark.usefixtures("ollama")
async def test_a_person_is_asked_once_which_models_debate(open_client: Any) -> None:
    forms: list[ElicitRequestFormParams] = []
    person = answering(forms, "accept", models="scripted, ollama/qwen3:8b,")
    async with open_client(default="", elicitation_callback=person) as client:
        started = await call(client, "start_debate", question="Tea?", options={"framing": False})
        state = await call(client, "read_debate", debate_id=started["debate_id"], view="state")

    [form] = forms
    assert form.message.startswith("No model is set up. Here Ollama at ")
    assert form.requested_schema["properties"]["models"]["default"] == "ollama/llama3.3:8b, ollama/qwen3:8b"
    assert [one["model"] for one in state["data"]["debaters"]] == ["scripted", "ollama/qwen3:8b"]


@pytest.mark.requirement("N13")
@pytest.mark.usefixtures("ollama")
@pytest.mark.parametrize(
    ("action", "content"), [("decline", {}), ("cancel", {}), ("accept", {"models": " , "})]
)
async def test_without_an_answer_the_error_lists_the_models(
    open_modern: Any, action: str, content: dict[str, str]
) -> None:
    forms: list[ElicitRequestFormParams] = []
    async with open_modern(default="", elicitation_callback=answering(forms, action, **content)) as client:
        problem = await expect_tool_error(client, "start_debate", question="Tea?")

    assert 'models=["ollama/llama3.3:8b", "ollama/qwen3:8b"]' in problem
    assert len(forms) == 1
