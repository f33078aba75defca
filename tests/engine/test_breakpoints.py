"""Debates that run by themselves stop at their breakpoints, in any process, and hooks can stop them too."""

from typing import Any

import anyio
import pytest

from server.debate.facts.events import Paused
from server.debate.interventions.action import InterventionRequest
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, start_debate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D23")]


async def run_until_it_stops(manager: DebateManager, *pause_when: str, **fields: Any) -> DebateSnapshot:
    options = {"pause_when": list(pause_when)}
    snapshot = await start_debate(manager, run=True, options=options, **fields)
    with anyio.fail_after(PATIENCE):
        return await manager.follow(snapshot.id, wait=PATIENCE)


async def resume(manager: DebateManager, debate_id: str) -> DebateSnapshot:
    await manager.intervene(debate_id, "resume", InterventionRequest(), actor="test")
    with anyio.fail_after(PATIENCE):
        return await manager.follow(debate_id, wait=PATIENCE)


async def test_it_stops_before_its_verdict_and_recovery_leaves_it_there_until_it_is_resumed(
    database: str,
) -> None:
    first, second = ScriptedModel(), ScriptedModel()
    async with open_engine(database, first) as manager:
        snapshot = await run_until_it_stops(manager, "verdict")
        assert (snapshot.status, manager.is_working(snapshot.id)) == ("paused", False)
        assert (await manager.follow(snapshot.id, wait=0.1)).debate.version == snapshot.debate.version
        assert (await manager.step(snapshot.id, wait=0.1)).debate.version == snapshot.debate.version
    async with open_engine(database, second, recover=True) as manager:
        for _ in range(3):
            await wait_before_next_poll()
        assert (await manager.load(snapshot.id)).debate.version == snapshot.debate.version
        ended = await resume(manager, snapshot.id)

    assert ended.status == "concluded"
    assert [request.prompt.summary.task for request in first.requests] == ["argument"] * 4
    assert [request.prompt.summary.task for request in second.requests] == ["judgment"] * 2


async def test_a_stepped_debate_stops_where_its_next_step_would_pass(database: str) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        snapshot = await start_debate(manager, options={"pause_when": ["round:2"]})
        assert (await manager.step(snapshot.id, wait=PATIENCE)).debate.round == 1
        stopped = await manager.step(snapshot.id, wait=PATIENCE)
        assert (stopped.status, stopped.debate.round) == ("paused", 1)
        await manager.intervene(snapshot.id, "resume", InterventionRequest(), actor="test")
        assert (await manager.step(snapshot.id, wait=PATIENCE)).debate.round == 2


PAUSE = {"intervene": {"action": "pause"}}


@pytest.mark.needs("server.hooks")
@pytest.mark.requirement("D6")
@pytest.mark.parametrize(
    ("on", "when", "stops_in"),
    [
        ("agent_message", {"round": 2}, 2),
        ("phase_start", {"phase": "verdict"}, 3),
        ("debate_start", {}, 0),
    ],
)
async def test_a_hook_stops_a_debate_before_its_judges_are_asked(
    database: str, on: str, when: dict[str, object], stops_in: int
) -> None:
    from tests.support.hook_debates import hook, open_hooks  # noqa: PLC0415  (of an optional package)

    model = ScriptedModel()
    async with open_hooks(database, hook("hold", on, PAUSE, **when), models={"scripted": model}) as manager:
        snapshot = await run_until_it_stops(manager)
        assert (snapshot.status, snapshot.debate.round) == ("paused", stops_in)
        assert not any(request.prompt.summary.task == "judgment" for request in model.requests)
        by = [entry.actor for entry in snapshot.entries if isinstance(entry.event, Paused)]
        assert by == ["hook hold"]
        ended = await resume(manager, snapshot.id)
        while ended.debate.paused:  # each message of the round is an event of its own
            ended = await resume(manager, snapshot.id)
    assert ended.status == "concluded"
