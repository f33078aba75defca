"""kill -9: whatever was recorded stays, and one call goes on from there."""

from pathlib import Path

import pytest

from benchmarks.crashes.kills import run_kills

pytestmark = [pytest.mark.anyio, pytest.mark.full, pytest.mark.requirement("M3", "N8")]


async def test_a_debate_survives_kills_at_random_instants(tmp_path: Path) -> None:
    report = await run_kills(3, seed=7, folder=tmp_path)

    assert report.problems == []
    assert report.kills == 3
    assert report.calls_made - report.answers_recorded <= report.kills
