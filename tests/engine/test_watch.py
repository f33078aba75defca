"""`DebateManager.watch`: every entry once, in order, by whichever process, until the debate has ended."""

from collections.abc import Callable

import anyio
import pytest

from server.debate.facts.events import Recorded
from server.debate.interventions.action import InterventionRequest
from server.engine.database.errors import DatabaseLostError, DebateNotFoundError
from server.engine.debates import DebateManager
from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from tests.support.engines import open_engine, run_debate, start_debate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D26")]


async def collect(
    manager: DebateManager, debate_id: str, note: Callable[[Recorded], None], since_seq: int = 0
) -> None:
    with anyio.fail_after(PATIENCE):
        async for entry in manager.watch(debate_id, since_seq=since_seq):
            note(entry)


async def test_watchers_see_every_entry_once_as_it_is_recorded_and_stop_at_the_end(
    database: str,
) -> None:
    asked, release = anyio.Event(), anyio.Event()

    async def answer(request: Request) -> str:
        asked.set()
        await release.wait()
        return build_reply_text(request)

    async with open_engine(database, ScriptedModel(answer)) as running:
        snapshot = await start_debate(running, run=True)
        early: list[Recorded] = []
        late: list[Recorded] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(collect, running, snapshot.id, early.append)
            await asked.wait()
            with anyio.fail_after(PATIENCE):
                while not early or early[-1].event.kind != "phase_entered":
                    await anyio.lowlevel.checkpoint()
            assert [entry.event.kind for entry in early] == [
                "opened",
                "phase_entered",
            ]  # before anybody answers
            tasks.start_soon(collect, running, snapshot.id, late.append, 3)
            release.set()
        ended = await running.load(snapshot.id)

    assert ended.debate.ended
    assert tuple(early) == ended.entries
    assert tuple(late) == ended.entries[3:]


async def test_a_watcher_is_told_that_the_database_is_gone(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await start_debate(manager)
        entries = manager.watch(snapshot.id)
        assert (await anext(entries)).seq == 1
        await anyio.Path(database).unlink()
        with anyio.fail_after(PATIENCE), pytest.raises(DatabaseLostError):
            await anext(entries)


@pytest.mark.both_databases
async def test_what_others_record_meanwhile_is_seen_too(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as one, open_engine(database, ScriptedModel()) as two:
        snapshot = await start_debate(one)
        found: list[Recorded] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(collect, one, snapshot.id, found.append)
            await run_debate(one)  # of another debate it is told nothing
            for manager in (two, one, two):
                await manager.intervene(
                    snapshot.id, "inject", InterventionRequest(text="Mind the costs."), actor="test"
                )
                await manager.step(snapshot.id, wait=PATIENCE)
        ended = await two.load(snapshot.id)

    assert tuple(found) == ended.entries
    assert [entry.event.kind for entry in found].count("note_added") == 3


async def test_an_ended_debate_is_told_and_left_and_who_breaks_off_leaves_nothing_behind(
    database: str,
) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        ended = await run_debate(manager)
        found: list[Recorded] = []
        await collect(manager, ended.id, found.append, since_seq=-3)
        assert tuple(found) == ended.entries
        await collect(manager, ended.id, found.append, since_seq=99)
        assert tuple(found) == ended.entries

        listeners = len(manager.store.listeners)
        running = await start_debate(manager)
        entries = manager.watch(running.id)
        assert (await anext(entries)).seq == 1
        assert len(manager.store.listeners) == listeners + 1
        await entries.aclose()
        assert len(manager.store.listeners) == listeners
        with pytest.raises(DebateNotFoundError):
            await anext(manager.watch("nowhere"))
