"""The manifest and the suite agree: what is built is carried by tests, and every test carries something."""

import os
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from server.optional import PURPOSES
from tests.requirements import BUILT, PARTLY, PLANNED

pytestmark = pytest.mark.requirement("M7")

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def find_marked_ids(path: Path) -> list[str]:
    """The ids in every `pytest.mark.requirement(...)` of a file."""
    marks = re.findall(r"mark\.requirement\(([^)]*)\)", path.read_text(encoding="utf-8"))
    return [name for mark in marks for name in re.findall(r'"(\w+)"', mark)]


@cache
def carried() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for folder, subfolders, names in os.walk(TESTS):
        subfolders[:] = {*subfolders} - {"node_modules", "environments"}  # programs of other hands
        for path in (Path(folder, name) for name in names if name.endswith(".py")):
            for name in find_marked_ids(path):
                found[name].add(path.name)
    return found


def test_an_id_is_listed_once() -> None:
    listed = [*BUILT, *PARTLY, *PLANNED]

    assert len(listed) == len(set(listed)) == 109


def test_what_is_built_is_carried_by_a_test() -> None:
    assert not (set(BUILT) | set(PARTLY)) - set(carried())


def test_what_is_planned_is_carried_by_none() -> None:
    assert not set(PLANNED) & set(carried())


def test_no_test_carries_an_id_that_is_none() -> None:
    assert not set(carried()) - set(BUILT) - set(PARTLY) - set(PLANNED)


@pytest.mark.needs(*PURPOSES)
def test_the_page_of_sources_names_each_id_of_theirs_once_with_files_that_are_there() -> None:
    page = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-D]\d+) \| [^|]+ \| ([^|]+) \| `([^`]+)` \|$", page, re.MULTILINE)

    assert sorted(name for name, _, _ in rows) == sorted(
        name for name in {*BUILT, *PARTLY} if name[0] in "ABCD"
    )
    for name, places, test in rows:
        assert all((ROOT / place).is_file() for place in re.findall("`([^`]+)`", places)), name
        assert name in find_marked_ids(ROOT / test), name


@pytest.mark.needs(*PURPOSES)
def test_what_has_another_shape_names_requirements_and_a_file_that_is_there() -> None:
    page = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
    _, _, table = page.partition("## What has another shape here")
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")][2:]

    assert len(rows) > 20
    for described, instead, see in rows:
        assert described.strip()
        assert instead.strip()
        *names, place = (part.strip() for part in see.split(","))
        assert names
        assert set(names) <= {*BUILT, *PARTLY}, described
        assert (ROOT / place.strip("`")).is_file(), described
