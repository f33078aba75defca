"""A debate that went on elsewhere and comes back: what it took counts, and files of any system are read."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from server.assembly import open_hall
from server.debate.proposal import Proposal
from server.exporting import exported, parsed, restore
from server.models.scripted import ScriptedModel
from server.settings import Settings

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
