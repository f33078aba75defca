"""What searches find of a debate in which a turn was retracted: what stands."""

from pathlib import Path

import pytest

from server.debate.commands.requests import ChangesInput
from server.debate.interventions.action import InterventionRequest
from server.engine.debates import DebateManager
from server.engine.transfer import export_debate, restore_debate
from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from tests.support.engines import open_engine, run_round
from tests.support.patience import PATIENCE
from tests.support.upkeep import check_database, needs_upkeep

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D4")]

POSITIONS = ["Ada: for", "Ben: against"]


def speak(request: Request) -> str:
    """Each turn has a word of its own, and all have one in common."""
    summary = request.prompt.summary
    if summary.task == "argument":
        return f"The {request.seat.lower()}quagga{summary.round} grazes."
    return build_reply_text(request)


async def find(manager: DebateManager, query: str) -> list[str]:
    return [listed.stream for listed in await manager.store.find(query)]


async def retract(manager: DebateManager, debate_id: str) -> None:
    await manager.intervene(debate_id, "retract", InterventionRequest(to="Ada", round=1), actor="test")


async def check_what_is_found(manager: DebateManager, debates: list[str]) -> None:
    assert await find(manager, "adaquagga1") == []
    for kept in ("benquagga1", "grazes", "ship tapir"):
        assert await find(manager, kept) == debates


async def test_a_search_finds_no_words_of_a_retracted_turn_but_those_said_elsewhere(database: str) -> None:
    async with open_engine(database, ScriptedModel(speak)) as manager:
        opened = await run_round(manager, question="Ship the tapir?", debaters=POSITIONS)
        assert await find(manager, "adaquagga1") == [opened.id]

        await retract(manager, opened.id)
        await check_what_is_found(manager, [opened.id])
        await manager.step(opened.id, wait=PATIENCE)
        await check_what_is_found(manager, [opened.id])


@pytest.mark.both_databases
@needs_upkeep
async def test_nor_where_the_index_is_built_again(database: str) -> None:
    async with open_engine(database, ScriptedModel(speak)) as manager:
        opened = await run_round(manager, question="Ship the tapir?", debaters=POSITIONS)
        await retract(manager, opened.id)
        assert (await check_database(manager)).problems == ()

        await manager.store.storage.index.clear()
        (problem,) = (await check_database(manager)).problems
        assert problem.is_rebuilt
        await check_what_is_found(manager, [opened.id])


async def test_nor_in_its_forks_and_copies(database: str, tmp_path: Path) -> None:
    async with open_engine(database, ScriptedModel(speak)) as manager:
        opened = await run_round(manager, question="Ship the tapir?", debaters=POSITIONS)
        await manager.step(opened.id, wait=PATIENCE)
        await retract(manager, opened.id)
        fork = await manager.fork(opened.id, 1, ChangesInput(), actor="test")
        await check_what_is_found(manager, [fork.id, opened.id])
        exported = await export_debate(manager, opened.id)
    async with open_engine(tmp_path / "other.db", ScriptedModel(speak)) as manager:
        await restore_debate(manager, exported)
        await check_what_is_found(manager, [opened.id])


async def test_nor_of_one_retracted_before_it_may_be_read(database: str) -> None:
    async with open_engine(database, ScriptedModel(speak)) as manager:
        debaters = [*POSITIONS, "Cal: neither@caller"]
        opened = await run_round(manager, question="Ship the tapir?", debaters=debaters)
        assert opened.debate.turns
        await retract(manager, opened.id)
        await manager.intervene(opened.id, "conclude", InterventionRequest(), actor="test")
        await check_what_is_found(manager, [opened.id])
