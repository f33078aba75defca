"""What the terminal says of the models that answer, and of those that run on this machine."""

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

import pytest
from anyio.from_thread import start_blocking_portal

from tests.support.ollama import Ollama
from tests.support.provider.stub import Stub
from tests.support.servers import Cli

pytestmark = pytest.mark.requirement("N23")

S = TypeVar("S")


@contextmanager
def running(server: AbstractAsyncContextManager[S]) -> Iterator[S]:
    """A server in a thread: commands have an event loop of their own."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(server) as entered:
        yield entered


def test_the_doctor_asks_every_model_and_names_a_key_that_is_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "openai/401,openai/plain,scripted,caller"
    with running(Stub()) as stub:
        for variable, value in (("OPENAI_API_BASE", stub.url), ("OPENAI_API_KEY", "key-of-mine-1234")):
            monkeypatch.setenv(variable, value)
        monkeypatch.setenv("COUNTERPOINT_MODELS", names)
        result = cli("doctor", "--ask", "--json")

    asked = [check for check in json.loads(result.stdout)["checks"] if check["name"] == "asked"]
    assert [check["ok"] for check in asked] == [False, True, True]
    assert "openai/401: " in asked[0]["detail"]
    assert "OPENAI_API_KEY" in asked[0]["detail"]
    assert result.exit_code == 1
    assert "key-of-mine-1234" not in result.output


def test_models_that_run_here_are_listed_with_their_windows(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COUNTERPOINT_MODELS", raising=False)
    with running(Ollama(models=("llama3.3:8b", "qwen3:8b"))) as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        listed = cli("models", "list").stdout
        refused = cli("debate", "Tea?")

    assert "ollama/llama3.3:8b (2,050 tokens)" in listed
    assert refused.exit_code == 1
    assert "No model is set up. On this machine Ollama" in refused.stderr
    assert ": --model ollama/llama3.3:8b --model ollama/qwen3:8b. With a key" in refused.stderr
    assert "models=[" not in refused.stderr


def test_the_doctor_says_the_name_of_a_model_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPOINT_MODELS", "mistral/large")
    monkeypatch.setenv("COUNTERPOINT_OFFLINE", "1")
    asked = [
        check
        for check in json.loads(cli("doctor", "--ask", "--json").stdout)["checks"]
        if check["name"] == "asked"
    ]
    assert [check["detail"].count("mistral/large") for check in asked] == [1]
