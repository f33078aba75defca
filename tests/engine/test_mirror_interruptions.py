"""Mirrors that are killed, paused, concluded, failing, late or opened twice."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from server.debate.facts.escalation import MirrorOpened, MirrorSkipped
from server.debate.interventions.action import InterventionRequest
from server.debate.rules.budget import NO_ELAPSED_TIME
from server.debate.views.verdict import build_report
from server.engine.database.errors import DebateNotFoundError, ForeignRecordError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import DebateStore
from server.engine.debates import DebateManager
from server.engine.mirrors import MirrorHolder
from server.engine.runner import Run
from server.models import ModelError, Request
from tests.support.engines import run_debate, start_debate
from tests.support.mirrored_debates import engine, find_mirrors, hold, wait_for, wait_for_mirror
from tests.support.patience import PATIENCE
from tests.support.planted_effects import Planted, describe_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N5")]


@pytest.mark.full
@pytest.mark.parametrize("cut", range(12))
async def test_after_a_kill_at_any_fact_the_same_mirror_is_held_on(tmp_path: Path, cut: int) -> None:
    """The process is gone as soon as so many facts are recorded after the judges were heard, in either debate."""
    planted, database = Planted(worth={"build it": 6}), tmp_path / "db"
    recorded = 0
    with anyio.CancelScope() as life:
        async with engine(database, planted) as manager:

            def count(snapshot: DebateSnapshot) -> None:
                nonlocal recorded
                recorded += bool(snapshot.debate.mirror_opened or snapshot.debate.setup.mirror_of)
                if recorded > cut:
                    life.cancel()

            manager.store.subscribe(count)
            await run_debate(manager, **describe_debate(mirror=True))
    async with engine(database, planted) as manager:
        rows = await manager.store.find(limit=20)
        [debate_id] = [row.stream for row in rows if not row.details["mirror_of"]]
        ended = await manager.join(debate_id, run=True)
        with anyio.fail_after(PATIENCE):
            ended = await manager.follow(debate_id, wait=PATIENCE)
        mirrors = await find_mirrors(manager)

    report = build_report(ended.debate)
    assert (report.outcome, report.mirror.agrees) == ("decided", True)
    assert mirrors == [report.mirror.debate_id]
    assert len(ended.debate.judgments) == 3  # one reading each, for they agree


async def test_pausing_a_debate_pauses_its_mirror_and_resuming_goes_on_with_it(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6}, delay=0.05)) as manager:
        started = await start_debate(manager, run=True, **describe_debate(mirror=True))
        mirror_id = await wait_for_mirror(manager, started.id)
        await manager.intervene(started.id, "pause", InterventionRequest(), actor="test")
        with anyio.fail_after(PATIENCE):
            async for mirror in manager.watch_states(mirror_id):
                if mirror.debate.paused:
                    break
        assert (await manager.load(started.id)).status == "paused"
        await manager.intervene(started.id, "resume", InterventionRequest(), actor="test")
        with anyio.fail_after(PATIENCE):
            ended = await manager.follow(started.id, wait=PATIENCE)

        assert build_report(ended.debate).mirror.agrees
        assert await find_mirrors(manager) == [mirror_id]


async def test_concluding_a_debate_goes_on_without_its_mirror(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6}, delay=0.05)) as manager:
        started = await start_debate(manager, run=True, **describe_debate(mirror=True))
        await wait_for(manager, started.id, MirrorOpened)
        _, effect = await manager.intervene(started.id, "conclude", InterventionRequest(), actor="test")
        with anyio.fail_after(PATIENCE):
            ended = await manager.follow(started.id, wait=PATIENCE)

    report = build_report(ended.debate)
    assert "without the mirror" in effect
    assert (report.status, report.winner) == ("concluded", "Ada")
    assert report.mirror.told == "No mirror counts: somebody concluded the debate while it was held."


class FailingInMirror(Planted):
    def answer(self, model: str, request: Request) -> str:
        is_swapped = request.seat == "Ada" and request.prompt.summary.stance == "buy it"
        if is_swapped:
            raise ModelError("unavailable", "it is down")
        return super().answer(model, request)


async def test_a_mirror_that_cannot_be_held_leaves_the_verdict_as_it_is(tmp_path: Path) -> None:
    ended, mirror = await hold(tmp_path / "db", FailingInMirror(worth={"build it": 6}), mirror=True)

    report = build_report(ended.debate)
    assert (report.outcome, report.winner) == ("decided", "Ada")
    assert isinstance(ended.debate.mirror, MirrorSkipped)
    assert ended.debate.mirror.cause == "failed"
    assert "No mirror counts" in report.mirror.told
    assert mirror
    assert mirror.debate.paused
    assert "Its mirror" in report.cost


async def test_a_mirror_that_somebody_pauses_pauses_its_debate(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6}, delay=0.05)) as manager:
        started = await start_debate(manager, run=True, **describe_debate(mirror=True))
        mirror_id = await wait_for_mirror(manager, started.id)
        with anyio.fail_after(PATIENCE):
            await manager.intervene(mirror_id, "pause", InterventionRequest(), actor="test")
            async for snapshot in manager.watch_states(started.id):
                if snapshot.debate.paused:
                    break
            await manager.intervene(started.id, "resume", InterventionRequest(), actor="test")
            ended = await manager.follow(started.id, wait=PATIENCE)

    assert build_report(ended.debate).mirror.agrees


async def test_a_mirror_that_waits_for_a_caller_is_gone_on_without(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6}, delay=0.05)) as manager:
        started = await start_debate(manager, run=True, **describe_debate(mirror=True))
        mirror_id = await wait_for_mirror(manager, started.id)
        to_caller = InterventionRequest(to="judge 1", model="caller")
        await manager.intervene(mirror_id, "replace_model", to_caller, actor="test")
        with anyio.fail_after(PATIENCE):
            ended = await manager.follow(started.id, wait=PATIENCE)

    report = build_report(ended.debate)
    assert (report.outcome, report.winner) == ("decided", "Ada")
    assert "waits for its caller" in report.mirror.told


async def test_the_budget_of_a_day_pauses_a_debate_with_its_mirror_until_tomorrow(tmp_path: Path) -> None:
    now = datetime(2026, 12, 1, 12, tzinfo=UTC)
    planted = Planted(worth={"build it": 6})
    async with engine(tmp_path / "db", planted, daily_calls=13, clock=lambda: now) as manager:
        paused = await run_debate(manager, **describe_debate(mirror=True))
        assert paused.debate.paused
        assert paused.debate.paused.cause == "daily_budget"
        now += timedelta(days=1)
        with anyio.fail_after(PATIENCE):
            ended = await manager.follow(paused.id, wait=PATIENCE)

        assert build_report(ended.debate).mirror.agrees
        assert len(await find_mirrors(manager)) == 1


async def test_a_mirror_that_ran_out_of_time_before_anybody_spoke_does_not_count(tmp_path: Path) -> None:
    now = datetime(2026, 12, 1, 12, tzinfo=UTC)

    def pass_time(snapshot: DebateSnapshot) -> None:
        nonlocal now
        now += timedelta(seconds=150 if snapshot.debate.setup.mirror_of and not snapshot.debate.ended else 0)

    planted = Planted(worth={"build it": 6})
    async with engine(tmp_path / "db", planted, clock=lambda: now) as manager:
        manager.store.subscribe(pass_time)
        ended = await run_debate(manager, **describe_debate(mirror=True, limits={"max_seconds": 100}))

    report = build_report(ended.debate)
    assert (report.outcome, report.winner) == ("decided", "Ada")
    assert "it ended without a verdict" in report.mirror.told


class Rendezvous:
    """A store that says that there is no mirror once two have looked for it."""

    def __init__(self) -> None:
        self.looked, self.both = 0, anyio.Event()

    def join(self, store: DebateStore) -> DebateStore:
        async def load(debate_id: str) -> DebateSnapshot:
            try:
                return await store.load(debate_id)
            except DebateNotFoundError:
                self.looked += 1
                if self.looked == 2:
                    self.both.set()
                await self.both.wait()
                raise

        joined = replace(store)
        joined.load = load  # type: ignore[method-assign]
        return joined


async def test_two_processes_that_open_a_mirror_at_once_open_one(tmp_path: Path) -> None:
    planted, rendezvous = Planted(worth={"build it": 6}), Rendezvous()
    opened = list[DebateSnapshot]()
    async with engine(tmp_path / "db", planted) as one, engine(tmp_path / "db", planted) as other:
        ended = await run_debate(one, **describe_debate(mirror=True))

        async def open_mirror(manager: DebateManager) -> None:
            store = rendezvous.join(manager.store)
            holder = MirrorHolder(store, lambda _: NO_ELAPSED_TIME, lambda snapshot, _: Run(snapshot))
            opened.append(await holder.open(Run(ended), "2" * 12))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(open_mirror, one)
            tasks.start_soon(open_mirror, other)
        mirrors = await find_mirrors(one)

    assert {snapshot.entries[0].hash for snapshot in opened} == {opened[0].entries[0].hash}
    assert len(mirrors) == 2


async def test_what_stops_a_mirror_stops_its_debate_until_it_is_tried_again(tmp_path: Path) -> None:
    """Another installation has written to the mirror, so that it is not run here."""
    database = tmp_path / "db"
    planted = Planted(worth={"build it": 6}, delay=0.05)
    async with engine(database, planted) as manager:
        started = await start_debate(manager, run=True, **describe_debate(mirror=True))
        mirror_id = await wait_for_mirror(manager, started.id)
        await manager.intervene(started.id, "pause", InterventionRequest(), actor="test")
        with anyio.fail_after(PATIENCE):
            async for mirror in manager.watch_states(mirror_id):
                if mirror.debate.paused:
                    break
    async with engine(database, planted) as manager:
        await manager.store.storage.journal.seal(mirror_id, mirror.entries[-1].seq, "of another")
    async with engine(database, planted) as manager:
        await manager.intervene(started.id, "resume", InterventionRequest(), actor="test")
        with pytest.raises(ForeignRecordError), anyio.fail_after(PATIENCE):
            await manager.follow(started.id, wait=PATIENCE)
        await manager.store.claim(mirror_id)
        with anyio.fail_after(PATIENCE):
            ended = await manager.follow(started.id, wait=PATIENCE)

    assert build_report(ended.debate).mirror.agrees
