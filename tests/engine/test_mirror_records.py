"""Mirrors in what is kept: exports, the ledger of judges, and forks."""

from pathlib import Path

import anyio
import pytest

from server.debate.commands.requests import ChangesInput
from server.debate.facts.errors import InvalidRequestError
from server.debate.interventions.action import InterventionRequest
from server.debate.views.verdict import build_report
from server.engine.database.ledger import read_judgments
from server.engine.receipts import find_receipt
from server.engine.transfer import export_debate, restore_debate
from server.engine.verification import Keys, verify_file
from tests.support.engines import run_debate
from tests.support.mirrored_debates import engine
from tests.support.patience import PATIENCE
from tests.support.planted_effects import JUDGES, Planted, describe_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N5")]


async def test_a_debate_and_its_mirror_are_exported_imported_and_verified(tmp_path: Path) -> None:
    planted = Planted(worth={"build it": 6})
    async with engine(tmp_path / "here", planted) as manager:
        ended = await run_debate(manager, **describe_debate(mirror=True))
        report = build_report(ended.debate)
        assert (await find_receipt(manager, ended)).problem == ""
        files = [await export_debate(manager, name) for name in (ended.id, report.mirror.debate_id)]
        now = manager.clock()
    async with engine(tmp_path / "there", planted) as manager:
        for data in files:
            restored, added = await restore_debate(manager, data)
            assert added == len(data["entries"])
        assert build_report((await manager.load(ended.id)).debate) == report
        assert restored.debate.setup.mirror_of == ended.id

    for data in files:
        findings = {check.finding for check in verify_file(data, Keys(), None, now)}
        assert "wrong" not in findings


async def test_an_outcome_gives_the_ledger_a_row_for_each_judge_of_the_debate_and_its_mirror(
    tmp_path: Path,
) -> None:
    async with engine(tmp_path / "db", Planted(skill={"Ada": 6})) as manager:
        ended = await run_debate(manager, **describe_debate(mirror=True))
        mirror_id = build_report(ended.debate).mirror.debate_id
        right = InterventionRequest(to="Ada", reason="We built it.")
        with pytest.raises(InvalidRequestError, match=f"mirror of {ended.id}"):
            await manager.intervene(mirror_id, "outcome", right, actor="test")
        await manager.intervene(ended.id, "outcome", right, actor="test")
        rows = await read_judgments(manager.store.storage.ledger, manager.store.name_ledger())
        await manager.intervene(ended.id, "outcome", InterventionRequest(to="Ben"), actor="test")
        corrected = await read_judgments(manager.store.storage.ledger, manager.store.name_ledger())

    told = sorted((row.item, row.judge, row.is_right) for row in rows)
    own, other = f"debate {ended.id}", f"mirror of debate {ended.id}"
    assert told == sorted(
        [*((own, judge, True) for judge in JUDGES), *((other, judge, False) for judge in JUDGES)]
    )
    assert {(row.item, row.is_right) for row in corrected} == {(own, False), (other, True)}


async def test_a_fork_after_the_judges_asks_for_a_mirror_of_its_own(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6})) as manager:
        ended = await run_debate(manager, **describe_debate(mirror=True, synthesizer=True))
        fork = await manager.fork(ended.id, 3, ChangesInput(run=True), actor="test")
        with anyio.fail_after(PATIENCE):
            fork = await manager.follow(fork.id, wait=PATIENCE)
        of_mirror = await manager.fork(
            build_report(ended.debate).mirror.debate_id, 1, ChangesInput(), actor="test"
        )

    assert of_mirror.debate.setup.mirror_of == ""
    report, origin = build_report(fork.debate), build_report(ended.debate)
    assert (report.mirror.agrees, report.deliverable != "") == (True, True)
    assert report.mirror.debate_id != origin.mirror.debate_id
