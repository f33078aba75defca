"""Which tests a mutant meets, and in which order."""

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.control import Control
from tests.mutants.sites import Site

MOST_SECONDS = 600.0
"""Of tests for one mutant: a line that all tests execute would otherwise take as long as all of them."""


@dataclass(frozen=True)
class Choice:
    """Tests with their seconds in the control run, in the order in which to run them, of `found` altogether."""

    seconds: dict[str, float]
    found: int


def choose_tests(project: Path, control: Control, site: Site, files: list[str]) -> Choice:
    """The tests of the line itself come first, then those that may notice it some other way."""
    first = find_tests(project, control, site, files)
    others = find_other_tests(control, site, first) - first
    ordered = [*sort_by_room(control, site, first), *take_turns(control, others)]

    chosen: dict[str, float] = {}
    total = 0.0
    for test in ordered:
        chosen[test] = control.seconds[test]
        total += chosen[test]
        if total > MOST_SECONDS:
            break
    return Choice(chosen, len(ordered))


def sort_by_room(control: Control, site: Site, tests: set[str]) -> list[str]:
    """Those of the folder's own tests first, and quick ones before slow ones, but those of a file together."""
    room = next(part for part in Path(site.file).parts if part != "server")

    def rank(test: str) -> tuple[bool, int, str]:
        size = int(math.log2(max(control.seconds[test], 0.01)))
        return not test.startswith(f"tests/{room}/"), size, test

    return sorted(tests, key=rank)


def take_turns(control: Control, tests: set[str]) -> list[str]:
    """Each file has had the same time at any moment, so that many kinds of tests have had a look soon."""
    spent: defaultdict[str, float] = defaultdict(float)
    ends: dict[str, float] = {}
    for test in sorted(tests, key=lambda test: (control.seconds[test], test)):
        file = test.split("::")[0]
        spent[file] += control.seconds[test]
        ends[test] = spent[file]
    return sorted(ends, key=lambda test: (ends[test], test))


def find_tests(project: Path, control: Control, site: Site, files: list[str]) -> set[str]:
    """Those of the line, or of the statement around it; on import, of lines that name what it belongs to."""
    by_line = control.find_lines(site.file).tests
    for lines in site.lines:
        if tests := {test for line in lines for test in by_line.get(line, ())}:
            return tests
    return find_tests_of_names(project, control, site.names, files) if site.names else set()


def find_tests_of_names(
    project: Path, control: Control, names: tuple[str, ...], files: list[str]
) -> set[str]:
    named = re.compile(rf"\b({'|'.join(names)})\b")
    return {
        test
        for file in files
        for number, text in enumerate((project / file).read_text(encoding="utf-8").splitlines(), 1)
        if named.search(text)
        for test in control.find_lines(file).tests.get(number, ())
    }


def find_other_tests(control: Control, site: Site, first: set[str]) -> set[str]:
    """Those beside the first ones, which may share what was set up once for all, and those of programs.

    What is executed on import, all tests execute.
    """
    lines = control.find_lines(site.file)
    own_lines = {line for line in site.lines[0] if not lines.tests.get(line)}
    if site.names or own_lines & lines.imported:
        return set(control.seconds)
    test_files = {test.split("::")[0] for test in first}
    tests = {test for test in control.seconds if test.split("::")[0] in test_files}
    return tests | {test for line in site.lines[0] for test in lines.programs.get(line, ())}
