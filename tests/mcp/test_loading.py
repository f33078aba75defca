"""Libraries that take long to load: when that begins, what is said meanwhile, and what follows if it fails."""

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.models.prices import PRICE_TABLE_FILE
from server.models.providers.litellm import get_litellm, import_litellm
from server.models.registry import ModelRegistry
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE
from tests.support.processes.served import Served, Start

pytestmark = pytest.mark.requirement("N22")

SLOW_LITELLM = """
import threading
from pathlib import Path
print("litellm says hello", flush=True)
folder = Path(__file__).parent.parent
with (folder / "begun").open("a") as begun:
    begun.write("x")
if not (folder / "go").exists():
    threading.Event().wait(20)  # longer than any test here goes on
raise RuntimeError("half of it is missing")
"""
NO_AIOHTTP = """
from pathlib import Path
with (Path(__file__).parent.parent / "aiohttp begun").open("a") as begun:
    begun.write("x")
raise RuntimeError("half of it is missing")
"""
ASKED = {"question": "Ship it?", "format": "verdict", "run": True, "wait_seconds": 0}
OPTIONS = {"options": {"framing": False}}


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder of packages with a litellm that cannot be imported: at once if there is a file `go`, else after long."""
    path = tmp_path / "litellm" / "__init__.py"
    path.parent.mkdir()
    path.write_text(SLOW_LITELLM, "utf-8")
    path.with_name(PRICE_TABLE_FILE).write_text('{"gpt-x": {"litellm_provider": "openai"}}', "utf-8")
    return tmp_path


def begun(packages: Path, name: str = "begun") -> int:
    """How often the import of litellm, or of aiohttp, has begun."""
    path = packages / name
    return len(path.read_text("utf-8")) if path.exists() else 0


def start(serve: Start, packages: Path, **environ: str) -> Served:
    served = serve(
        PYTHONPATH=os.pathsep.join((str(packages), str(ROOT))),
        OPENAI_API_KEY="sk-0123456789",
        OPENAI_API_BASE="http://127.0.0.1:9",
        **environ,
    )
    served.hello()
    return served


def ask(served: Served, model: str, **more: Any) -> dict[str, Any]:
    return served.call("start_debate", **ASKED, **OPTIONS, models=[model], **more)


def test_a_debate_loads_litellm_while_it_is_opened_and_says_so_and_others_go_on(
    serve: Start, packages: Path
) -> None:
    served = start(serve, packages)
    opened = served.call(
        "start_debate", **(ASKED | OPTIONS | {"run": False}), models=["litellm/openai/gpt-x"]
    )
    assert opened["status"] == "ready"
    while not begun(packages):  # before any answer is wanted
        served.call("find_debates")

    asked = ask(served, "litellm/openai/gpt-y")
    assert (asked["status"], asked["working"]) == ("running", True)
    assert asked["reason"] == "Loading litellm, which takes seconds."
    served.meta = {"_meta": {"progressToken": 7}}
    following = served.call("get_verdict", debate_id=asked["debate_id"], wait_seconds=1)
    assert following["reason"] == "Loading litellm, which takes seconds."
    reports = [line for line in served.lines if "notifications/progress" in line]
    assert "Loading litellm, which takes seconds, 0 of" in reports[0]
    assert ask(served, "scripted", again=True)["reason"] == ""
    assert begun(packages) == 1
    assert not [line for line in served.lines if "hello" in line]


def test_an_import_that_fails_is_a_failure_of_the_seats_and_is_tried_again_later(
    serve: Start, packages: Path
) -> None:
    (packages / "go").touch()
    served = start(serve, packages)
    asked = ask(served, "litellm/openai/gpt-x", again=True)
    found = served.call("get_verdict", debate_id=asked["debate_id"], wait_seconds=20)

    assert found["status"] == "paused"
    failed = served.call("read_debate", debate_id=asked["debate_id"], view="events")
    cause = "litellm cannot be imported (RuntimeError: half of it is missing); install it again."
    assert cause in str(failed["data"] or failed["text"])
    tries = begun(packages)
    served.call("intervene", debate_id=asked["debate_id"], action="resume")
    served.call("get_verdict", debate_id=asked["debate_id"], wait_seconds=20)
    assert begun(packages) > tries
    code, told = served.end()
    assert code == 0
    assert "Traceback" not in told


def test_a_debate_that_is_recovered_loads_litellm_at_the_start(serve: Start, packages: Path) -> None:
    served = start(serve, packages)
    asked = ask(served, "litellm/openai/gpt-x")
    served.kill()
    (packages / "begun").unlink(missing_ok=True)

    later = start(serve, packages)
    while not begun(packages):  # nothing of this debate was asked for
        later.send("ping")
        later.answer()
    found = later.call("get_verdict", debate_id=asked["debate_id"], wait_seconds=0)
    assert found["reason"] == "Loading litellm, which takes seconds."


def test_a_server_ends_at_once_while_it_loads_litellm(serve: Start, packages: Path) -> None:
    served = start(serve, packages)
    ask(served, "litellm/openai/gpt-x")
    while not begun(packages):
        served.call("find_debates")
    served.child.terminate()
    served.child.wait(timeout=PATIENCE)


def test_nothing_else_loads_litellm(serve: Start, packages: Path) -> None:
    (packages / "go").touch()
    served = start(serve, packages)
    for model in ("scripted", "openai/gpt-x"):
        asked = ask(served, model, again=True)
        served.call("get_verdict", debate_id=asked["debate_id"], wait_seconds=20)
    assert begun(packages) == 0


@pytest.fixture
def no_aiohttp(packages: Path) -> Path:
    """The same folder, with an aiohttp that cannot be imported."""
    path = packages / "aiohttp" / "__init__.py"
    path.parent.mkdir()
    path.write_text(NO_AIOHTTP, "utf-8")
    return packages


@pytest.mark.parametrize("models", ["openai/gpt-x", ""])
def test_the_client_of_providers_is_imported_beside_the_engine_and_not_before(
    serve: Start, no_aiohttp: Path, models: str
) -> None:
    packages = no_aiohttp
    served = start(serve, packages, COUNTERPOINT_MODELS=models)
    served.send("tools/list")
    served.answer()
    assert begun(packages, "aiohttp begun") == 0

    served.call("find_debates")  # the first call loads the engine, and a key says who will be asked
    while not (tries := begun(packages, "aiohttp begun")):
        served.call("find_debates")
    asked = ask(served, "openai/gpt-x")
    found = served.call("get_verdict", debate_id=asked["debate_id"], wait_seconds=20)
    assert found["status"] == "paused"
    assert begun(packages, "aiohttp begun") > tries
    code, told = served.end()
    assert code == 0
    assert "Traceback" not in told


def test_only_a_debate_with_models_of_a_provider_waits_for_its_client(serve: Start, no_aiohttp: Path) -> None:
    packages = no_aiohttp
    served = start(serve, packages, COUNTERPOINT_MODELS="scripted")
    asked = served.call("start_debate", **ASKED, **OPTIONS)
    assert served.call("get_verdict", debate_id=asked["debate_id"], wait_seconds=20)["status"] == "concluded"
    assert begun(packages, "aiohttp begun") == 0

    served.call("start_debate", **(ASKED | OPTIONS | {"run": False}), models=["openai/gpt-x"])
    while not begun(packages, "aiohttp begun"):  # before any answer is wanted
        served.call("find_debates")


@pytest.mark.anyio
async def test_who_stops_waiting_for_litellm_stops_nobody_else() -> None:
    with anyio.move_on_after(0):
        await get_litellm()
    assert await get_litellm() is import_litellm()


def test_a_name_that_leads_nowhere_loads_nothing() -> None:
    models = ModelRegistry()
    models.prepare(["chatgpt/gpt-5", "caller", "scripted"])
    assert models.find_loading(["chatgpt/gpt-5", "caller", "scripted"]) == ""
