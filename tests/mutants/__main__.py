"""Mutants of the core, the engine and the storage, and which tests kill them.

`--number` random ones come from a seed, which is printed; `--safety` takes the lines that safety hangs on.
"""

import argparse
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutants.choosing import choose_tests
from tests.mutants.control import Control, ControlError, find_control, read_mutated_folders, select_suite
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.judging import Job, Verdict, judge_all
from tests.mutants.runs import LIBRARIES, PATIENCE, import_libraries
from tests.mutants.safety_lines import SAFETY_LINES
from tests.mutants.sites import choose_mutants, find_sites

ROOT = Path(__file__).parents[2]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--number", type=int, default=30, help="how many mutants")
    parser.add_argument("--seed", type=int, help="of their choice; without it one is drawn")
    parser.add_argument("--fast", action="store_true", help="with the fast suite, in place of all tests")
    parser.add_argument("--safety", action="store_true", help="break the safety lines instead")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--at-least", type=float, metavar="PERCENT", help="fail if fewer are killed")
    return parser.parse_args(arguments)


def main(
    arguments: Sequence[str],
    project: Path = ROOT,
    libraries: Iterable[str] = LIBRARIES,
    patience: float = PATIENCE,
) -> int:
    options = parse_arguments(arguments)
    for name in [name for name in os.environ if name.startswith(("PYTEST_", "COVERAGE_"))]:
        del os.environ[name]  # of a run that this program is started in
    import_libraries(libraries)
    for name in [
        name for name in sys.modules if name.partition(".")[0] in ("server", "storage", "counterpoint")
    ]:
        del sys.modules[
            name
        ]  # the suites asked which packages there are; tests must import those of a mutant
    if options.safety:
        return break_safety_lines(project, options.workers)
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    say(f"seed {seed}")
    try:
        killed = make_random_mutants(project, options, seed, patience)
    except ControlError as error:
        say(f"control run failed: {error}\nkilled 0 of {options.number}")
        return 1
    return int(options.at_least is not None and killed * 100 < options.at_least * options.number)


def make_random_mutants(project: Path, options: argparse.Namespace, seed: int, patience: float) -> int:
    """Returns how many were killed. Equivalent ones are named, and others are made in their place."""
    started_at = time.monotonic()
    sites = find_sites(project, read_mutated_folders(project))
    mutants, equivalent = choose_mutants(project, sites, options.number, seed, EQUIVALENT)
    say(f"{len(mutants)} mutants of {len(sites)} places")
    for mutant in equivalent:
        say(f"left out: {mutant}\n    equivalent: {EQUIVALENT[mutant.key]}")
    log = Path(tempfile.gettempdir(), "mutants-control.log")
    say(f"control run, unless it is kept from before: its progress is in {log}")
    control = find_control(project, fast=options.fast, log=log)
    say_control(control)

    files = sorted({site.file for site in sites})
    suite = select_suite(fast=options.fast)
    jobs = []
    for mutant in mutants:
        tests = choose_tests(project, control, mutant.site, files)
        jobs.append(Job(str(mutant), mutant.change, tests.seconds, suite, tests.found, patience=patience))
    survivors = []
    for number, verdict in enumerate(judge_all(project, jobs, options.workers), 1):
        say(f"[{number}/{len(mutants)}] {verdict.name}")
        say_verdict(verdict)
        survivors += [verdict.name] if verdict.killer is None else []
    say(f"survived {len(survivors)}, equivalent {len(equivalent)}, in {time.monotonic() - started_at:.0f} s")
    for name in survivors:
        say(f"    {name}")
    killed = len(mutants) - len(survivors)
    say(f"killed {killed} of {len(mutants)}")
    return killed


def say_control(control: Control) -> None:
    say(f"control run: {len(control.seconds)} tests passed, {len(control.left_out)} are left out")
    for test, outcome in control.left_out.items():
        say(f"    {outcome}: {test}")


def say_verdict(verdict: Verdict) -> None:
    say(f"    {verdict}")
    for test in verdict.unreliable:
        say(f"    not counted, since its failures do not depend on the change: {test}")


def break_safety_lines(project: Path, workers: int) -> int:
    changes = {name: line.make_change(project) for name, line in SAFETY_LINES.items()}
    jobs = [
        Job(name, change, {SAFETY_LINES[name].tests: 0.0}, select_suite(fast=False), has_control=False)
        for name, change in changes.items()
        if change
    ]
    verdicts = judge_all(project, jobs, workers)
    killed = 0
    for name, change in changes.items():
        say(f"{name}: {SAFETY_LINES[name].file}")
        if change is None:
            say("    the line is not there, or more than once")
            continue
        verdict = next(verdicts)
        say_verdict(verdict)
        killed += verdict.killer is not None
    say(f"killed {killed} of {len(changes)}")
    return int(killed < len(changes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
