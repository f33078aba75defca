"""Debates under chaos in processes that are killed: whatever was recorded is true, and paid for once."""

from pathlib import Path

import pytest

from benchmarks.soak import Plan, run_soak
from benchmarks.soak_checks import check_results

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.requirement("D16", "N8", "D3")]


async def test_debates_under_chaos_survive_kills_and_the_books_notice_what_is_wrong(tmp_path: Path) -> None:
    plan = Plan(debates=12, kills=2, seed=3)

    books = await run_soak(plan, tmp_path)

    assert books.problems == []
    assert (books.counts["kills"], books.counts["debates"] >= 12) == (2, True)
    ledger = tmp_path / "ledger"
    lines = ledger.read_text().splitlines()
    ledger.write_text("\n".join([*lines, lines[-1]]) + "\n")
    forged = await check_results(tmp_path / "debates.db", ledger, plan.chaos, [])
    assert any("paid" in wrong for wrong in forged.problems)
    untold = await check_results(tmp_path / "debates.db", ledger, "crash=1", [])
    assert any("met the fault crash" in wrong for wrong in untold.problems)
