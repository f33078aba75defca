"""Debates with injected faults in servers that are killed: entries stay true, and calls are paid for once."""

from pathlib import Path

import pytest

from benchmarks.crashes.chaos import Plan, run_chaos
from benchmarks.crashes.chaos_checks import check_results

pytestmark = [pytest.mark.anyio, pytest.mark.full, pytest.mark.requirement("D16", "N8", "D3")]


async def test_debates_under_chaos_survive_kills_and_checks_notice_changes(tmp_path: Path) -> None:
    plan = Plan(debates=6, kills=1, seed=3)

    report = await run_chaos(plan, tmp_path)

    assert report.problems == []
    assert (report.counts["kills"], report.counts["debates"] >= 6) == (1, True)
    ledger = tmp_path / "ledger"
    lines = ledger.read_text().splitlines()
    ledger.write_text("\n".join([*lines, lines[-1]]) + "\n")
    duplicated = await check_results(tmp_path / "debates.db", ledger, plan.chaos, [])
    assert any("paid" in wrong for wrong in duplicated.problems)
    other_chaos = await check_results(tmp_path / "debates.db", ledger, "crash=1", [])
    assert any("met the fault crash" in wrong for wrong in other_chaos.problems)
