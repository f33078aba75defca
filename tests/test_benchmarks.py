"""Every row of the benchmarks runs: in a smoke run, with the least of everything."""

import math
import os

import pytest

from benchmarks.rows import ROWS, run_row
from benchmarks.table import SMOKE

pytestmark = [pytest.mark.full, pytest.mark.requirement("N8")]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_benchmarks_runs(name: str) -> None:
    lines = run_row(name, environ={**os.environ, SMOKE: "1"})

    assert not isinstance(lines, str), lines
    assert all(math.isfinite(line.value) for line in lines)
