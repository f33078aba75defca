"""A debate with all that it is related to by forks."""

from pathlib import Path

import pytest

from server.debate.commands.requests import ChangesInput
from server.engine.queries import load_family
from server.models.fakes.scripted import ScriptedModel
from server.upkeep.deletion import delete_debate
from tests.support.engines import open_engine, run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]


async def test_a_family_holds_forks_of_forks_and_none_that_was_deleted(database: str | Path) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        parent = await run_debate(manager)
        fork, sibling = [(await manager.fork(parent.id, 1, ChangesInput(), actor="test")).id for _ in "ab"]
        grandchild = (await manager.fork(fork, 1, ChangesInput(), actor="test")).id
        related = {parent.id, fork, sibling, grandchild}

        family = await load_family(manager, await manager.load(grandchild), most=9)
        assert family[0].id == grandchild
        assert {member.id for member in family} == related
        assert len(await load_family(manager, parent, most=2)) == 2

        await delete_debate(manager, fork, actor="test")
        left = await load_family(manager, await manager.load(grandchild), most=9)
        assert fork not in {member.id for member in left}
