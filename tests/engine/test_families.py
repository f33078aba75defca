"""A debate with all that it is related to by forks."""

from pathlib import Path

import pytest

from server.debate.commands.requests import ChangesInput
from server.debate.interventions.action import InterventionRequest
from server.debate.views.catalog import VIEWS
from server.debate.views.compare import render_comparison
from server.engine.database.errors import DebateDeletedError
from server.engine.queries import compare_family, load_family, load_view_source
from server.engine.transfer import export_debate, restore_debate
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import alter_entries, open_engine, run_debate
from tests.support.upkeep import delete_debate, needs_upkeep

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]


@pytest.mark.both_databases
@needs_upkeep
async def test_a_family_holds_forks_of_forks_and_none_that_was_deleted(database: str | Path) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        parent = await run_debate(manager)
        fork, sibling = [(await manager.fork(parent.id, 1, ChangesInput(), actor="test")).id for _ in "ab"]
        grandchild = (await manager.fork(fork, 1, ChangesInput(), actor="test")).id
        related = {parent.id, fork, sibling, grandchild}

        family = await load_family(manager, await manager.load(grandchild), limit=9)
        assert [member.id for member in family.members] == [grandchild, fork, parent.id, sibling]
        assert ({member.id for member in family.members}, family.left_out) == (related, 0)
        nearest = await load_family(manager, parent, limit=2)
        assert [member.id for member in nearest.members] == [parent.id, sibling, fork]
        assert nearest.left_out == 1

        await delete_debate(manager, fork, actor="test")
        left = await load_family(manager, await manager.load(grandchild), limit=9)
        assert ({member.id for member in left.members}, left.left_out) == (related - {fork}, 0)


@pytest.mark.both_databases
@needs_upkeep
async def test_relatives_that_cannot_be_read_are_named_beside_the_others(database: str | Path) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        parent = await run_debate(manager)
        forks = [
            await manager.fork(parent.id, 1, ChangesInput(instructions=f"Number {number}."), actor="test")
            for number in range(4)
        ]
        sound, damaged, impossible, deleted = forks
        alter_entries(str(database), "Number 1.", "Number 5.")
        stored = await manager.store.storage.journal.read(impossible.id)
        body, end = stored[0].body, len(stored)
        await manager.store.storage.journal.append(
            impossible.id, after=end, at=stored[-1].at, actor="x", bodies=[body]
        )
        await delete_debate(manager, deleted.id, actor="test")
        manager.store.recent.clear()

        found = await compare_family(manager, await manager.load(parent.id))
        assert (len(found.relatives), found.left_out) == (1, 0)
        assert set(found.unavailable) == {damaged.id, impossible.id}
        family = await load_family(manager, parent, limit=9)
        assert {member.id for member in family.members} == {parent.id, sound.id}
        assert family.left_out == 2
        assert (await compare_family(manager.of("somebody"), parent)).relatives == []


@needs_upkeep
async def test_relatives_beyond_the_limit_are_told_of(database: str | Path) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        parent = await run_debate(manager)
        forks = [(await manager.fork(parent.id, 1, ChangesInput(), actor="test")).id for _ in range(23)]

        view = (await load_view_source(manager, parent.id, VIEWS["family"])).family
        assert [pair["other"]["debate_id"] for pair in view["relatives"]] == forks[:2:-1]
        assert (view["left_out"], view["unavailable"]) == (3, [])
        assert view["note"].startswith("3 more relatives are not compared here")

        sibling = await compare_family(manager, await manager.load(forks[0]))
        assert sibling.relatives[0]["other"]["debate_id"] == parent.id
        assert sibling.left_out == 3

        await delete_debate(manager, parent.id, actor="test")
        view = (await load_view_source(manager, forks[0], VIEWS["family"])).family
        assert (len(view["relatives"]), view["left_out"], view["unavailable"]) == (19, 3, [parent.id])
        assert view["note"].startswith(f"Not in this database, or not readable: {parent.id}. 3 more")


async def test_forks_without_their_parent_are_a_family_where_they_are_imported(
    database: str, tmp_path: Path
) -> None:
    async with open_engine(database, ScriptedModel()) as one, open_engine(tmp_path / "there.db") as two:
        parent = await run_debate(one)
        fork, sibling = [(await one.fork(parent.id, 1, ChangesInput(), actor="test")).id for _ in "ab"]
        grandchild = (await one.fork(fork, 1, ChangesInput(), actor="test")).id
        for debate_id in (grandchild, sibling):
            await restore_debate(two, await export_debate(one, debate_id))

        family = await load_family(two, await two.load(sibling), limit=9)
        assert [member.id for member in family.members] == [sibling, grandchild]
        assert await compare_family(two, await two.load(sibling)) == ([], [parent.id], 0)

        for debate_id in (parent.id, fork):
            await restore_debate(two, await export_debate(one, debate_id))
        family = await load_family(two, await two.load(sibling), limit=9)
        assert [member.id for member in family.members] == [sibling, parent.id, fork, grandchild]


async def test_to_each_owner_the_forks_of_another_are_not_there(database: str, tmp_path: Path) -> None:
    async with open_engine(database, ScriptedModel()) as one, open_engine(tmp_path / "there.db") as two:
        parent = await run_debate(one)
        forks = [await one.fork(parent.id, 1, ChangesInput(), actor="test") for _ in "ab"]
        for owner, debate in (("ann", parent), ("ann", forks[0]), ("ben", forks[1])):
            await restore_debate(two.of(owner), await export_debate(one, debate.id))

        hers, his = two.of("ann"), two.of("ben")
        family = await load_family(hers, await hers.load(parent.id), limit=9)
        assert ([member.id for member in family.members], family.left_out) == ([parent.id, forks[0].id], 0)
        assert await compare_family(his, await his.load(forks[1].id)) == ([], [parent.id], 0)
        assert (await load_family(his, await his.load(forks[1].id), limit=9)).members[1:] == []


async def test_a_relative_that_was_taken_back_says_so(database: str | Path) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        parent = await run_debate(manager)
        fork = await manager.fork(parent.id, 1, ChangesInput(), actor="test")
        await manager.intervene(fork.id, "tag", InterventionRequest(text="retracted"), actor="test")

        (found,) = (await compare_family(manager, parent)).relatives
        assert found["other"]["tags"] == ["retracted"]
        assert "- tags: retracted" in render_comparison(found)


@needs_upkeep
async def test_entries_of_many_are_not_made_up_where_one_was_deleted(database: str | Path) -> None:
    async with open_engine(database, ScriptedModel()) as manager:
        kept, deleted = await run_debate(manager), await run_debate(manager)
        read = await manager.store.read_entries(kept, deleted)
        assert read[kept.id] == await manager.store.storage.journal.read(kept.id)
        await delete_debate(manager, deleted.id, actor="test")
        with pytest.raises(DebateDeletedError):
            await manager.store.read_entries(kept, deleted)
