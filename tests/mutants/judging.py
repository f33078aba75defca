"""What becomes of a mutant. It is killed by a test that fails with its change, twice, and passes without it."""

import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from tests.mutants.runs import PATIENCE, Run, find_limit, make_scratch_folder, run_tests
from tests.mutants.trees import Change, copy_tree

COLLECTING_SECONDS = 0.02
"""What each test costs beside its own time."""

FIRST_SECONDS = 10.0
"""The first run of a mutant has tests of so many seconds, and each further run four times as many: most die at once."""


CONTROL_SECONDS = 10.0
"""What a test is taken to need before its first run."""


@dataclass(frozen=True)
class Job:
    """A change to judge. `seconds`: of each test in the control run, in the order in which to run them.

    There may be more of them than are to run: `found` is the number of all.
    Without a control run there are files or tests in their place, for which it has to be made first.
    """

    name: str
    change: Change
    seconds: Mapping[str, float]
    suite: list[str]
    found: int = 0
    has_control: bool = True
    patience: float = PATIENCE


@dataclass(frozen=True)
class Verdict:
    """`killer`: a test and how it ended. `tests`: how many of them there were.

    `unreliable`: those that fail without the change, too, or with it only at times.
    """

    name: str
    killer: tuple[str, str] | None = None
    tests: str = ""
    unreliable: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        if self.killer is None:
            return f"SURVIVED {self.tests}"
        test, outcome = self.killer
        return f"killed by {test}" if outcome == "failed" else f"killed by {outcome}, in {test}"


def judge(tree: Path, job: Job) -> Verdict:
    seconds, unreliable = job.seconds, []
    if not job.has_control:
        run = run_tests(
            tree, dict.fromkeys(seconds, find_limit(CONTROL_SECONDS)), None, job.suite, stop=False
        )
        seconds = {test: one for test, (outcome, one) in run.outcomes.items() if outcome == "passed"}
        unreliable = [test for test in run.outcomes if test not in seconds]
    tests = f"{len(seconds)} tests" if len(seconds) >= job.found else f"{len(seconds)} of {job.found} tests"
    for batch in split(seconds):
        killer, found = find_killer(tree, batch, job)
        unreliable += found
        if killer:
            return Verdict(job.name, killer, tests, unreliable)
    return Verdict(job.name, None, tests, unreliable)


def find_killer(tree: Path, batch: dict[str, float], job: Job) -> tuple[tuple[str, str] | None, list[str]]:
    """The first test whose failure is confirmed, and those before it whose failure is not."""
    unreliable: list[str] = []
    while batch:
        run = run_with_limits(tree, batch, job, job.change)
        if run.killer is None:
            break
        if is_confirmed(tree, run.killer, batch, job):
            return (run.killer, run.outcomes[run.killer][0]), unreliable
        unreliable.append(run.killer)
        done = run.outcomes.keys() & batch.keys()
        batch = {test: seconds for test, seconds in batch.items() if test not in done} if done else {}
    return None, unreliable


def run_with_limits(tree: Path, seconds: Mapping[str, float], job: Job, change: Change | None) -> Run:
    limits = {test: find_limit(one, job.patience) for test, one in seconds.items()}
    return run_tests(tree, limits, change, job.suite)


def is_confirmed(tree: Path, killer: str, seconds: Mapping[str, float], job: Job) -> bool:
    """Whether the test fails again by itself, and passes without the change.

    Of a file that cannot be collected, or where pytest does not start, the first test stands for all.
    """
    tests = [test for test in seconds if test == killer or test.startswith(f"{killer}::")] or [*seconds]
    one = {tests[0]: seconds[tests[0]]}
    if run_with_limits(tree, one, job, job.change).killer is None:
        return False
    run = run_with_limits(tree, one, job, None)
    return run.killer is None and any(outcome == "passed" for outcome, _ in run.outcomes.values())


def split(seconds: Mapping[str, float]) -> Iterator[dict[str, float]]:
    """Into runs, of which each takes longer than the one before it."""
    longest, total = FIRST_SECONDS, 0.0
    batch: dict[str, float] = {}
    for test, one in seconds.items():
        batch[test] = one
        total += one + COLLECTING_SECONDS
        if total >= longest:
            yield batch
            batch, total, longest = {}, 0.0, longest * 4
    if batch:
        yield batch


TREES: list[Path] = []
"""In a worker: its copy of the project."""


def prepare_worker(project: Path, folder: Path) -> None:
    TREES.append(copy_tree(project, folder / str(os.getpid())))


def judge_in_worker(job: Job) -> Verdict:
    return judge(TREES[0], job)


def judge_all(project: Path, jobs: list[Job], workers: int) -> Iterator[Verdict]:
    """In processes that work at the same time, each in its own copy of the project."""
    folder = make_scratch_folder()
    try:
        with ProcessPoolExecutor(workers, get_context("fork"), prepare_worker, (project, folder)) as pool:
            yield from pool.map(judge_in_worker, jobs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
