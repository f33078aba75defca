"""What the plugin of the two suites selects and refuses, tried on a small suite of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Timer

import pytest

from tests.support.paths import ROOT
from tests.support.patience import PATIENCE
from tests.support.suites import REST

pytestmark = [pytest.mark.requirement("N38"), pytest.mark.full]

SETTINGS = """
[pytest]
testpaths = .
markers = full: of the full suite
addopts = -p tests.support.suites -p no:cacheprovider
"""
CHEAP = "def test_cheap(): pass\n"
DEAR = """
import time
def test_dear():
    started_at = time.process_time()
    while time.process_time() - started_at < 1: sum(range(1000))
"""
LIMIT = "--cpu-limit=0.1"
"""Which the dear ones exceed on a machine that is ten times slower, too."""
DEAR_ONCE = """
import functools, time
@functools.cache
def prepare():
    started_at = time.process_time()
    while time.process_time() - started_at < 1: sum(range(1000))
def test_dear_once(): prepare()
"""
SKIPPED = """
import pytest
@pytest.mark.skipif(True, reason={reason!r})
def test_skipped(): pass
"""


def without_coverage(environ: Mapping[str, str]) -> dict[str, str]:
    """Tests cost more under coverage, so that they are not measured then."""
    return {name: value for name, value in environ.items() if not name.startswith("COVERAGE_")}


PROGRAM = """
import json, os, sys
import hypothesis.strategies, pytest, tests.support.suites

for line in sys.stdin:
    order = json.loads(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.chdir(order["folder"])
    os.environ.update(order["environ"])
    os.dup2(os.open("told", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    code = pytest.main(order["arguments"])
    sys.stdout.flush()
    os._exit(code)
"""
"""Forks for each run of pytest, which it has imported with the plugin: a start takes more than a second."""

Run = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def forking() -> Iterator[subprocess.Popen[str]]:
    environ = {**without_coverage(os.environ), "PYTHONPATH": str(ROOT), "CI": ""}
    command = [sys.executable, "-c", PROGRAM]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environ, stdin=pipe, stdout=pipe, text=True) as process:
        yield process


@pytest.fixture
def run(forking: subprocess.Popen[str], tmp_path: Path) -> Run:
    """Runs a file of tests; returns the exit code, and what was printed."""

    def run_pytest(test: str, *arguments: str, **environ: str) -> tuple[int, str]:
        (tmp_path / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
        (tmp_path / "test_it.py").write_text(test, encoding="utf-8")
        assert forking.stdin
        assert forking.stdout
        order = {"folder": str(tmp_path), "arguments": arguments, "environ": environ}
        patience = Timer(PATIENCE, forking.kill)
        patience.start()
        print(json.dumps(order), file=forking.stdin, flush=True)
        code = int(forking.stdout.readline())
        patience.cancel()
        return code, (tmp_path / "told").read_text(encoding="utf-8")

    return run_pytest


def test_a_marked_test_runs_with_m_full_or_where_it_is_named(run: Run) -> None:
    marked = f"import pytest\n{CHEAP}@pytest.mark.full\ndef test_marked(): pass\n"

    assert "1 passed, 1 deselected" in run(marked)[1]
    assert "2 passed" in run(marked, "-m", "full")[1]
    assert "2 passed" in run(marked, "test_it.py")[1]


def test_what_ci_runs_after_the_fast_suite_is_what_is_marked_and_every_search(run: Run) -> None:
    marked = "@pytest.mark.full\ndef test_marked(): pass\n"
    search = "@given(integers())\ndef test_search(number): pass\n"
    imports = "import pytest\nfrom hypothesis import given\nfrom hypothesis.strategies import integers\n"
    told = run(f"{imports}{CHEAP}{marked}{search}", "-v", "-m", REST)[1]

    assert ("test_marked PASSED" in told, "test_search PASSED" in told) == (True, True)
    assert ("2 passed, 1 deselected" in told, "--hypothesis-seed=" in told) == (True, True)
    assert f"-m '{REST}'" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_a_dear_test_that_is_not_marked_fails(run: Run) -> None:
    code, told = run(DEAR, LIMIT)

    assert (code, "test_dear costs " in told) == (1, True)
    assert run("import pytest\npytestmark = pytest.mark.full" + DEAR, "test_it.py", LIMIT)[0] == 0
    assert run(DEAR, "--cpu-limit=0")[0] == 0


def test_a_test_that_only_came_first_is_not_dear(run: Run) -> None:
    code, told = run(DEAR_ONCE, LIMIT, "-v")

    assert (code, told.count("test_dear_once PASSED"), "1 passed" in told) == (0, 1, True)


def test_a_skip_fails_ci_unless_its_reason_is_listed(run: Run) -> None:
    unlisted, listed = (
        CHEAP + SKIPPED.format(reason=reason)
        for reason in ("nobody installed it", "nothing can be mounted here")
    )
    assert run(unlisted)[0] == 0
    assert run(unlisted, CI="true")[0] == run(unlisted, "-n", "1", CI="true")[0] == 1
    assert run(listed, CI="true")[0] == 0


def test_a_search_of_the_full_suite_prints_its_seed(run: Run) -> None:
    assert "--hypothesis-seed=" in run(CHEAP, "-m", "full")[1]
    assert "--hypothesis-seed=7" in run(CHEAP, "-m", "full", "--hypothesis-seed=7")[1]
    assert "--hypothesis-seed" not in run(CHEAP)[1]
