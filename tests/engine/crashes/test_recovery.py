"""A server that starts again finds what its predecessor left, and lets it go on."""

import json
import logging
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest

from server.cli.installation.doctor import check_handshake
from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.debate.interventions.action import InterventionRequest
from server.engine.database.errors import StorageUnavailableError
from server.engine.database.leases import LEASE_SECONDS
from server.engine.debates import DebateManager
from server.engine.recovery import POLL_INTERVAL, Recovery, backoff_delay
from server.models import Request
from server.models.fakes.scripted import ScriptedModel, ScriptOutput, build_reply_text
from server.settings import Settings
from tests.support.engines import alter_entries, open_engine, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.simulation import build_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D7")]

ACTOR = "test"


async def left_behind(database: str, *debate_requests: DebateRequest) -> list[str]:
    """Debates whose process ended with their first round asked for and not answered."""
    found = []
    for debate_request in debate_requests:
        gate = Gate()
        async with open_engine(database, gate.model) as manager:
            snapshot = await manager.start(debate_request, actor=ACTOR)
            await manager.step(snapshot.id, wait=0)
            await gate.wait_for_call()
            found.append(snapshot.id)
    return found


async def ended(manager: DebateManager, debate_id: str) -> str:
    """The status of a debate once nobody drives it any more; nothing here drives it either."""
    with anyio.fail_after(PATIENCE):
        while manager.is_working(debate_id) or (await manager.load(debate_id)).status == "running":
            await wait_before_next_poll()
    return (await manager.load(debate_id)).status


async def test_a_debate_that_was_stepped_waits_for_its_step(database: str) -> None:
    own, stepped = await left_behind(
        database, build_request(question="Ship it?", run=True), build_request(question="Step it?")
    )
    model = ScriptedModel()
    async with open_engine(database, model, recover=True) as manager:
        assert await ended(manager, own) == "concluded"
        snapshot = await manager.load(stepped)
    assert (snapshot.status, snapshot.debate.turns) == ("running", ())
    assert len(model.requests) == 6


async def test_a_stepped_debate_whose_end_was_asked_for_goes_on_to_it(database: str) -> None:
    judging = anyio.Event()

    async def never_judges(request: Request) -> ScriptOutput:
        if request.prompt.summary.task == "judgment":
            judging.set()
            await anyio.sleep_forever()
        return build_reply_text(request)

    async with open_engine(database, ScriptedModel(never_judges)) as manager:
        snapshot = await start_debate(manager, question="Step it?")
        await manager.step(snapshot.id, wait=PATIENCE)
        await manager.intervene(snapshot.id, "conclude", InterventionRequest(), actor=ACTOR)
        with anyio.fail_after(PATIENCE):
            await judging.wait()
    async with open_engine(database, ScriptedModel(), recover=True) as later:
        assert await ended(later, snapshot.id) == "concluded"


@pytest.mark.full
@pytest.mark.requirement("D6")
async def test_the_server_that_the_doctor_starts_resumes_no_debate_and_runs_no_hook(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    scripted = Settings(db=database, models=("scripted",))
    async with open_manager(scripted, {"scripted": gate.model}, environ={}) as manager:
        running = await start_debate(manager, run=True)
        await gate.wait_for_call()
        paused = await start_debate(manager, question="Wait?")
        await manager.intervene(paused.id, "pause", InterventionRequest(), actor=ACTOR)
    resume = {"name": "on", "on": ["debate_pause"], "do": [{"intervene": {"action": "resume"}}]}
    path = tmp_path / "hooks.yaml"
    path.write_text(json.dumps({"hooks": [resume]}), "utf-8")
    monkeypatch.setenv("COUNTERPOINT_HOOKS", str(path))

    assert (await check_handshake(scripted)).ok
    async with open_manager(scripted, environ={}) as after:
        assert (await after.load(running.id)).debate.turns == ()
        assert (await after.load(paused.id)).status == "paused"


async def test_the_terminal_touches_nobody_elses_debates(database: str) -> None:
    (debate_id,) = await left_behind(database, build_request(question="Ship it?", run=True))
    async with open_engine(database, ScriptedModel()) as manager:
        assert not manager.is_working(debate_id)


async def test_what_has_been_lying_about_for_too_long_is_left(database: str) -> None:
    (debate_id,) = await left_behind(database, build_request(question="Ship it?", run=True))
    async with open_engine(database, ScriptedModel()) as manager:
        assert await Recovery(manager, max_age_hours=1, concurrency=1).find_unfinished() == [debate_id]
        manager.clock = lambda: datetime.now(UTC) + timedelta(hours=2)
        assert await Recovery(manager, max_age_hours=1, concurrency=1).find_unfinished() == []


@pytest.mark.full
async def test_only_so_many_go_on_at_a_time(database: str) -> None:
    asked = [build_request(question=f"Ship {n}?", run=True) for n in range(3)]
    debates = await left_behind(database, *asked)
    gate = Gate()
    async with open_engine(database, gate.model) as manager:
        recovery = Recovery(manager, max_age_hours=24, concurrency=1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(recovery.run)
            await gate.wait_for_call()
            assert [manager.is_working(debate_id) for debate_id in debates] == [True, False, False]
            gate.release.set()
            # What the gate lets through is no finding, so that each stops at its judges.
            assert [await ended(manager, debate_id) for debate_id in debates] == ["paused"] * 3
            tasks.cancel_scope.cancel()


async def test_a_server_that_has_nothing_to_do_takes_over_from_one_that_went_away(database: str) -> None:
    gate = Gate()
    async with open_engine(database, ScriptedModel()) as idle, anyio.create_task_group() as tasks:
        async with open_engine(database, gate.model) as busy:
            snapshot = await start_debate(busy, run=True)
            await gate.wait_for_call()
            assert await Recovery(idle, max_age_hours=24, concurrency=1).find_unfinished() == []
        tasks.start_soon(partial(Recovery(idle, max_age_hours=24, concurrency=1).run, poll_interval=0.01))
        assert await ended(idle, snapshot.id) == "concluded"
        tasks.cancel_scope.cancel()


async def test_what_was_begun_since_the_last_search_is_left_to_whoever_began_it(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        recovery = Recovery(manager, max_age_hours=24, concurrency=1)
        assert await recovery.find_unfinished() == []
        new = await left_behind(database, build_request(question="Ship it?", run=True))
        assert [await recovery.find_unfinished() for _ in range(2)] == [[], new]


async def test_what_a_broken_database_kept_from_going_on_goes_on_when_it_is_whole(database: str) -> None:
    (debate_id,) = await left_behind(database, build_request(question="Break?", run=True))
    alter_entries(database, "Break", "Brake")
    async with open_engine(database, ScriptedModel()) as manager, anyio.create_task_group() as tasks:
        recovery = Recovery(manager, max_age_hours=24, concurrency=1)
        tasks.start_soon(partial(recovery.run, poll_interval=0.01, retry_interval=0.01))
        with anyio.fail_after(PATIENCE):
            while debate_id not in recovery.failure_counts:
                await wait_before_next_poll()
        alter_entries(database, "Brake", "Break")
        with anyio.fail_after(PATIENCE):
            while (await finished(manager, debate_id)) != "concluded":
                await wait_before_next_poll()
        tasks.cancel_scope.cancel()


async def test_a_debate_that_cannot_be_resumed_is_left_alone_for_longer_each_time(database: str) -> None:
    (debate_id,) = await left_behind(database, build_request(question="Break?", run=True))
    alter_entries(database, "Break", "Brake")
    async with open_engine(database, ScriptedModel()) as manager:
        recovery = Recovery(manager, max_age_hours=24, concurrency=1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(recovery.run, 0.01)
            with anyio.fail_after(PATIENCE):
                while debate_id not in recovery.failure_counts:
                    await wait_before_next_poll()
            for _ in range(100):
                await anyio.lowlevel.checkpoint()
            assert debate_id in recovery.in_progress
            tasks.cancel_scope.cancel()
        await recovery.recover(debate_id, 0)
        assert recovery.failure_counts == {debate_id: 2}
    assert POLL_INTERVAL + max(LEASE_SECONDS, POLL_INTERVAL) < 10  # the promise for a server that died
    assert [backoff_delay(60, failures) for failures in (1, 2, 3, 99)] == [120, 240, 480, 3600]


async def test_a_bug_stops_the_recovery_of_one_debate(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    (debate_id,) = await left_behind(database, build_request(question="Ship it?", run=True))

    def fail(_snapshot: object) -> None:
        raise ZeroDivisionError

    async with open_engine(database, ScriptedModel()) as manager:
        unsubscribe = manager.store.subscribe(fail)
        recovery = Recovery(manager, max_age_hours=24, concurrency=1)
        with anyio.fail_after(PATIENCE):
            await recovery.recover(debate_id, 0)
        unsubscribe()
    assert await recovery.find_unfinished() == []  # the database is closed
    assert f"Debate {debate_id} cannot be resumed" in caplog.text
    assert "Unfinished debates cannot be searched for" in caplog.text


@pytest.mark.both_databases
@pytest.mark.full
async def test_any_number_of_unfinished_debates_is_found(database: str) -> None:
    async with open_engine(database, Gate().model) as manager:
        for number in range(101):
            await start_debate(manager, question=f"Ship {number}?", run=True)
    async with open_engine(database) as manager:
        assert len(await Recovery(manager, max_age_hours=24, concurrency=1).find_unfinished()) == 101


async def finished(manager: DebateManager, debate_id: str) -> str:
    try:
        return (await manager.load(debate_id)).status
    except StorageUnavailableError:
        return ""


async def test_a_damaged_debate_stops_no_other(database: str, caplog: pytest.LogCaptureFixture) -> None:
    broken, whole = await left_behind(
        database, build_request(question="Break?", run=True), build_request(question="Ship?", run=True)
    )
    alter_entries(database, "Break", "Brake")
    with caplog.at_level(logging.WARNING):
        async with open_engine(database, ScriptedModel(), recover=True) as manager:
            assert await ended(manager, whole) == "concluded"
    assert broken in caplog.text
    assert "was altered" in caplog.text


@pytest.mark.both_databases
async def test_two_servers_that_start_at_once_pay_once(database: str) -> None:
    (debate_id,) = await left_behind(database, build_request(question="Ship it?", run=True))
    first, second = ScriptedModel(), ScriptedModel()
    async with (
        open_engine(database, first, recover=True) as one,
        open_engine(database, second, recover=True) as two,
    ):
        assert await ended(one, debate_id) == await ended(two, debate_id) == "concluded"
    assert len(first.requests) + len(second.requests) == 6
