"""Mirrors: the same debate with the stances swapped, held where it is needed and paid for, and what it tells."""

from pathlib import Path

import pytest

from server.debate.views.verdict import build_report
from tests.support.engines import open_engine, run_debate
from tests.support.mirrored_debates import DEBATERS, SPLIT, hold
from tests.support.planted_effects import JUDGES, Planted, describe_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N5")]


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
    assert build_report(mirror.debate).mirror_of == ended.id


async def test_a_debater_who_is_better_is_found_out_by_the_mirror(tmp_path: Path) -> None:
    ended, _ = await hold(tmp_path / "db", Planted(skill={"Ada": 6}), mirror=True)

    report = build_report(ended.debate)
    assert (report.outcome, report.winner, report.mirror.agrees) == ("contested", "", False)
    assert (report.mirror.position_effect, report.mirror.debater_effect) == (0.0, 2.0)
    assert "reversed" in report.mirror.told
    assert "reversed" in report.headline


async def test_judges_who_are_biased_to_a_side_stay_opposed_whoever_argues(tmp_path: Path) -> None:
    ended, _ = await hold(tmp_path / "db", Planted(bias=SPLIT), judges=JUDGES[:2], mirror=True)

    report = build_report(ended.debate)
    assert (report.outcome, report.mirror.position_effect, report.mirror.debater_effect) == (
        "contested",
        0.0,
        0.0,
    )


async def test_nobody_who_is_asked_in_a_mirror_is_told_that_it_is_one(tmp_path: Path) -> None:
    planted = Planted(skill={"Ada": 6})
    models = planted.build_models(DEBATERS, JUDGES)
    async with open_engine(tmp_path / "db", models, default="ada/m") as manager:
        ended = await run_debate(manager, **describe_debate(mirror=True))

    requests = [request for model in models.values() for request in model.requests]
    texts = [message.content for request in requests for message in request.prompt.messages]
    assert len(requests) == 2 * 7
    assert not [text for text in texts if "mirror" in text.casefold() or ended.id in text]
