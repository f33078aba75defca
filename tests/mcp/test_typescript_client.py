"""A client that is not the Python SDK: the TypeScript one, over stdio."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from server.tools.debates import TOOLS
from tests.support.node import find_node
from tests.support.paths import NODE
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.requirement("M1", "M4"), pytest.mark.node]


def run_client(program: str, folder: Path) -> dict[str, Any]:
    """What a program of the folder `node` saw of a server."""
    environment = {
        **os.environ,
        "COUNTERPOINT_DB": str(folder / "debates.db"),
        "COUNTERPOINT_MODELS": "scripted?delay=0.02",
    }
    done = subprocess.run(
        [find_node(NODE), program, sys.executable, "-m", "counterpoint"],
        cwd=NODE,
        env={**environment, "PYTHONPATH": str(NODE.parent.parent)},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    saw: dict[str, Any] = json.loads(done.stdout)
    return saw


@pytest.mark.requirement("N13")
def test_the_typescript_client_of_the_tasks_extension_polls_answers_and_gives_up(tmp_path: Path) -> None:
    saw = run_client("tasks.mjs", tmp_path)

    assert (saw["run"], saw["asked"], saw["left"]) == ("concluded", "concluded", "concluded")
    assert [form.split(",")[0] for form in saw["forms"]] == ["Ada"]
    assert {"tasks/get", "tasks/update", "tasks/cancel"} <= {*saw["methods"]}


def test_a_typescript_client_plays_a_whole_debate(tmp_path: Path) -> None:
    saw = run_client("client.mjs", tmp_path)

    assert saw["tools"] == [*TOOLS]
    assert saw["rounds"] == [1, 2]
    assert saw["reports"] > 0
    assert saw["outcome"] == "leaning"
    assert saw["same"] is True
    assert len(saw["resources"]) == 3  # with the index and the options
    assert saw["found"] == 1
    assert "There is no debate 'nobody'" in saw["wrong"]


@pytest.mark.requirement("N7", "N13")
def test_a_typescript_client_lends_its_model_and_its_person_writes(tmp_path: Path) -> None:
    saw = run_client("lends_a_model.mjs", tmp_path)

    assert saw["reason"].startswith("never heard: Ben: client: the person at the client refused ")
    assert saw["status"] == "concluded"
    [failure] = saw["failures"]
    assert failure.startswith("Ben: client: the person at the client refused to have its model asked. ")
    assert failure.endswith('It said: "MCP error -1: User rejected sampling request" (refused)')
    assert re.match(rf"{saw['asked'] - 1} calls, .*price unknown\.", saw["cost"])
    assert saw["systems"] is True
    assert (saw["person"], saw["forms"], saw["written"]) == ("concluded", 2, 2)
