"""The control run: all tests once without a mutation, and which of them executes which line.

What it found is kept in a folder that is named by the content of all files, so that it is made once.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from coverage import CoverageData

from tests.mutants.recorded_contexts import OUTCOMES_FILE
from tests.mutants.trees import LEFT_OUT, copy_tree
from tests.support.suites import EVERYTHING, FAST

CACHE = ".mutants"
PLUGIN = Path(__file__).with_name("recorded_contexts.py")
NOT_HASHED = ("tests/mutants", "tests/test_mutants.py")
"""No result depends on them: this program and its tests."""

CONFIGURATION = """
[run]
core = ctrace
parallel = true
data_file = {data}
source = {sources}
context = ${{PYTEST_CURRENT_TEST-}}
"""
"""Programs that tests start take the test from the variable that pytest sets; the plugin sets it for the rest."""


STAGE = re.compile(r" \((setup|call|teardown)\)$")
"""What pytest puts behind a test in its variable: so the contexts of programs are told from those of tests."""


class ControlError(Exception):
    """The tests do not run without a mutation."""


def select_suite(*, fast: bool) -> list[str]:
    """Pytest's arguments for the fast suite, or for all tests."""
    return ["-m", FAST if fast else EVERYTHING, "--cpu-limit=0"]  # a mutant that is slow is not wrong


def read_mutated_folders(project: Path) -> list[str]:
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    return list(settings["tool"]["mutants"]["folders"])


@dataclass(frozen=True)
class ExecutedLines:
    """Of a file: the tests that execute each line, in their own process or in programs that they start.

    `imported`: the lines that are executed outside of all tests.
    """

    tests: dict[int, set[str]] = field(default_factory=dict)
    programs: dict[int, set[str]] = field(default_factory=dict)
    imported: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Control:
    """What the control run found: the outcome and the seconds of each test, and the lines that it executes."""

    folder: Path
    tree: str  # where the copy was that it ran in
    outcomes: dict[str, tuple[str, float]]
    known_lines: dict[str, ExecutedLines] = field(default_factory=dict)  # of files, as far as read

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Of the tests that passed."""
        return {test: seconds for test, (outcome, seconds) in self.outcomes.items() if outcome == "passed"}

    @cached_property
    def left_out(self) -> dict[str, str]:
        return {test: outcome for test, (outcome, _) in self.outcomes.items() if outcome != "passed"}

    def find_lines(self, file: str) -> ExecutedLines:
        """Of the tests that passed. An import belongs to no test, but to each that starts a program."""
        if file not in self.known_lines:
            data = CoverageData(str(self.folder / "coverage"))
            data.read()
            lines = ExecutedLines()
            for line, contexts in data.contexts_by_lineno(f"{self.tree}/{file}").items():
                by_stage = {context: STAGE.sub("", context) for context in contexts}
                programs = {test for context, test in by_stage.items() if test != context}
                lines.tests[line] = set(contexts) & self.seconds.keys()
                lines.programs[line] = programs & self.seconds.keys()
                if "" in contexts:
                    lines.imported.add(line)
            self.known_lines[file] = lines
        return self.known_lines[file]


def hash_project(project: Path) -> str:
    """A hash of all that a run of the tests reads, which this package is no part of."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(project):
        here = Path(folder)
        left_out = LEFT_OUT(folder, [*folders, *files]) | {"__pycache__"}
        left_out |= {Path(path).name for path in NOT_HASHED if (project / path).parent == here}
        folders[:] = sorted(set(folders) - left_out)
        for name in sorted(set(files) - left_out):
            digest.update(f"{(here / name).relative_to(project)}\0".encode())
            digest.update(hashlib.sha256((here / name).read_bytes()).digest())
    return digest.hexdigest()[:16]


def find_control(project: Path, *, fast: bool, log: Path) -> Control:
    """The kept one, or a new one: that takes as long as the tests under coverage do."""
    kept = project / CACHE / f"{hash_project(project)}-{'fast' if fast else 'full'}"
    if not kept.is_dir():
        with tempfile.TemporaryDirectory(prefix="control-") as scratch:
            run_control(project, Path(scratch), fast=fast, log=log)

            kept.parent.mkdir(exist_ok=True)
            shutil.copytree(Path(scratch, "found"), kept)
    found = json.loads((kept / "outcomes.json").read_text(encoding="utf-8"))
    tree = (kept / "tree").read_text(encoding="utf-8")
    return Control(kept, tree, {test: (outcome, seconds) for test, (outcome, seconds) in found.items()})


def run_control(project: Path, scratch: Path, *, fast: bool, log: Path) -> None:
    """Leave in `scratch/found` what `Control` reads."""
    found, data = scratch / "found", scratch / "data"
    found.mkdir()
    data.mkdir()
    tree = copy_tree(project, scratch.resolve() / "tree")
    shutil.copy(PLUGIN, scratch)
    configuration = scratch / "coveragerc"
    sources = ",".join(str(tree / folder) for folder in read_mutated_folders(project))
    configuration.write_text(CONFIGURATION.format(data=data / "coverage", sources=sources), encoding="utf-8")
    environ = {
        **os.environ,
        "COVERAGE_PROCESS_START": str(configuration),
        "PYTHONPATH": os.pathsep.join([str(tree), str(scratch)]),
        OUTCOMES_FILE: str(found / "outcomes.json"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "--tb=short"]
    command += ["-p", PLUGIN.stem, "-p", "no:cacheprovider", *select_suite(fast=fast)]
    with log.open("wb") as output:
        done = subprocess.run(command, cwd=tree, env=environ, stdout=output, stderr=output, check=False)
    if done.returncode not in (0, 1):  # a test that fails is left out
        raise ControlError(f"pytest ended with {done.returncode}: {log.read_text(errors='replace')[-2000:]}")
    (found / "tree").write_text(str(tree), encoding="utf-8")
    combine = [sys.executable, "-m", "coverage", "combine", "--quiet", f"--rcfile={configuration}"]
    combine += [f"--data-file={found / 'coverage'}", str(data)]
    subprocess.run(combine, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
