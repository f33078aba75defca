"""A debate that went on elsewhere and comes back: what it took counts, and files of any system are read."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import build_intervention
from server.engine.debates import utc_now
from server.engine.recovery import Recovery
from server.engine.transfer import export_debate, parse_export, restore_debate
from server.models.fakes.scripted import ScriptedModel
from storage.streams import format_time
from tests.support.engines import open_engine, run_round, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.records import build_export, play_record

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D8", "N10")]


async def test_the_day_s_budget_counts_what_was_spent_here_and_nothing_else(
    database: str, tmp_path: Path
) -> None:
    there, model = tmp_path / "there.db", ScriptedModel()
    async with (
        open_engine(database, model, daily_calls=100) as one,
        open_engine(there, model, daily_calls=100) as two,
    ):
        snapshot = await run_round(one)
        await restore_debate(two, await export_debate(one, snapshot.id))
        await two.step(snapshot.id, wait=PATIENCE)
        await restore_debate(one, await export_debate(two, snapshot.id))

        assert (await one.daily_budget.find_spending())[0].requests == 2
        assert (await two.daily_budget.find_spending())[0].requests == 2


def test_a_file_with_a_mark_of_its_encoding_is_read() -> None:
    assert parse_export(b"\xef\xbb\xbf" + json.dumps({"question": "Ship it\N{EM DASH}?"}).encode()) == {
        "question": "Ship it\N{EM DASH}?"
    }


@pytest.mark.requirement("N26")
async def test_a_file_that_says_it_cost_everything_stops_no_server(database: str) -> None:
    events = play_record()
    for body in events:
        if body.get("usage"):
            body["usage"] |= {"attempts": 10, "cost_usd": "999999"}
    data = build_export("k3x9w2m4p7qr", events, at=format_time(utc_now()))
    async with open_engine(database, ScriptedModel(), daily_calls=3) as engine:
        await restore_debate(engine, data)
        snapshot = await run_round(engine)

    assert snapshot.debate.round == 1
    assert len(snapshot.debate.turns) == 2


@pytest.mark.requirement("D7", "N26")
async def test_what_came_from_elsewhere_runs_one_round_when_it_is_stepped_and_never_else(
    database: str, tmp_path: Path
) -> None:
    gate, model = Gate(), ScriptedModel()
    async with open_engine(database, gate.model) as one:
        snapshot = await start_debate(one, run=True)
        await gate.wait_for_call()
        data = await export_debate(one, snapshot.id)
    async with open_engine(tmp_path / "there.db", model) as two:
        recovery = Recovery(two, max_age_hours=24, concurrency=1)
        await restore_debate(two, data)
        note, calm = InterventionRequest(text="Mind the cost."), InterventionRequest()

        async def leave_alone() -> None:
            assert await recovery.find_unfinished() == []
            await two.follow(snapshot.id, wait=1)
            await two.intervene(snapshot.id, "inject", note, actor="me")
            await two.intervene(snapshot.id, "pause", calm, actor="me")
            _, told = await two.intervene(snapshot.id, "resume", calm, actor="me")
            assert "with its next round" in told
            assert not two.is_working(snapshot.id)
            assert await recovery.find_unfinished() == []

        await leave_alone()
        assert model.requests == []
        assert (await two.step(snapshot.id, wait=PATIENCE)).debate.round == 1
        await leave_alone()
        assert len(model.requests) == 2
        await two.intervene(snapshot.id, "conclude", calm, actor="me")
        assert (await two.follow(snapshot.id, wait=PATIENCE)).status == "concluded"


@pytest.mark.requirement("D7", "N26")
async def test_a_talk_that_was_concluded_elsewhere_is_not_judged_here_unasked(
    database: str, tmp_path: Path
) -> None:
    model = ScriptedModel()
    async with open_engine(tmp_path / "there.db", model) as there, open_engine(database, model) as here:
        snapshot = await run_round(there)
        await restore_debate(here, await export_debate(there, snapshot.id))
        at = await there.load(snapshot.id)
        made = build_intervention(at.debate, "conclude", InterventionRequest())
        await there.store.record(at, made.events, "me")
        await restore_debate(here, await export_debate(there, snapshot.id))
        made_before = len(model.requests)

        assert (await here.follow(snapshot.id, wait=1)).status == "running"
        assert len(model.requests) == made_before
        assert (await here.step(snapshot.id, wait=PATIENCE)).status == "concluded"


async def test_times_never_go_back_so_that_what_was_recorded_can_be_imported(
    database: str, tmp_path: Path
) -> None:
    now = [datetime(2026, 11, 1, 10, tzinfo=UTC)]
    async with open_engine(database, default="scripted", clock=lambda: now[0]) as one:
        snapshot = await start_debate(one)
        now[0] -= timedelta(hours=1)
        snapshot = await one.step(snapshot.id, wait=PATIENCE)
        data = await export_debate(one, snapshot.id)
    async with open_engine(
        tmp_path / "there.db", ScriptedModel(), clock=lambda: now[0] + timedelta(hours=1)
    ) as two:
        assert (await restore_debate(two, data))[1] == snapshot.debate.version
