"""A debate that went on elsewhere and comes back: what it took counts, and files of any system are read."""

import json
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from server.compose import open_hall
from server.debate.commands.requests import Proposal
from server.debate.facts.errors import Refused
from server.engine.recovery import unfinished
from server.engine.transfer import exported, parsed, restore
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from tests.support.gate import Gate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D8", "N10")]


async def test_the_days_budget_forgets_nothing_when_a_debate_comes_back(
    database: str, tmp_path: Path
) -> None:
    here, there = (
        Settings(db=name, models=("mine",), daily_calls=100)
        for name in (database, str(tmp_path / "there.db"))
    )
    models = {"mine": ScriptedModel()}
    async with open_hall(here, models, environ={}) as one, open_hall(there, models, environ={}) as two:
        case = await one.start(Proposal(question="Ship it?"), actor="test")
        case = await one.step(case.id, wait=5)
        await restore(two, await exported(one, case.id))
        await two.step(case.id, wait=5)
        await restore(one, await exported(two, case.id))

        day = datetime.now(UTC).date().isoformat()
        (details,) = await one.journal.details_since(day)
        assert details["spent"][day]["calls"] == 4
        assert (await one.runner.daily.room()).calls == 96


def test_a_file_with_a_mark_of_its_encoding_is_read() -> None:
    assert parsed(b"\xef\xbb\xbf" + json.dumps({"question": "Ship it\N{EM DASH}?"}).encode()) == {
        "question": "Ship it\N{EM DASH}?"
    }


@pytest.mark.parametrize("at", ["yesterday", "2026-02-31T10:00:00.000Z", "2026-12-01T10:00:00.000"])
async def test_times_that_are_none_are_refused(database: str, tmp_path: Path, at: str) -> None:
    here = Settings(db=database, models=("scripted",))
    async with open_hall(here, environ={}) as one:
        case = await one.start(Proposal(question="Ship it?", run=True), actor="test")
        data = await exported(one, case.id)
    data["entries"][0]["at"] = at
    async with open_hall(Settings(db=str(tmp_path / "there.db")), environ={}) as two:
        with pytest.raises(Refused, match=r"Entry 1 is not as it was exported: entries\.0\.at"):
            await restore(two, data)


@pytest.mark.requirement("D7")
async def test_what_came_from_elsewhere_spends_nothing_before_it_is_asked_for(
    database: str, tmp_path: Path
) -> None:
    gate = Gate()
    here = Settings(db=database, models=("mine",))
    async with open_hall(here, {"mine": gate.model}, environ={}) as one:
        case = await one.start(Proposal(question="Ship it?", run=True), actor="test")
        with anyio.fail_after(5):
            await gate.asked.wait()
        data = await exported(one, case.id)
    there = Settings(db=str(tmp_path / "there.db"))
    async with open_hall(there, {"mine": ScriptedModel()}, environ={}) as two:
        await restore(two, data)
        assert (await unfinished(two, 24)).running == ()
        assert (await two.follow(case.id, wait=5)).status == "concluded"
