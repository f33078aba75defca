"""Mirrors: the same debate with the stances swapped, held where it is needed and paid for, and what it tells."""

from pathlib import Path

import pytest

from server.debate.rules.budget import compute_spending
from server.debate.views.verdict import build_report
from server.models import Request
from tests.support.engines import open_engine, run_debate
from tests.support.mirrored_debates import DEBATERS, SPLIT, hold
from tests.support.planted_effects import JUDGES, STANCES, Planted, describe_debate

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


async def test_before_one_of_different_models_wins_its_mirror_is_asked(tmp_path: Path) -> None:
    ended, _ = await hold(tmp_path / "db", Planted(skill={"Ada": 6}), mirror="if_decided")
    assert ended.debate.mirror_opened
    assert ended.debate.mirror_opened.because == "decided"
    assert build_report(ended.debate).outcome == "contested"
    split, none = await hold(tmp_path / "other", Planted(bias=SPLIT), judges=JUDGES[:2], mirror="if_decided")
    assert build_report(split.debate).outcome == "contested"
    assert none is None


async def test_nobody_who_is_asked_in_a_mirror_is_told_that_it_is_one(tmp_path: Path) -> None:
    planted = Planted(skill={"Ada": 6})
    models = planted.build_models(DEBATERS, JUDGES)
    async with open_engine(tmp_path / "db", models, default="ada/m") as manager:
        ended = await run_debate(manager, **describe_debate(mirror=True))

    requests = [request for model in models.values() for request in model.requests]
    texts = [message.content for request in requests for message in request.prompt.messages]
    assert len(requests) == 2 * 7
    assert not [text for text in texts if "mirror" in text.casefold() or ended.id in text]


async def test_a_mirror_cut_by_its_budget_before_a_verdict_does_not_count(tmp_path: Path) -> None:
    """What is left of the calls allowed as many as the debate took, but half of them fail in the mirror."""
    planted = OftenEmptyInMirror(worth={"build it": 6})
    ended, mirror = await hold(tmp_path / "db", planted, mirror=True, limits={"max_calls": 20})

    assert mirror
    assert mirror.debate.ended or mirror.debate.paused
    report = build_report(ended.debate)
    assert report.winner == "Ada"
    assert compute_spending(ended.debate).calls <= 20


class OftenEmptyInMirror(Planted):
    def answer(self, model: str, request: Request) -> str:
        ada = (
            next(name for name, own in DEBATERS.items() if own == model) if model in DEBATERS.values() else ""
        )
        is_mirror = ada and request.prompt.summary.stance != STANCES[ada]
        return " " if is_mirror and request.seed % 2 else super().answer(model, request)
