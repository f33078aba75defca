"""Records that a newer release has written in: they are shown and kept, and left to that release."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from server.debate.commands.interventions.request import InterventionRequest
from server.debate.commands.requests import ChangesInput
from server.debate.facts.answers import Unknown
from server.debate.views.events import build_event_page
from server.debate.views.state import build_state
from server.engine.database.errors import NewerRecordError, StorageUnavailableError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.receipts import make_receipt
from server.engine.recovery import Recovery
from server.engine.transfer import export_debate
from server.models.fakes.scripted import ScriptedModel
from server.upkeep.check import NEWER, check_database
from server.upkeep.copy import copy_debates
from server.upkeep.prune import prune_debates
from storage.contract.streams import StreamSummary
from storage.sqlite import SqliteJournal
from tests.support.engines import open_engine, run_debate, run_round, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "M3")]

APPLAUDED = {"kind": "applauded", "round": 1, "loud": True}
ACTOR = "newer"


async def write_as_newer(manager: DebateManager, debate_id: str, *bodies: Mapping[str, Any]) -> None:
    """Record what this release cannot, as a newer one would: with the heading that it makes of it."""
    journal = manager.store.journal
    after = (await journal.head(debate_id))[0]
    stored = await journal.read_summary(debate_id)
    summary = StreamSummary(stored.title, stored.status, {**stored.details, "applause": 1}, "applause")
    await journal.append(
        debate_id, after=after, at="2099-01-01T00:00:00.000Z", actor=ACTOR, bodies=bodies, summary=summary
    )


async def open_newer(manager: DebateManager, *bodies: Mapping[str, Any]) -> DebateSnapshot:
    """A debate after its first round, with entries of a newer release behind it."""
    snapshot = await run_round(manager)
    await write_as_newer(manager, snapshot.id, *(bodies or (APPLAUDED,)))
    return await manager.load(snapshot.id)


async def test_a_record_with_an_unknown_event_is_shown_and_exported(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await open_newer(manager)
        assert isinstance(snapshot.entries[-1].event, Unknown)
        assert snapshot.debate.turns
        state = build_state(snapshot)
        assert state["reason"].startswith(
            "A newer release has recorded what this one cannot read (applauded)"
        )
        row = build_event_page(snapshot, len(snapshot.entries) - 1)["events"][0]
        assert (row["kind"], row["names"], "loud" in row) == ("applauded", ["unknown"], False)
        exported = await export_debate(manager, snapshot.id)
        assert exported["entries"][-1]["body"] == APPLAUDED
        assert [found.stream for found in await manager.store.find("applause")] == [snapshot.id]


async def test_it_is_not_continued_and_says_so(database: str) -> None:
    model = ScriptedModel()
    async with open_engine(database, model) as manager:
        snapshot = await open_newer(manager)
        asked = len(model.requests)
        request = InterventionRequest(text="Mind the cost.")
        for refused in (
            manager.step(snapshot.id, wait=5),
            manager.store.adopt(snapshot.id),
            manager.submit(snapshot.id, "Proponent", "No.", actor=ACTOR),
            manager.intervene(snapshot.id, "inject", request, actor=ACTOR),
            manager.intervene(snapshot.id, "conclude", InterventionRequest(), actor=ACTOR),
            manager.fork(snapshot.id, 1, ChangesInput(), actor=ACTOR),
        ):
            with pytest.raises(NewerRecordError, match=f"Debate {snapshot.id}: A newer release has recorded"):
                await refused
        with anyio.fail_after(PATIENCE):
            assert await manager.follow(snapshot.id, wait=60) == snapshot
        assert (await manager.load(snapshot.id)).entries == snapshot.entries
    assert len(model.requests) == asked


async def test_what_follows_from_it_is_unknown_too(database: str) -> None:
    """Such as turns of a phase that only the newer release knows."""
    entered = {"kind": "phase_entered", "phase": "applause", "round": 2, "order": ["Proponent", "Opponent"]}
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await open_newer(
            manager, APPLAUDED, entered, {"kind": "tagged", "round": 1, "tags": ["x"]}
        )
        assert [event.kind for event in snapshot.debate.unknown] == ["applauded", "phase_entered"]
        assert snapshot.debate.round == 1
        assert snapshot.debate.tags == ("x",)
        manager.run_to_end(snapshot)
        assert not manager.is_working(snapshot.id)
        assert snapshot.debate.version == len(snapshot.entries)


async def test_a_new_field_of_a_known_event_is_left_aside(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await open_newer(manager, {"kind": "tagged", "round": 1, "tags": ["x"], "colour": "red"})
        assert snapshot.debate.tags == ("x",)
        assert not snapshot.is_whole

        opened = snapshot.entries[0].event.model_dump(mode="json") | {"colour": "red"}
        await manager.store.journal.append(
            "d-newer", after=0, at="2026-01-01T00:00:00.000Z", actor=ACTOR, bodies=[opened]
        )
        newer = await manager.load("d-newer")
        assert (newer.debate.setup.question, newer.is_whole) == ("Ship it?", False)


@pytest.mark.parametrize("body", [{"kind": "opened", "question": 1}, {"kind": 1}, APPLAUDED])
async def test_a_debate_whose_beginning_cannot_be_read_says_so(database: str, body: dict[str, Any]) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        await manager.store.journal.append(
            "d-odd", after=0, at="2026-01-01T00:00:00.000Z", actor=ACTOR, bodies=[body]
        )
        with pytest.raises(StorageUnavailableError, match="update counterpoint-mcp"):
            await manager.load("d-odd")


async def test_who_runs_a_debate_leaves_it_when_a_newer_release_has_recorded_in_it(database: str) -> None:
    gate = Gate()
    async with open_engine(database, gate.model) as manager:
        snapshot = await start_debate(manager, run=True)
        await gate.wait_for_call()
        await write_as_newer(manager, snapshot.id, APPLAUDED)
        gate.release.set()
        with anyio.fail_after(PATIENCE):
            while manager.is_working(snapshot.id) or snapshot.id in await manager.leases.find_holders():
                await wait_before_next_poll()
            left = await manager.follow(snapshot.id, wait=60)
        assert not left.is_whole
        assert len(left.entries) == (await manager.store.journal.head(snapshot.id))[0]


async def test_recovery_leaves_it_to_the_newer_release(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    model, gate = ScriptedModel(), Gate()
    async with open_engine(database, gate.model) as manager:
        snapshot = await start_debate(manager, run=True)
        await gate.wait_for_call()
        await write_as_newer(manager, snapshot.id, APPLAUDED)
    async with open_engine(database, model) as manager:
        recovery = Recovery(manager, max_age_hours=1e6, concurrency=2)
        manager.start_task(recovery.run, 0.01)
        with anyio.fail_after(PATIENCE):
            while f"{snapshot.id} is not resumed: a newer release" not in caplog.text:
                await wait_before_next_poll()
        assert recovery.in_progress == {snapshot.id}
    assert caplog.text.count("is not resumed") == 1
    assert model.requests == []


async def test_no_receipt_is_signed_of_what_cannot_be_read(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await run_debate(manager)
        await write_as_newer(manager, snapshot.id, APPLAUDED)
        newer = await manager.load(snapshot.id)
        assert newer.status == "concluded"
        assert "A newer release" in (await make_receipt(manager, newer)).problem
        exported = await export_debate(manager, snapshot.id)
        assert len(exported["entries"]) == len(newer.entries)


async def test_upkeep_leaves_its_heading_and_its_words(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await open_newer(manager)
        journal = manager.store.journal
        before = await journal.read_summary(snapshot.id)
        found = await check_database(manager)
        assert [(one.debate_id, one.text) for one in found.problems] == [(snapshot.id, NEWER)]
        assert await journal.read_summary(snapshot.id) == before
        assert [one.stream for one in await manager.store.find("applause")] == [snapshot.id]

        target = await SqliteJournal.open(":memory:")
        try:
            copied = await copy_debates(manager, target)
            assert copied.problems == []
            assert (await target.read(snapshot.id))[-1].body == APPLAUDED
            assert (await target.read_summary(snapshot.id)).details["applause"] == 1
        finally:
            await target.close()


async def test_it_is_not_pruned(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await run_debate(manager)
        at, after = snapshot.entries[-1].at, len(snapshot.entries)
        journal = manager.store.journal
        await journal.append(snapshot.id, after=after, at=at, actor=ACTOR, bodies=[APPLAUDED])
        result = await prune_debates(manager, 0, actor=ACTOR)
        assert (result.debate_ids, result.spared) == ([], {snapshot.id: NEWER})
