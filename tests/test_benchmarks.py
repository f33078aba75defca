"""Every row of the benchmarks runs: in a smoke run, with the least of everything."""

import math
import os

import anyio
import pytest

from benchmarks import spending
from benchmarks.answers.questions import load_questions
from benchmarks.rows import ROWS, run_row
from benchmarks.table import SMOKE

pytestmark = [pytest.mark.full, pytest.mark.requirement("N8")]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_benchmarks_runs(name: str) -> None:
    lines = run_row(name, environ={**os.environ, SMOKE: "1"})

    assert not isinstance(lines, str), lines
    assert all(math.isfinite(line.value) for line in lines)


@pytest.mark.requirement("N10")
def test_formats_are_measured_by_what_they_read_and_write(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALPHA_API_BASE", "BETA_API_BASE"):
        monkeypatch.setenv(name, "")

    rows = [row.split(" | ") for row in anyio.run(spending.list_rows, load_questions(["h09"]))]

    *advice, advocates = (int(row[1]) for row in rows)
    assert advice == [3, 5, 7, 8, 12]
    assert advocates > len(rows)
    assert all(0 < int(row[4].rstrip("%")) < 100 for row in rows)
