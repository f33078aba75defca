"""The official conformance suite, against our server with the suite's fixtures added, in both eras of the protocol."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.node import find_node
from tests.support.paths import NODE, ROOT
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.requirement("M1", "M4"), pytest.mark.node]

SUITE = NODE / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
EXPECTED = Path(__file__).with_name("expected_failures.yml")
SCENARIOS = {"2025-11-25": 33, "2026-07-28": 50}
"""How many scenarios there are for servers, those that are not scored included."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    database = tmp_path_factory.mktemp("conformance") / "debates.db"
    command = [sys.executable, "-m", "tests.clients.conformance.fixture_server", str(database)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as served:
        assert served.stdout is not None
        yield served.stdout.readline().strip()
        served.kill()


def list_failures(results: Path) -> dict[str, list[str]]:
    """The checks that failed, by scenario."""
    failures = {}
    for checks in sorted(results.glob("*/checks.json")):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", checks.parent.name)
        found: list[dict[str, Any]] = json.loads(checks.read_text())
        failures[scenario] = [check["id"] for check in found if check["status"] == "FAILURE"]
    return failures


def list_expected(era: str) -> set[str]:
    groups = YAML(typ="safe").load(EXPECTED.read_text())
    assert all(group["reason"] for group in groups)
    return {check for group in groups for check in group["checks"].get(era, ())}


def find_failures(address: str, era: str, results: Path) -> set[str]:
    """Run the suite. Returns the checks that failed, as scenario:check."""
    command = [find_node(NODE), str(SUITE), "server", "--url", address, "--requirements", era]
    done = subprocess.run(
        [*command, "-o", str(results)], capture_output=True, text=True, timeout=2 * PATIENCE, check=False
    )
    failures = list_failures(results)
    assert len(failures) == SCENARIOS[era], done.stdout + done.stderr
    return {f"{scenario}:{check}" for scenario, checks in failures.items() for check in checks}


@pytest.mark.parametrize("era", SCENARIOS)
def test_what_fails_of_the_conformance_suite_is_known_and_has_a_reason(
    address: str, era: str, tmp_path: Path
) -> None:
    expected = list_expected(era)
    failed = find_failures(address, era, tmp_path / "first")
    if any(check.endswith(":scenario-timeout") for check in failed):  # a busy machine, or a server that hangs
        failed = find_failures(address, era, tmp_path / "second")

    assert sorted(failed - expected) == []
    assert sorted(expected - failed) == []
