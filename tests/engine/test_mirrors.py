"""Mirrors: the same debate with the stances swapped, held by the server, counted beside it, and told apart."""

from pathlib import Path
from typing import Any

import pytest

from server.debate.views.verdict import build_report
from server.engine.database.store import DebateSnapshot
from tests.support.engines import open_engine, run_debate
from tests.support.planted_effects import JUDGES, STANCES, Planted, describe_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N5")]

DEBATERS = {name: f"{name.lower()}/m" for name in STANCES}


async def hold(
    database: Path, planted: Planted, *, judges: list[str] | None = None, **asked: Any
) -> tuple[DebateSnapshot, DebateSnapshot | None]:
    """A debate to its end, and its mirror."""
    models = planted.build_models(DEBATERS, [*JUDGES, "phi-4/r", "gemini/r"])
    async with open_engine(database, models, default="ada/m") as manager:
        ended = await run_debate(manager, **describe_debate(judges=judges, **asked))
        opened = ended.debate.mirror_opened
        return ended, await manager.load(opened.debate_id) if opened else None


async def test_a_position_that_is_better_keeps_winning_whoever_argues_it(tmp_path: Path) -> None:
    ended, mirror = await hold(tmp_path / "db", Planted(worth={"build it": 6}), mirror=True)

    report = build_report(ended.debate)
    assert (report.outcome, report.winner_stance, report.mirror.agrees) == ("decided", "build it", True)
    assert (report.mirror.position_effect, report.mirror.debater_effect) == (2.0, 0.0)
    assert mirror
    assert [(d.name, d.stance, d.model) for d in mirror.debate.setup.debaters] == [
        ("Ada", "buy it", "ada/m"),
        ("Ben", "build it", "ben/m"),
    ]
    assert mirror.debate.verdict
    assert mirror.debate.verdict.winner == "Ben"


async def test_a_debater_who_is_better_is_found_out_by_the_mirror(tmp_path: Path) -> None:
    ended, _ = await hold(tmp_path / "db", Planted(skill={"Ada": 6}), mirror=True)

    report = build_report(ended.debate)
    assert (report.outcome, report.winner, report.mirror.agrees) == ("contested", "", False)
    assert (report.mirror.position_effect, report.mirror.debater_effect) == (0.0, 2.0)
    assert "reversed" in report.mirror.told
    assert "reversed" in report.headline
