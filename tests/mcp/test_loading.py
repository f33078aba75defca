"""Libraries that take long to load: when that begins, what is said meanwhile, and what follows if it fails."""

import os
from pathlib import Path
from typing import Any

import pytest

from server.models.prices import PRICE_TABLE_FILE
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
    assert "loading litellm, which takes seconds" in following["reason"].lower()
    reports = [line for line in served.lines if "notifications/progress" in line]
    assert "loading litellm, which takes seconds" in reports[0].lower()
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
