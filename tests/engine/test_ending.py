"""The end of a process: whoever waits for a debate takes what there is, and the debate is left as it stands."""

import anyio
import pytest

from server.engine.database.snapshots import DebateSnapshot
from tests.support.engines import open_engine, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "M4")]


@pytest.mark.parametrize("same_process", [True, False])
async def test_who_waits_is_answered_when_the_process_ends_and_nobody_waits_any_more(
    database: str, same_process: bool
) -> None:
    gate = Gate()
    async with open_engine(database, gate.model) as running, open_engine(database, gate.model) as other:
        ending = running if same_process else other
        debate_id = (await start_debate(running, run=True)).id
        await gate.wait_for_call()
        found: list[DebateSnapshot] = []

        async def wait() -> None:
            found.append(await ending.follow(debate_id, wait=60))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                for _ in range(20):
                    await anyio.lowlevel.checkpoint()
                assert not found
                ending.end_waits()
            await wait()

        assert [snapshot.status for snapshot in found] == ["running", "running"]
        assert running.is_working(debate_id)


async def test_who_waits_for_a_person_goes_on_without_an_answer_when_the_process_ends() -> None:
    async with open_engine(":memory:") as manager:
        went_on: list[str] = []

        async def ask(who: str) -> None:
            with manager.await_person():
                await anyio.sleep_forever()
            went_on.append(who)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, "before")
                await anyio.lowlevel.checkpoint()
                manager.end_waits()
            await ask("after")
    assert went_on == ["before", "after"]
