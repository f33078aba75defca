"""Every row of the benchmarks runs: in a smoke run, with the least of everything."""

import math
import os

import anyio
import pytest

from benchmarks import spending
from benchmarks.rows import ROWS, run_row
from benchmarks.table import SMOKE

pytestmark = [pytest.mark.full, pytest.mark.requirement("N8")]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_benchmarks_runs(name: str) -> None:
    lines = run_row(name, environ={**os.environ, SMOKE: "1"})

    assert not isinstance(lines, str), lines
    assert all(math.isfinite(line.value) for line in lines)


@pytest.mark.requirement("N10", "N11")
def test_caches_of_providers_serve_what_the_calls_of_a_debate_have_in_common(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {**spending.KEYS, "OPENAI_API_BASE": "", "ANTHROPIC_API_BASE": ""}.items():
        monkeypatch.setenv(name, value)

    async def list_rows() -> list[list[str]]:
        return [row async for row in spending.list_rows((("advocates", "standard"),))]

    short, long = anyio.run(list_rows)

    shares = [[float(cell.split(", ")[1].removesuffix(" x")) for cell in row[3:]] for row in (short, long)]
    assert all(share <= 1 for share in shares[0])  # nothing is kept that nobody reads
    anthropic, openai, openai_before, both = shares[1]
    assert max(anthropic, openai, openai_before) <= 0.3
    assert both <= 0.35
