import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import pytest

from server.debate.facts.errors import DebateError, InvalidRequestError
from server.models import ModelError, registry
from server.models.fakes.scripted import ScriptedModel
from server.models.local import model as local
from server.models.providers.litellm import import_litellm
from server.models.resilience import Guard, GuardedModel
from tests.contract.model import build_argument_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("A4")]


def test_an_object_of_your_own_goes_by_any_name_and_needs_no_key() -> None:
    mine = ScriptedModel(name="mine")
    guarded = GuardedModel("openai/fine", "openai", mine, Guard())
    models = registry.ModelRegistry({"my model": mine, "local": mine, "openai/fine": guarded})

    models.check("my model", {})
    models.check("openai/fine", {})
    assert models.get("my model").model is models.get("local").model is mine
    assert models.get("my model") is models.get("my model")


def test_where_a_model_is_asked_is_that_of_its_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OLLAMA_HOST"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_BASE", "http://127.0.0.1:9/a")
    monkeypatch.setenv("MINE_BASE_URL", "http://127.0.0.1:9/v1/")
    models = registry.ModelRegistry({"my model": ScriptedModel()})
    addresses = {
        "openai/m": "https://api.openai.com/v1",
        "litellm/openai/m": "",
        "anthropic/claude-sonnet-5-5": "http://127.0.0.1:9/a",
        "mine/m": "http://127.0.0.1:9/v1",
        "ollama/m": "http://127.0.0.1:11434",
        "my model": "",
        "scripted": "",
    }
    assert {name: models.get(name).address for name in addresses} == addresses


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpt 5",
        "a\nb",
        "x" * 201,
        "scripted?speed=1",
        "local?x=1",
        "local/other",
        "caller?name=me",
        "GitHub_Copilot/gpt-5",
        "litellm/ollama/m",
    ],
)
def test_a_name_that_leads_nowhere_is_refused_at_once(name: str) -> None:
    with pytest.raises(InvalidRequestError):
        registry.ModelRegistry().get(name)


@pytest.mark.requirement("N7")
async def test_the_caller_has_a_seat_like_a_model_and_is_never_asked() -> None:
    models = registry.ModelRegistry()
    models.check("caller", {})
    models.prepare(["caller"])

    with pytest.raises(ModelError) as failure:
        await models.get("caller").reply(build_argument_request())

    assert failure.value.cause == "bad_request"
    assert "`submit_turn`" in failure.value.detail


@pytest.mark.requirement("D9")
def test_what_litellm_asks_may_wait_for_its_turn_as_long_as_it_may_take() -> None:
    models = registry.ModelRegistry({"mine": ScriptedModel()})

    assert models.get("openai/gpt-5.6-terra").max_reply_seconds(120) == 240
    for name in ("mine", "scripted", "local", "caller"):
        assert models.get(name).max_reply_seconds(120) == 120


def test_configured_models_come_first() -> None:
    assert registry.choose_default_models(("a/b", "c/d"), {"OPENAI_API_KEY": "k"}) == ("a/b", "c/d")


def test_keys_bring_one_model_of_each_family() -> None:
    environ = {"XAI_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "k", "GROQ_API_KEY": "k", "OPENAI_API_KEY": ""}

    chosen = registry.choose_default_models((), environ)

    assert [registry.family(name) for name in chosen] == ["anthropic", "xai", "qwen"]


@pytest.mark.local
@pytest.mark.skipif(not local.is_available(), reason="the embedded model is not installed")
def test_without_keys_the_embedded_model_is_taken() -> None:
    assert registry.choose_default_models((), {}) == ("local",)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the cache cannot be moved by the environment")
def test_without_any_model_the_choices_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    with pytest.raises(registry.NoModelError) as failure:
        registry.choose_default_models((), {})

    assert isinstance(failure.value, DebateError)
    for choice in (
        "`models`",
        "COUNTERPOINT_MODELS",
        "OPENAI_API_KEY",
        "pip install 'counterpoint-mcp[local]'",
        "counterpoint models install",
        'models=["caller"]',
        '"scripted"',
    ):
        assert choice in str(failure.value)


@pytest.mark.parametrize("provider", registry.PROVIDERS, ids=lambda provider: provider.name)
def test_litellm_knows_the_default_models_and_their_keys(
    provider: registry.Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in provider.key_variables:
        monkeypatch.delenv(key, raising=False)
    import_litellm()
    litellm = import_module("litellm")

    missing = litellm.validate_environment(provider.default_model)["missing_keys"]

    assert set(provider.key_variables) & set(missing)
    if provider.name != "openrouter":  # whose models litellm's own price list leaves out
        assert {provider.default_model, provider.default_model.partition("/")[2]} & set(litellm.model_cost)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scripted?delay=1", "scripted"),
        ("faulty?model=anthropic/claude-sonnet-5-5&crash=0.1", "anthropic"),
        ("faulty?model=scripted", "scripted"),
        ("faulty", "faulty"),
    ],
)
def test_a_model_behind_faults_belongs_to_the_family_of_that_model(name: str, expected: str) -> None:
    assert registry.family(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai/gpt-5.6-terra", "OPENAI_API_KEY"),
        ("gpt-5.6-terra", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-5-5", ""),
        ("faulty?model=openai/gpt-5.6-terra&crash=0.1", "OPENAI_API_KEY"),
        ("faulty?model=scripted", ""),
        ("ollama/llama3", ""),
    ],
)
def test_a_key_that_is_missing_is_known_before_anybody_is_asked(name: str, expected: str) -> None:
    needs = pytest.raises(InvalidRequestError, match=f"needs a key, and {expected} is not set")
    with needs if expected else nullcontext():
        registry.ModelRegistry().check(name, {"ANTHROPIC_AUTH_TOKEN": "k", "GOOGLE_API_KEY": "k"})
