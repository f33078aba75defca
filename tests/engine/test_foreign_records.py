"""A debate whose newest entry this installation did not record is never run unasked, whoever put it there."""

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import build_intervention
from server.engine.database.errors import ForeignRecordError
from server.engine.database.store import DebateStore
from server.engine.debates import utc_now
from server.engine.recovery import Recovery
from server.models.fakes.scripted import ScriptedModel
from server.tools.results import FOREIGN, build_verdict_result
from tests.contract.journal_helpers import open_any_storage
from tests.support.engines import open_engine, run_round, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D11", "D7")]

OTHER_KEY = "22" * 32


async def leave_behind(database: str, **settings: Any) -> str:
    """A debate that runs by itself, and whose process ends during its first round."""
    gate = Gate()
    async with open_engine(database, gate.model, **settings) as manager:
        snapshot = await start_debate(manager, run=True)
        await gate.wait_for_call()
        return snapshot.id


async def write_as_another(database: str, debate_id: str, action: str) -> None:
    """Append an intervention to a debate as a program would that knows the format, and not the key."""
    async with open_any_storage(database) as storage:
        store = DebateStore(storage, utc_now)
        at = await store.load(debate_id)
        request = InterventionRequest(text="Spend more.", rounds=2)
        await store.record(at, build_intervention(at.debate, action, request).events, "me")


@pytest.mark.requirement("N22")
async def test_what_another_installation_recorded_is_read_once_and_remembered(database: str) -> None:
    debate_id = await leave_behind(database, signing_key=OTHER_KEY)
    async with open_engine(database) as manager:
        first = await manager.load(debate_id)

        assert first.is_foreign
        assert await manager.load(debate_id) is first


async def test_what_another_installation_recorded_is_left_alone_until_a_caller_asks(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    debate_id = await leave_behind(database, signing_key=OTHER_KEY)
    model = ScriptedModel()
    async with open_engine(database, model) as manager:
        recovery = Recovery(manager, max_age_hours=24, concurrency=1)
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                await recovery.recover(debate_id, 0)
        assert caplog.text.count("is not resumed: this installation did not record it") == 1
        assert (await manager.follow(debate_id, wait=1)).is_foreign
        joined = await manager.join(debate_id, run=False)
        noted, _ = await manager.intervene(debate_id, "inject", InterventionRequest(text="Hm."), actor="me")
        assert (await manager.follow(debate_id, wait=1)).is_foreign
        for found in (noted, await manager.store.read(debate_id)):
            assert (found.is_foreign, found.provenance.entries_elsewhere) == (True, joined.debate.version)
        assert model.requests == []

        told = await build_verdict_result(manager, await manager.load(debate_id))
        assert (told.status, told.reason) == ("ready", FOREIGN)
        assert "step_round" in told.next

        stepped = await manager.step(debate_id, wait=PATIENCE)

        assert (stepped.is_foreign, stepped.debate.round) == (False, 1)
        assert stepped.provenance.entries_elsewhere == joined.debate.version
        assert (await manager.follow(debate_id, wait=PATIENCE)).status == "concluded"


async def test_one_that_was_asked_for_goes_on_after_a_crash_too(database: str) -> None:
    debate_id = await leave_behind(database, signing_key=OTHER_KEY)
    gate = Gate()
    async with open_engine(database, gate.model) as manager:
        await manager.step(debate_id, wait=0)
        await gate.wait_for_call()
    async with open_engine(database, ScriptedModel()) as manager:
        assert (await manager.follow(debate_id, wait=PATIENCE)).status == "concluded"


@pytest.mark.both_databases
async def test_another_process_learns_that_it_was_asked_for(database: str) -> None:
    debate_id = await leave_behind(database, signing_key=OTHER_KEY)
    async with open_engine(database, ScriptedModel()) as one, open_engine(database, ScriptedModel()) as two:
        assert (await two.load(debate_id)).is_foreign
        await one.store.claim(debate_id)
        assert not (await two.load(debate_id)).is_foreign


async def test_entries_written_into_a_debate_of_ours_are_not_obeyed(database: str) -> None:
    debate_id = await leave_behind(database)
    await write_as_another(database, debate_id, "extend")
    model = ScriptedModel()
    async with open_engine(database, model) as manager:
        assert (await manager.follow(debate_id, wait=1)).status == "running"
        assert not manager.is_working(debate_id)
        assert model.requests == []
        await manager.step(debate_id, wait=PATIENCE)
        assert (await manager.follow(debate_id, wait=PATIENCE)).status == "concluded"


async def test_a_debate_stops_that_something_else_writes_to_while_it_runs(database: str) -> None:
    gate = Gate()
    async with open_engine(database, gate.model) as manager:
        snapshot = await start_debate(manager, run=True)
        await gate.wait_for_call()
        await write_as_another(database, snapshot.id, "inject")
        gate.release.set()

        with pytest.raises(ForeignRecordError, match="run its next round to go on"):
            await manager.follow(snapshot.id, wait=PATIENCE)

        stopped = await manager.load(snapshot.id)
        assert len(stopped.debate.turns) == 2  # paid for before, and kept
        assert stopped.is_foreign
        assert (await manager.step(snapshot.id, wait=PATIENCE)).debate.round == 2


@pytest.mark.both_databases
async def test_a_seal_is_of_one_debate_and_one_head(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        one, two = await run_round(manager), await run_round(manager)
    seals = dict(run_raw(database, "select name, seal from stream"))
    run_raw(database, "update stream set seal = ? where name = ?", seals[one.id], two.id)
    async with open_engine(database, ScriptedModel()) as manager:
        assert [(await manager.load(each.id)).is_foreign for each in (one, two)] == [False, True]
    assert len(set(seals.values())) == 2


async def test_a_pause_that_is_over_is_not_ended_in_a_foreign_debate(database: str) -> None:
    now = [datetime(2026, 11, 1, 10, tzinfo=UTC)]
    settings: dict[str, Any] = {"daily_calls": 1, "signing_key": OTHER_KEY}
    async with open_engine(database, ScriptedModel(), clock=lambda: now[0], **settings) as manager:
        snapshot = await start_debate(manager, run=True)
        with anyio.fail_after(PATIENCE):
            while not (await manager.load(snapshot.id)).debate.paused:
                await wait_before_next_poll()
    now[0] = datetime(2026, 11, 2, 10, tzinfo=UTC)
    async with open_engine(database, ScriptedModel(), clock=lambda: now[0]) as manager:
        assert (await manager.follow(snapshot.id, wait=1)).status == "paused"


async def test_without_a_key_debates_run_and_do_not_outlive_their_process(
    database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nothing = str(tmp_path / "missing.pem")
    debate_id = await leave_behind(database, signing_key_file=nothing)
    assert caplog.text.count("The signing key cannot be read or made: No such file or directory.") == 1
    async with open_engine(database, ScriptedModel(), signing_key_file=nothing) as manager:
        assert (await manager.follow(debate_id, wait=1)).is_foreign
        assert (await run_round(manager)).debate.round == 1
