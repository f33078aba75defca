"""What an adopted record says of its origin takes no place in memory from the debates that are here."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from server.debate.commands.requests import ChangesInput
from server.engine.database.memory import recall
from server.engine.database.snapshots import DebateSnapshot, build_debate_id
from server.engine.debates import DebateManager
from server.engine.transfer import export_debate, restore_debate
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, run_debate
from tests.support.patience import PATIENCE
from tests.support.records import build_export

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D18", "D8")]

BILLING = "Should we rewrite the billing service in Rust?"
ABSENT = "k3x9w2m4p7qr"


async def embed(texts: Any, _: str) -> tuple[list[tuple[float, float]], None]:
    return [(1.0, 0.0) if "billing" in text else (0.0, 1.0) for text in texts], None


@asynccontextmanager
async def open_installations(*databases: str | Path) -> AsyncIterator[list[DebateManager]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_engine(one, ScriptedModel())) for one in databases]


async def recall_ids(manager: DebateManager, *, by_meaning: bool) -> set[str]:
    manager.store.embed = embed if by_meaning else None
    return {one.recalled.debate_id for one in await recall(manager.store, BILLING, limit=9)}


async def export(manager: DebateManager, debate_id: str) -> dict[str, Any]:
    return dict(json.loads(json.dumps(await export_debate(manager, debate_id))))


async def restore_and_adopt(manager: DebateManager, file: dict[str, Any]) -> DebateSnapshot:
    restored, _ = await restore_debate(manager, file)
    return await manager.store.adopt(restored.id)


async def fork(manager: DebateManager, parent: DebateSnapshot) -> DebateSnapshot:
    forked = await manager.fork(parent.id, 0, ChangesInput(run=True, seed=7), actor="test")
    return await manager.follow(forked.id, wait=PATIENCE)


async def export_claim(manager: DebateManager, **origin: str) -> dict[str, Any]:
    """A debate on the same question, as the file of a fork that says of itself where it comes from."""
    forked = await fork(manager, await run_debate(manager, question=BILLING))
    bodies = [entry["body"] for entry in (await export(manager, forked.id))["entries"]]
    bodies[0] |= origin
    return build_export(build_debate_id(), bodies)


@pytest.mark.full
@pytest.mark.parametrize("by_meaning", [False, True])
async def test_a_record_that_says_it_is_a_fork_hides_no_debate(
    database: str, tmp_path: Path, by_meaning: bool
) -> None:
    async with open_installations(tmp_path / "elsewhere", database) as (elsewhere, here):
        own = await run_debate(here, question=BILLING)
        claim = await export_claim(elsewhere, forked_from=own.id, forked_root=own.id)
        orphan = await export_claim(elsewhere, forked_from=ABSENT, forked_root=own.id)
        for file in (claim, orphan):
            await restore_and_adopt(here, file)
        found = await recall_ids(here, by_meaning=by_meaning)
        assert found == {own.id, claim["debate_id"], orphan["debate_id"]}


async def test_a_record_hides_no_debate_that_is_imported_after_it(database: str, tmp_path: Path) -> None:
    async with open_installations(tmp_path / "elsewhere", database) as (elsewhere, here):
        later = await run_debate(elsewhere, question=BILLING)
        claim = await export_claim(elsewhere, forked_from=later.id, forked_root=later.id)
        for file in (claim, await export(elsewhere, later.id)):
            await restore_and_adopt(here, file)
        assert await recall_ids(here, by_meaning=False) == {later.id, claim["debate_id"]}
