"""Models of users: objects and functions in code, and entry points of installed packages."""

from pathlib import Path

import anyio
import pytest

from server.debate.facts.errors import InvalidRequestError
from server.models import ModelError
from server.models.fakes.scripted import ScriptedModel
from server.models.own import ReplyFunction
from server.models.registry import ModelRegistry
from tests.contract.model import build_argument_request

pytestmark = [pytest.mark.requirement("C13", "N7", "N29"), pytest.mark.anyio]

MODULE = """
from counterpoint import ModelError, Reply, Request, Usage

class Recorder:
    def __init__(self, name):
        self.name = name

    async def reply(self, request: Request, on_text=None) -> Reply:
        if self.name == "broken":
            raise ModelError("refused", "not today")
        return Reply(f"{self.name or 'nobody'} speaks for {request.seat}", Usage(model="recorder"))

def make_number(name):
    return 7

def make_error(name):
    raise RuntimeError("the key sk-proj-abcdef0123456789 is wrong")
"""

ENTRY_POINTS = """
[counterpoint.models]
recorder = installed_models:Recorder
number = installed_models:make_number
error = installed_models:make_error
absent = installed_models:make_nothing
nowhere = no_such_module:make
openai = installed_models:Recorder
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_distribution(tmp_path, "installed_models", ENTRY_POINTS)
    (tmp_path / "installed_models.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


def write_distribution(folder: Path, name: str, entry_points: str) -> None:
    metadata = folder / f"{name}-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(entry_points, encoding="utf-8")


async def reply_text(models: ModelRegistry, name: str) -> str:
    return (await models.get(name).reply(build_argument_request())).text


@pytest.mark.usefixtures("installed")
async def test_an_entry_point_gets_what_stands_after_the_slash() -> None:
    models = ModelRegistry()

    assert (await reply_text(models, "recorder")).startswith("nobody speaks for ")
    assert (await reply_text(models, "recorder/Ada/1")).startswith("Ada/1 speaks for ")
    with pytest.raises(ModelError, match="not today"):
        await reply_text(models, "recorder/broken")


@pytest.mark.usefixtures("installed")
async def test_an_entry_point_wins_over_a_provider_and_needs_no_key() -> None:
    models = ModelRegistry()

    models.check("openai/gpt-5.6-terra", {})

    assert (await reply_text(models, "openai/gpt-5.6-terra")).startswith("gpt-5.6-terra speaks")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("number", "int is neither a function nor an object with a reply method"),
        ("error", "RuntimeError: the key [secret] is wrong"),
        ("absent/x", "AttributeError: "),
        ("nowhere", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
async def test_an_entry_point_that_fails_is_an_error_for_its_name_only(name: str, cause: str) -> None:
    models = ModelRegistry()

    with pytest.raises(InvalidRequestError) as refusal:
        models.check(name, {})
    with pytest.raises(ModelError) as failure:
        models.get(name)

    assert str(refusal.value) == failure.value.detail
    assert str(refusal.value).startswith(f"{name}: its entry point ")
    assert cause in str(refusal.value)
    models.check("recorder", {})


@pytest.mark.usefixtures("installed")
async def test_a_name_that_two_packages_provide_is_an_error_that_names_both(tmp_path: Path) -> None:
    write_distribution(tmp_path, "other", "[counterpoint.models]\nrecorder = other:make\n")

    with pytest.raises(InvalidRequestError, match="installed_models:Recorder and other:make"):
        ModelRegistry().check("recorder", {})


def answer_plainly(messages: list[dict[str, str]]) -> str:
    return f"{len(messages)} messages, the last from the {messages[-1]['role']}"


async def answer_later(messages: list[dict[str, str]]) -> str:
    return answer_plainly(messages)


@pytest.mark.parametrize("function", [answer_plainly, answer_later])
async def test_a_function_that_returns_a_string_is_a_model(function: ReplyFunction) -> None:
    models, pieces = ModelRegistry({"mine": function}), list[str]()
    request = build_argument_request()

    reply = await models.get("mine").reply(request, pieces.append)

    assert reply.text == f"{len(request.prompt.messages)} messages, the last from the user"
    assert pieces == [reply.text]
    assert (reply.usage.model, reply.usage.cost_usd) == ("mine", "")


async def test_a_function_that_returns_no_string_or_is_too_late_fails_with_the_cause() -> None:
    async def never(_: list[dict[str, str]]) -> str:
        await anyio.sleep_forever()
        raise AssertionError

    models = ModelRegistry({"number": len, "never": never})  # type: ignore[dict-item]  # that is the point

    with pytest.raises(ModelError, match=r"number returned int instead of a string\."):
        await reply_text(models, "number")
    with pytest.raises(ModelError, match=r"never did not answer within 0\.05 seconds") as failure:
        await models.get("never").reply(build_argument_request(timeout=0.05))
    assert failure.value.cause == "timeout"


async def test_what_is_neither_a_function_nor_a_model_is_refused_when_the_registry_is_made() -> None:
    with pytest.raises(TypeError, match="str is neither"):
        ModelRegistry({"mine": ScriptedModel(), "wrong": "scripted"})  # type: ignore[dict-item]
