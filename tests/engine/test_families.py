"""A debate with all that it is related to by forks."""

from pathlib import Path

import pytest

from server.debate.commands.requests import ChangesInput
from server.engine.queries import compare_family, load_family
from server.models.fakes.scripted import ScriptedModel
from server.upkeep.deletion import delete_debate
from tests.support.engines import alter_entries, open_engine, run_debate

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


async def test_relatives_that_cannot_be_read_are_named_beside_the_others(database: str | Path) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        parent = await run_debate(manager)
        forks = [
            await manager.fork(parent.id, 1, ChangesInput(instructions=f"Number {number}."), actor="test")
            for number in range(4)
        ]
        sound, damaged, impossible, deleted = forks
        alter_entries(str(database), "Number 1.", "Number 5.")
        stored = await manager.store.journal.read(impossible.id)
        body, end = stored[0].body, len(stored)
        await manager.store.journal.append(
            impossible.id, after=end, at=stored[-1].at, actor="x", bodies=[body]
        )
        await delete_debate(manager, deleted.id, actor="test")
        manager.store.recent.clear()

        relatives, unavailable = await compare_family(manager, await manager.load(parent.id))
        assert len(relatives) == 1
        assert set(unavailable) == {damaged.id, impossible.id}
        assert {member.id for member in await load_family(manager, parent, most=9)} == {parent.id, sound.id}
        assert (await compare_family(manager.of("somebody"), parent))[0] == []
