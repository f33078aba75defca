"""Mirrors: the same debate with the stances swapped, held by the server, counted beside it, and told apart."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.commands.intervene import InterventionRequest
from server.debate.commands.requests import ChangesInput
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.escalation import JudgesAdded, MirrorHeld, MirrorOpened, MirrorSkipped
from server.debate.rules.budget import NO_ELAPSED_TIME, compute_spending
from server.debate.views.verdict import build_report
from server.engine.database.errors import ForeignRecordError
from server.engine.database.ledger import read_judgments
from server.engine.database.store import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.mirrors import MirrorHolder
from server.engine.receipts import find_receipt
from server.engine.runner import Run
from server.engine.transfer import export_debate, restore_debate
from server.engine.verification import Keys, verify_file
from server.models import ModelError, Request
from tests.support.engines import open_engine, run_debate, start_debate
from tests.support.planted_effects import JUDGES, STANCES, Planted, describe_debate
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N5")]

DEBATERS = {name: f"{name.lower()}/m" for name in STANCES}
RESERVE = ["phi-4/r", "gemini/r"]
SPLIT = {JUDGES[0]: {"build it": 6.0}, JUDGES[1]: {"buy it": 6.0}}


@asynccontextmanager
async def engine(database: Path, planted: Planted, **settings: Any) -> AsyncIterator[DebateManager]:
    models = planted.build_models(DEBATERS, [*JUDGES, *RESERVE])
    async with open_engine(database, models, default="ada/m", **settings) as manager:
        yield manager


async def hold(
    database: Path, planted: Planted, *, sides: int = 2, judges: list[str] | None = None, **options: Any
) -> tuple[DebateSnapshot, DebateSnapshot | None]:
    """A debate to its end, and its mirror."""
    async with engine(database, planted) as manager:
        ended = await run_debate(manager, **describe_debate(sides, judges, **options))
        opened = ended.debate.mirror_opened
        return ended, await manager.load(opened.debate_id) if opened else None


async def wait_for_mirror(manager: DebateManager, debate_id: str) -> str:
    """The mirror's id, as soon as it is opened."""
    opened = (await wait_for(manager, debate_id, MirrorOpened)).debate.mirror_opened
    assert opened
    with anyio.fail_after(5):
        while opened.debate_id not in await find_mirrors(manager):
            await wait_before_next_poll()
    return opened.debate_id


async def find_mirrors(manager: DebateManager) -> list[str]:
    return [row.stream for row in await manager.find(limit=20) if row.details["mirror_of"]]


async def wait_for(manager: DebateManager, debate_id: str, kind: type) -> DebateSnapshot:
    """The debate as soon as such an event is recorded."""
    with anyio.fail_after(5):
        async for snapshot in manager.watch_states(debate_id):
            if any(isinstance(entry.event, kind) for entry in snapshot.entries):
                return snapshot
    raise AssertionError


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


async def test_of_three_sides_each_debater_argues_the_next_ones_stance(tmp_path: Path) -> None:
    planted = Planted(worth={"do without": 6})
    ended, mirror = await hold(tmp_path / "db", planted, sides=3, mirror=True)

    assert mirror
    stances = {debater.name: debater.stance for debater in mirror.debate.setup.debaters}
    assert stances == {"Ada": "buy it", "Ben": "do without", "Cleo": "build it"}
    report = build_report(ended.debate)
    assert (report.outcome, report.winner, report.mirror.agrees) == ("decided", "Cleo", True)
    assert mirror.debate.verdict
    assert mirror.debate.verdict.winner == "Ben"


async def test_judges_who_are_biased_to_a_side_stay_opposed_whoever_argues(tmp_path: Path) -> None:
    ended, _ = await hold(tmp_path / "db", Planted(bias=SPLIT), judges=JUDGES[:2], mirror="if_contested")

    report = build_report(ended.debate)
    assert ended.debate.mirror_opened
    assert ended.debate.mirror_opened.because == "contested"
    assert (report.outcome, report.mirror.position_effect, report.mirror.debater_effect) == (
        "contested",
        0.0,
        0.0,
    )


async def test_a_verdict_that_is_not_open_needs_no_mirror(tmp_path: Path) -> None:
    ended, mirror = await hold(tmp_path / "db", Planted(worth={"build it": 6}), mirror="if_contested")

    assert mirror is None
    assert build_report(ended.debate).mirror.told == ""


async def test_nobody_who_is_asked_in_a_mirror_is_told_that_it_is_one(tmp_path: Path) -> None:
    planted = Planted(skill={"Ada": 6})
    models = planted.build_models(DEBATERS, JUDGES)
    async with open_engine(tmp_path / "db", models, default="ada/m") as manager:
        ended = await run_debate(manager, **describe_debate(mirror=True))

    requests = [request for model in models.values() for request in model.requests]
    texts = [message.content for request in requests for message in request.prompt.messages]
    assert len(requests) == 2 * 10
    assert not [text for text in texts if "mirror" in text.casefold() or ended.id in text]


async def test_judges_in_reserve_are_asked_where_the_others_leave_it_open(tmp_path: Path) -> None:
    planted = Planted(worth={"build it": 3}, bias={JUDGES[1]: {"buy it": 9}})
    judges = {"models": JUDGES[:2], "reserve": RESERVE}
    async with engine(tmp_path / "db", planted) as manager:
        asked = describe_debate(mirror="if_contested") | {
            "options": {"judges": judges, "mirror": "if_contested"}
        }
        ended = await run_debate(manager, **asked)
        fork = await manager.fork(ended.id, 1, ChangesInput(), actor="test")

    assert [event.models for event in ended.debate.judges_added] == [tuple(RESERVE)]
    report = build_report(ended.debate)
    assert (report.outcome, report.winner, report.panel.asked) == ("leaning", "Ada", 4)
    assert ended.debate.mirror_opened is None
    assert fork.debate.setup.judges.models == tuple(JUDGES[:2])


@pytest.mark.parametrize(("max_calls", "is_held"), [(10, False), (15, False), (19, False), (20, True)])
async def test_a_mirror_is_held_only_where_the_budget_allows_all_of_it(
    tmp_path: Path, max_calls: int, is_held: bool
) -> None:
    ended, mirror = await hold(
        tmp_path / "db", Planted(worth={"build it": 6}), mirror=True, limits={"max_calls": max_calls}
    )

    report = build_report(ended.debate)
    assert compute_spending(ended.debate).calls == (20 if is_held else 10)
    assert isinstance(ended.debate.mirror, MirrorHeld if is_held else MirrorSkipped)
    assert report.winner == "Ada"
    assert ("10 of" in report.mirror.told) == (not is_held)
    assert ("Its mirror: 10 calls" in report.cost) == is_held
    assert mirror is None or mirror.debate.setup.limits.max_calls == 10


async def test_judges_in_reserve_are_asked_as_far_as_the_budget_goes(tmp_path: Path) -> None:
    judges = {"models": JUDGES[:2], "reserve": RESERVE}
    async with engine(tmp_path / "db", Planted(bias=SPLIT)) as manager:
        asked = describe_debate() | {
            "options": {"ballots": "none", "judges": judges, "limits": {"max_calls": 11}}
        }
        ended = await run_debate(manager, **asked)

    assert [event.models for event in ended.debate.judges_added] == [tuple(RESERVE[:1])]
    assert compute_spending(ended.debate).calls == 10


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

            manager.subscribe(count)
            await run_debate(manager, **describe_debate(mirror=True))
    async with engine(database, planted) as manager:
        rows = await manager.find(limit=20)
        [debate_id] = [row.stream for row in rows if not row.details["mirror_of"]]
        ended = await manager.join(debate_id, run=True)
        with anyio.fail_after(10):
            ended = await manager.follow(debate_id, wait=10)
        mirrors = await find_mirrors(manager)

    report = build_report(ended.debate)
    assert (report.outcome, report.mirror.agrees) == ("decided", True)
    assert mirrors == [report.mirror.debate_id]
    assert len(ended.debate.judgments) == 6


async def test_pausing_a_debate_pauses_its_mirror_and_resuming_goes_on_with_it(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6}, delay=0.05)) as manager:
        asked = {"actor": "test"}
        started = await start_debate(manager, run=True, **describe_debate(mirror=True))
        mirror_id = await wait_for_mirror(manager, started.id)
        await manager.intervene(started.id, "pause", InterventionRequest(), **asked)
        with anyio.fail_after(5):
            async for mirror in manager.watch_states(mirror_id):
                if mirror.debate.paused:
                    break
        assert (await manager.load(started.id)).status == "paused"
        await manager.intervene(started.id, "resume", InterventionRequest(), **asked)
        with anyio.fail_after(10):
            ended = await manager.follow(started.id, wait=10)

        assert build_report(ended.debate).mirror.agrees
        assert await find_mirrors(manager) == [mirror_id]


async def test_concluding_a_debate_goes_on_without_its_mirror(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6}, delay=0.05)) as manager:
        started = await start_debate(manager, run=True, **describe_debate(mirror=True))
        await wait_for(manager, started.id, MirrorOpened)
        _, effect = await manager.intervene(started.id, "conclude", InterventionRequest(), actor="test")
        with anyio.fail_after(5):
            ended = await manager.follow(started.id, wait=5)

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
        with anyio.fail_after(5):
            await manager.intervene(mirror_id, "pause", InterventionRequest(), actor="test")
            async for snapshot in manager.watch_states(started.id):
                if snapshot.debate.paused:
                    break
            await manager.intervene(started.id, "resume", InterventionRequest(), actor="test")
            ended = await manager.follow(started.id, wait=5)

    assert build_report(ended.debate).mirror.agrees


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
        rows = await read_judgments(manager.store.journal)
        await manager.intervene(ended.id, "outcome", InterventionRequest(to="Ben"), actor="test")
        corrected = await read_judgments(manager.store.journal)

    told = sorted((row.item, row.judge, row.is_right) for row in rows)
    own, other = f"debate {ended.id}", f"mirror of debate {ended.id}"
    assert told == sorted(
        [*((own, judge, True) for judge in JUDGES), *((other, judge, False) for judge in JUDGES)]
    )
    assert {(row.item, row.is_right) for row in corrected} == {(own, False), (other, True)}


async def test_a_fork_holds_a_mirror_of_its_own(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6})) as manager:
        ended = await run_debate(manager, **describe_debate(mirror=True))
        fork = await manager.fork(ended.id, 1, ChangesInput(run=True), actor="test")
        with anyio.fail_after(10):
            fork = await manager.follow(fork.id, wait=10)
        mirrors = await find_mirrors(manager)
        mirror = await manager.load(build_report(ended.debate).mirror.debate_id)
        of_mirror = await manager.fork(mirror.id, 1, ChangesInput(), actor="test")

    assert len(mirrors) == 2
    assert build_report(fork.debate).mirror.agrees
    assert of_mirror.debate.setup.mirror_of == ""
    assert JudgesAdded not in {type(entry.event) for entry in fork.entries}


async def test_a_mirror_that_waits_for_a_caller_is_gone_on_without(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6}, delay=0.05)) as manager:
        started = await start_debate(manager, run=True, **describe_debate(mirror=True))
        mirror_id = await wait_for_mirror(manager, started.id)
        to_caller = InterventionRequest(to="judge 1", model="caller")
        await manager.intervene(mirror_id, "replace_model", to_caller, actor="test")
        with anyio.fail_after(10):
            ended = await manager.follow(started.id, wait=10)

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
        with anyio.fail_after(10):
            ended = await manager.follow(paused.id, wait=10)

        assert build_report(ended.debate).mirror.agrees
        assert len(await find_mirrors(manager)) == 1


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


async def test_a_mirror_that_ran_out_of_time_before_anybody_spoke_does_not_count(tmp_path: Path) -> None:
    now = datetime(2026, 12, 1, 12, tzinfo=UTC)

    def pass_time(snapshot: DebateSnapshot) -> None:
        nonlocal now
        now += timedelta(seconds=150 if snapshot.debate.setup.mirror_of and not snapshot.debate.ended else 0)

    planted = Planted(worth={"build it": 6})
    async with engine(tmp_path / "db", planted, clock=lambda: now) as manager:
        manager.subscribe(pass_time)
        ended = await run_debate(manager, **describe_debate(mirror=True, limits={"max_seconds": 100}))

    report = build_report(ended.debate)
    assert (report.outcome, report.winner) == ("decided", "Ada")
    assert "it ended without a verdict" in report.mirror.told


async def test_two_processes_that_open_a_mirror_at_once_open_one(tmp_path: Path) -> None:
    planted = Planted(worth={"build it": 6})
    opened = list[DebateSnapshot]()
    async with engine(tmp_path / "db", planted) as one, engine(tmp_path / "db", planted) as other:
        ended = await run_debate(one, **describe_debate(mirror=True))

        async def open_mirror(manager: DebateManager) -> None:
            holder = MirrorHolder(manager.store, lambda _: NO_ELAPSED_TIME, lambda snapshot, _: Run(snapshot))
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
        with anyio.fail_after(5):
            async for mirror in manager.watch_states(mirror_id):
                if mirror.debate.paused:
                    break
    async with engine(database, planted) as manager:
        await manager.store.journal.set_seal(mirror_id, mirror.entries[-1].seq, "of another")
    async with engine(database, planted) as manager:
        await manager.intervene(started.id, "resume", InterventionRequest(), actor="test")
        with pytest.raises(ForeignRecordError), anyio.fail_after(5):
            await manager.follow(started.id, wait=5)
        await manager.adopt(mirror_id)
        with anyio.fail_after(10):
            ended = await manager.follow(started.id, wait=10)

    assert build_report(ended.debate).mirror.agrees


async def test_a_fork_after_the_judges_asks_for_a_mirror_of_its_own(tmp_path: Path) -> None:
    async with engine(tmp_path / "db", Planted(worth={"build it": 6})) as manager:
        ended = await run_debate(manager, **describe_debate(mirror=True, synthesizer=True))
        fork = await manager.fork(ended.id, 3, ChangesInput(run=True), actor="test")
        with anyio.fail_after(10):
            fork = await manager.follow(fork.id, wait=10)

    report, origin = build_report(fork.debate), build_report(ended.debate)
    assert (report.mirror.agrees, report.deliverable != "") == (True, True)
    assert report.mirror.debate_id != origin.mirror.debate_id
