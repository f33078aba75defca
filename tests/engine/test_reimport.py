"""A debate that went on elsewhere and comes back: what it took counts, and files of any system are read."""

import json
from pathlib import Path

import pytest

from server.debate.commands.requests import ChangesInput
from server.engine.queries import compare_family
from server.engine.recovery import Recovery
from server.engine.transfer import export_debate, parse_export, restore_debate
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, run_round, start_debate
from tests.support.gated_model import Gate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D8", "N10")]


async def test_the_day_s_budget_forgets_nothing_of_a_debate(database: str, tmp_path: Path) -> None:
    there, model = tmp_path / "there.db", ScriptedModel()
    async with (
        open_engine(database, model, daily_calls=100) as one,
        open_engine(there, model, daily_calls=100) as two,
    ):
        snapshot = await run_round(one)
        await restore_debate(two, await export_debate(one, snapshot.id))
        await two.step(snapshot.id, wait=5)
        await restore_debate(one, await export_debate(two, snapshot.id))

        assert (await one.daily_budget.find_spending())[0].requests == 4


def test_a_file_with_a_mark_of_its_encoding_is_read() -> None:
    assert parse_export(b"\xef\xbb\xbf" + json.dumps({"question": "Ship it\N{EM DASH}?"}).encode()) == {
        "question": "Ship it\N{EM DASH}?"
    }


@pytest.mark.requirement("D7")
async def test_what_came_from_elsewhere_spends_nothing_unasked(database: str, tmp_path: Path) -> None:
    gate = Gate()
    async with open_engine(database, gate.model) as one:
        snapshot = await start_debate(one, run=True)
        await gate.wait_for_call()
        data = await export_debate(one, snapshot.id)
    async with open_engine(tmp_path / "there.db", ScriptedModel()) as two:
        await restore_debate(two, data)
        assert await Recovery(two, max_age_hours=24, concurrency=1).find_unfinished() == []
        assert (await two.follow(snapshot.id, wait=5)).status == "concluded"


@pytest.mark.requirement("N9")
async def test_relatives_that_are_not_stored_here_are_named(database: str, tmp_path: Path) -> None:
    async with open_engine(database) as one, open_engine(tmp_path / "there.db") as two:
        parent = await start_debate(one, models=["scripted"])
        child = await one.fork(parent.id, 0, ChangesInput(), actor="test")
        restored, _ = await restore_debate(two, await export_debate(one, child.id))

        assert await compare_family(two, restored) == ([], [parent.id])
