"""Which tests a mutant meets, and in which order."""

import math
import re
from pathlib import Path

from tests.mutants.control import Control
from tests.mutants.sites import Site

MOST_SECONDS = 600.0
"""Of tests for one mutant: a line that all tests execute would otherwise take as long as all of them."""


def choose_tests(project: Path, control: Control, site: Site, files: list[str]) -> dict[str, float]:
    """Those that execute the line, then those beside them, which may share what was set up once for them all."""
    first = find_tests(project, control, site, files)
    test_files = {test.split("::")[0] for test in first}
    others = {test for test in control.seconds if test.split("::")[0] in test_files} - first
    room = next(part for part in Path(site.file).parts if part != "server")

    def rank(test: str) -> tuple[bool, bool, int, str]:
        size = int(math.log2(max(control.seconds[test], 0.01)))
        return test in others, not test.startswith(f"tests/{room}/"), size, test

    chosen: dict[str, float] = {}
    for test in sorted(first | others, key=rank):
        if sum(chosen.values()) > MOST_SECONDS:
            break
        chosen[test] = control.seconds[test]
    return chosen


def find_tests(project: Path, control: Control, site: Site, files: list[str]) -> set[str]:
    """Those of its line, or of the statement around it; on import, of lines that name what it belongs to."""
    by_line = control.find_tests_by_line(site.file)
    for lines in site.lines:
        if tests := {test for line in lines for test in by_line.get(line, ())}:
            return tests
    if not site.names:
        return set()
    named = re.compile(rf"\b({'|'.join(site.names)})\b")
    tests = set()
    for file in files:
        texts = (project / file).read_text(encoding="utf-8").splitlines()
        lines_with_name = [number for number, text in enumerate(texts, 1) if named.search(text)]
        if lines_with_name:
            found = control.find_tests_by_line(file)
            tests |= {test for number in lines_with_name for test in found.get(number, ())}
    return tests or {test for found in by_line.values() for test in found}
