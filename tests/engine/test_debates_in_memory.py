"""Debates that were used last stay in memory: they are read again only where somebody has written meanwhile."""

import pytest

from server.debate.interventions.action import InterventionRequest
from server.engine.database.errors import StorageUnavailableError
from tests.support.engines import alter_entries, open_engine, run_debate, run_round

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N11")]


async def test_a_debate_that_nobody_has_written_to_is_not_read_again(database: str) -> None:
    async with open_engine(database, default="scripted") as running:
        ended = await run_debate(running, question="Break?")
        alter_entries(database, "Break", "Brake")
        assert (await running.load(ended.id)).debate is ended.debate
        with pytest.raises(StorageUnavailableError, match="entry 1"):
            await running.store.read(ended.id)


@pytest.mark.both_databases
async def test_what_another_process_has_written_is_read(database: str) -> None:
    async with (
        open_engine(database, default="scripted") as one,
        open_engine(database, default="scripted") as two,
    ):
        known = await run_round(one)
        note = InterventionRequest(text="Think of the costs.")
        written, _ = await two.intervene(known.id, "inject", note, actor="test")
        assert (await one.load(known.id)).entries == written.entries


@pytest.mark.full
async def test_only_the_debates_used_last_stay_in_memory(database: str) -> None:
    async with open_engine(database, default="scripted") as running:
        recent = running.store.recent
        recent.max_entries = 40
        ids = [(await run_debate(running)).id for _ in range(9)]
        kept = [each.id for each in recent]
        assert kept == ids[-len(kept) :]
        assert recent.entries == sum(len(each.entries) for each in recent) <= 40
        recent.max_entries = 1
        assert (await running.load(ids[0])).debate.ended
        assert [each.id for each in recent] == ids[:1]
