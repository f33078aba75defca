"""The program without packages that an installation may lack: it runs, and says what is missing when that is asked for.

The tests run a copy of the code in which they were deleted.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from server.optional import PURPOSES
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE, START_PATIENCE
from tests.support.processes.served import COMMAND, Start
from tests.support.suites import TESTS, find_needed_packages, is_in_full_folder

pytestmark = [pytest.mark.requirement("M7"), pytest.mark.full, pytest.mark.usefixtures("real_starts")]

CODE = ("counterpoint", "server", "storage")

ASKED: dict[str, tuple[list[str], dict[str, str]]] = {
    "server.access": (["token", "list"], {}),
    "server.evaluation": (["evaluate", "questions.jsonl"], {}),
    "server.hooks": (["list"], {"COUNTERPOINT_HOOKS": "hooks.yaml"}),
    "server.http_server": (["serve", "--http", "127.0.0.1:0"], {}),
    "server.telemetry": (["list"], {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}),
    "server.upkeep": (["db", "check"], {}),
    "storage.postgres": (["list"], {"COUNTERPOINT_DB": "postgresql://127.0.0.1:9/nobody"}),
}
"""What asks for each package: a command line, and variables."""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def bare_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of our code without these packages: nothing imports one of them by itself, so that all may go at once."""
    folder = tmp_path_factory.mktemp("copy")
    for name in CODE:  # with what is compiled, which is valid for the times of the copy
        shutil.copytree(ROOT / name, folder / name, symlinks=True)
    for package in PURPOSES:
        shutil.rmtree(folder.joinpath(*package.split(".")))
    return folder


@pytest.fixture(autouse=True)
def in_bare_copy(bare_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bare_copy)


@pytest.fixture
def run(database: str) -> Run:
    """Runs a command of the terminal in the working directory."""

    def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            env=os.environ | {"COUNTERPOINT_DB": database} | environ,
            capture_output=True,
            text=True,
            timeout=START_PATIENCE + PATIENCE,
            check=False,
        )

    return run


def test_it_debates_over_stdio_without_them(serve: Start) -> None:
    served = serve()
    served.hello()
    given = {"question": "Tea?", "models": ["scripted"], "options": {"framing": False}, "run": True}
    assert served.call("start_debate", **given)["status"] == "concluded"
    assert served.end() == (0, "")


def test_it_debates_in_the_terminal_without_them_and_names_what_is_asked_for(run: Run) -> None:
    debated = run("debate", "Coffee?", "--no-framing", "--model", "scripted")
    assert (debated.returncode, debated.stderr.count("missing")) == (0, 0)
    assert "How sure: " in debated.stdout

    Path("questions.jsonl").touch()
    for package, (arguments, environ) in ASKED.items():
        asked = run(*arguments, **environ)
        told = f"This installation has no {PURPOSES[package]}: it was made without the package {package}."
        assert told in " ".join(asked.stderr.split())
        assert asked.returncode == (0 if package == "server.telemetry" else 1)  # which is a warning


def test_the_server_without_upkeep_does_not_keep_debates_longer_than_it_was_told(serve: Start) -> None:
    served = serve(COUNTERPOINT_RETENTION_DAYS="30")
    code, told = served.end()
    assert code == 1
    assert "no upkeep of the database" in told


OF_PACKAGES = {
    "tests/engine/crashes/test_format_kills.py": {"server.upkeep"},
    "tests/engine/failures/test_advice_failures.py": {"server.upkeep"},
    "tests/engine/test_adoption.py": {"server.upkeep"},
    "tests/engine/test_values.py": {"server.upkeep"},
    "tests/test_answer_benchmark.py": {"server.evaluation"},
    "tests/test_deployment.py": {"server.access", "server.http_server"},
    "tests/test_docs.py": {"server.hooks"},
}
"""Tests of the fast suite that are about such packages, outside of their folders: left out where those are missing."""


def test_all_other_tests_of_the_fast_suite_are_imported_without_them() -> None:
    folders = [TESTS / package.rpartition(".")[2] for package in PURPOSES]
    paths = [path for path in TESTS.rglob("*.py") if path.name.startswith(("test_", "conftest"))]
    needed = {
        str(path.relative_to(ROOT)): found
        for path in [
            *paths,
            *(TESTS / "support" / f"{name}.py" for name in ("servers", "postgres", "suites")),
        ]
        if not is_in_full_folder(path)
        and not any(path.is_relative_to(folder) for folder in folders)
        and (found := find_needed_packages(path))
    }
    assert needed == OF_PACKAGES
