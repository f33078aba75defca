"""Runs of tests in a forked process: the libraries are imported before, and our own code after, from a copy."""

import atexit
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.mutants.selection import Selection
from tests.mutants.trees import Change, apply_change

LIBRARIES = (
    "aiohttp", "aiosqlite", "anyio.pytest_plugin", "asyncpg", "click.testing",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "httpx2", "hypothesis", "jsonschema_rs", "jwt", "mcp", "mcp.server",
    "platformdirs", "pydantic", "pytest_asyncio.plugin", "rfc8785", "rich.console", "ruamel.yaml",
    "sse_starlette", "starlette.applications", "tomlkit", "uvicorn", "xdist.plugin",
)  # fmt: skip
"""What the tests import of others, but for what few of them do: litellm alone takes seconds."""

MEMORY = Path("/dev/shm")  # noqa: S108  (a folder of our own is made in it)
TIMES_SLOWER = 10
PATIENCE = 15.0
"""Seconds that a test may take beside `TIMES_SLOWER` times what it took without a mutation, on an idle machine."""

LONGEST = 600.0
"""Seconds for what is not a test: collecting them, and leaving."""

COUNTED_AS_FAILED = ("failed", "time", "crash")


@dataclass(frozen=True)
class Run:
    """The outcome and the seconds of each test that was begun; of one that was cut off, "time" or "crash"."""

    outcomes: dict[str, tuple[str, float]]
    output: str

    @property
    def killer(self) -> str | None:
        """The test, or the file of tests, that failed."""
        return next(
            (test for test, (outcome, _) in self.outcomes.items() if outcome in COUNTED_AS_FAILED), None
        )


def import_libraries(names: Iterable[str]) -> None:
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)


def make_scratch_folder() -> Path:
    """In memory where there is one, with a short path for the sockets that lie in it, and open to PostgreSQL's user."""
    parent = MEMORY if os.access(MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="mut", dir=parent))
    folder.chmod(0o755)
    return folder


def find_limit(seconds: float, patience: float = PATIENCE) -> float:
    """What a test gets that took so long in the control run: more on a machine with much to do."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return (patience + TIMES_SLOWER * seconds) * max(load, 1.0)


def run_tests(
    tree: Path, limits: Mapping[str, float], change: Change | None, suite: list[str], *, stop: bool = True
) -> Run:
    """Run tests in a copy of the project with a change. `limits`: the seconds that each may take."""
    folder = make_scratch_folder()
    notes, output = folder / "notes", folder / "output"
    selection = Selection(dict(limits), LONGEST, notes)
    arguments = [*dict.fromkeys(test.split("::")[0] for test in limits), *suite, *(["-x"] if stop else [])]
    child = get_context("fork").Process(target=run_forked, args=(tree, folder, arguments, selection))
    try:
        with apply_change(tree, change):
            child.start()
            try:
                child.join()
            finally:
                end_group(child.pid)
                child.join()
        lines = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
        text = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Run(read_outcomes([json.loads(line) for line in lines], child.exitcode or 0), text)


def read_outcomes(notes: list[dict[str, str | float]], exit_code: int) -> dict[str, tuple[str, float]]:
    outcomes: dict[str, tuple[str, float]] = {}
    worst_last = ("started", "passed", "skipped", "failed")
    for note in notes:
        test, outcome = str(note["test"]), str(note["outcome"])
        known, seconds = outcomes.get(test, ("started", 0.0))
        outcomes[test] = (max(known, outcome, key=worst_last.index), seconds + float(note["seconds"]))
    is_ended = exit_code in (
        pytest.ExitCode.OK,
        pytest.ExitCode.TESTS_FAILED,
        pytest.ExitCode.NO_TESTS_COLLECTED,
    )
    if not is_ended and not any(outcome == "failed" for outcome, _ in outcomes.values()):
        last = list(outcomes)[-1] if outcomes else "the start of pytest"
        outcomes[last] = ("time" if exit_code == -signal.SIGALRM else "crash", 0.0)
    return outcomes


def end_group(pid: int | None) -> None:
    """End what a run has left: programs that its tests started, and itself if this process is being stopped."""
    with suppress(ProcessLookupError, PermissionError):
        if pid:
            os.killpg(pid, signal.SIGKILL)


def run_forked(tree: Path, folder: Path, arguments: list[str], selection: Selection) -> None:
    """In the forked process. Its exit handlers, which stop a PostgreSQL server, would not be called by themselves."""
    os.setsid()
    atexit._clear()  # what the parent process leaves is not ours
    signal.setitimer(signal.ITIMER_REAL, selection.longest)
    with (folder / "output").open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    exit_code = 3
    try:
        enter_tree(tree, folder)
        options = [
            "-q",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]
        exit_code = int(pytest.main([*options, *arguments], plugins=[selection]))
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
    sys.exit(exit_code)


def enter_tree(tree: Path, folder: Path) -> None:
    """Import from the copy alone, and have folders for temporary files that no other run uses."""
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]  # this program: nothing else of ours is imported yet
    here = str(Path.cwd())
    os.chdir(tree)
    sys.path[:] = [str(tree), *(path for path in sys.path if path not in ("", here))]
    importlib.invalidate_caches()
    os.environ |= {"PYTHONPATH": str(tree), "TMPDIR": str(folder), "PYTEST_DEBUG_TEMPROOT": str(folder)}
    tempfile.tempdir = None  # it is asked for anew
