"""What the plugin of the two suites selects and refuses, tried on a small suite of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

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
    while time.process_time() - started_at < {seconds}: sum(range(1000))
"""
DEAR_ONCE = """
import functools, time
@functools.cache
def prepare():
    started_at = time.process_time()
    while time.process_time() - started_at < 3: sum(range(1000))
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


def run(folder: Path, test: str, *arguments: str, **environ: str) -> tuple[int, str]:
    (folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    (folder / "test_it.py").write_text(test, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        env={**without_coverage(os.environ), "PYTHONPATH": str(ROOT), "CI": "", **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout


def test_a_marked_test_runs_with_m_full_or_where_it_is_named(tmp_path: Path) -> None:
    marked = f"import pytest\n{CHEAP}@pytest.mark.full\ndef test_marked(): pass\n"

    assert "1 passed, 1 deselected" in run(tmp_path, marked)[1]
    assert "2 passed" in run(tmp_path, marked, "-m", "full")[1]
    assert "2 passed" in run(tmp_path, marked, "test_it.py")[1]


def test_what_ci_runs_after_the_fast_suite_is_what_is_marked_and_every_search(tmp_path: Path) -> None:
    marked = "@pytest.mark.full\ndef test_marked(): pass\n"
    search = "@given(integers())\ndef test_search(number): pass\n"
    imports = "import pytest\nfrom hypothesis import given\nfrom hypothesis.strategies import integers\n"
    told = run(tmp_path, f"{imports}{CHEAP}{marked}{search}", "-v", "-m", REST)[1]

    assert ("test_marked PASSED" in told, "test_search PASSED" in told) == (True, True)
    assert ("2 passed, 1 deselected" in told, "--hypothesis-seed=" in told) == (True, True)
    assert f"-m '{REST}'" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_a_dear_test_that_is_not_marked_fails(tmp_path: Path) -> None:
    dear = DEAR.format(seconds=3)
    code, told = run(tmp_path, dear, "--cpu-limit=0.3")

    assert (code, "test_dear costs " in told) == (1, True)
    assert (
        run(
            tmp_path, "import pytest\npytestmark = pytest.mark.full" + DEAR.format(seconds=1.5), "-m", "full"
        )[0]
        == 0
    )
    assert run(tmp_path, DEAR.format(seconds=1.5), "--cpu-limit=0")[0] == 0


def test_a_test_that_only_came_first_is_not_dear(tmp_path: Path) -> None:
    code, told = run(tmp_path, DEAR_ONCE, "--cpu-limit=0.3", "-v")

    assert (code, told.count("test_dear_once PASSED"), "1 passed" in told) == (0, 1, True)


@pytest.mark.parametrize(("reason", "code"), [("nobody installed it", 1), ("nothing can be mounted here", 0)])
def test_a_skip_fails_ci_unless_its_reason_is_listed(tmp_path: Path, reason: str, code: int) -> None:
    assert run(tmp_path, CHEAP + SKIPPED.format(reason=reason))[0] == 0
    assert run(tmp_path, CHEAP + SKIPPED.format(reason=reason), CI="true")[0] == code
    assert run(tmp_path, CHEAP + SKIPPED.format(reason=reason), "-n", "1", CI="true")[0] == code


def test_a_search_of_the_full_suite_prints_its_seed(tmp_path: Path) -> None:
    assert "--hypothesis-seed=" in run(tmp_path, CHEAP, "-m", "full")[1]
    assert "--hypothesis-seed=7" in run(tmp_path, CHEAP, "-m", "full", "--hypothesis-seed=7")[1]
    assert "--hypothesis-seed" not in run(tmp_path, CHEAP)[1]
