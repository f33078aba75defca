"""A process that is about to end asks nothing more, and leaves its debates to others without paying twice."""

from collections import Counter
from pathlib import Path

import anyio
import pytest

from server.models import OnText, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, start_debate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N35")]


class Asked(ScriptedModel):
    """Answers when it may, and counts what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer, self.prompts = anyio.Event(), Counter[tuple[str, ...]]()

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        self.prompts[request.seat, *(each.content for each in request.prompt.messages)] += 1
        await self.may_answer.wait()
        return await super().reply(request, on_text)

    async def wait_until_asked(self, number: int) -> None:
        with anyio.fail_after(PATIENCE):
            while self.prompts.total() < number:
                await wait_before_next_poll()


async def test_answers_on_their_way_are_recorded_and_another_process_asks_for_the_rest(
    tmp_path: Path,
) -> None:
    database, asked = str(tmp_path / "a.db"), Asked()
    async with (
        open_engine(database, asked) as ending,
        open_engine(database, asked) as other,
        anyio.create_task_group() as tasks,
    ):
        debate_id = (await start_debate(ending, run=True)).id
        await asked.wait_until_asked(2)
        tasks.start_soon(ending.hand_over)
        waiting = (await start_debate(ending, question="Or not?", run=True)).id
        asked.may_answer.set()
        await ending.hand_over()
        snapshot = await ending.load(debate_id)
        assert snapshot.status == "running"
        answers = [one for one in snapshot.entries if getattr(one.event, "usage", None)]
        assert asked.prompts.total() == len(answers) == 2
        assert await other.leases.find_holders() == {}

        for one in (debate_id, waiting):
            other.run_to_end(await other.load(one))
        with anyio.fail_after(PATIENCE):
            followed = [await ending.follow(one, wait=PATIENCE) for one in (debate_id, waiting)]

    assert {one.status for one in followed} == {"concluded"}
    assert {*asked.prompts.values()} == {1}


async def test_debates_that_wait_for_nothing_on_its_way_are_left_at_once(tmp_path: Path) -> None:
    """One that is held between its steps, and one that waits for its turn."""
    database, held, goes_on = str(tmp_path / "a.db"), anyio.Event(), anyio.Event()

    async def hold(_debate_id: str) -> None:
        held.set()
        await goes_on.wait()

    async with open_engine(database, ScriptedModel(), owner_running=1) as ending:
        remove = ending.wait_before_steps(hold)
        first = await start_debate(ending, run=True)
        with anyio.fail_after(PATIENCE):
            await held.wait()
            second = await start_debate(ending, question="Or not?", run=True)
            while ending.count_waiting() != {"local": 1}:
                await wait_before_next_poll()
            await ending.hand_over()
            while ending.count_waiting():
                await wait_before_next_poll()
        assert await ending.leases.find_holders() == {}
        statuses = [(await ending.load(one.id)).status for one in (first, second)]
        remove()

    assert statuses == ["running", "running"]
