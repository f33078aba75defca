"""A client that is not the Python SDK: the TypeScript one, over stdio."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from server.tools.debates import TOOLS
from tests.support.node import find_node
from tests.support.paths import NODE

pytestmark = [pytest.mark.requirement("M1", "M4"), pytest.mark.node, pytest.mark.slow]


def test_a_typescript_client_plays_a_whole_debate(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "COUNTERPOINT_DB": str(tmp_path / "debates.db"),
        "COUNTERPOINT_MODELS": "scripted?delay=0.02",
    }
    done = subprocess.run(
        [find_node(NODE), "client.mjs", sys.executable, "-m", "counterpoint"],
        cwd=NODE,
        env={**environment, "PYTHONPATH": str(NODE.parent.parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    saw = json.loads(done.stdout)

    assert saw["tools"] == [*TOOLS]
    assert saw["rounds"] == ["opening", "rebuttal", "verdict"]
    assert saw["reports"] > 0
    assert saw["outcome"] == "leaning"
    assert saw["same"] is True
    assert len(saw["resources"]) == 2
    assert saw["found"] == 1
    assert "There is no debate 'nobody'" in saw["wrong"]
