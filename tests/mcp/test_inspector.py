"""The MCP Inspector finds nothing in our tools that some client or model would not understand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from server.tools.debates import TOOLS
from tests.support.node import find_node
from tests.support.paths import NODE, ROOT
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.requirement("N17"), pytest.mark.node]

INSPECTOR = NODE / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def test_the_inspector_warns_of_no_schema(tmp_path: Path) -> None:
    node = find_node(NODE)
    listing = ["--method", "tools/list", "--format", "json", "--strict"]
    done = subprocess.run(
        [node, INSPECTOR, "--cli", sys.executable, "-m", "counterpoint", "serve", *listing],
        env={
            **os.environ,
            "PATH": f"{Path(node).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "MCP_INSPECTOR_SECRET_STORE": "memory",
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    tools = json.loads(done.stdout)["result"]["tools"]
    assert [tool["name"] for tool in tools] == [*TOOLS]
