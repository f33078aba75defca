"""One owner's limits stop the debates of that owner, and of nobody else."""

from decimal import Decimal

import anyio
import pytest

from server.debate.interventions.action import InterventionRequest
from server.engine.debates import DebateManager
from server.models import OnText, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from tests.engine.budgets.test_daily_budget import Dear
from tests.support.engines import open_engine, run_debate, start_debate
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]


class Slow:
    """Holds every reply until it may go, and knows how many debates asked at the same time."""

    def __init__(self) -> None:
        self.inner = ScriptedModel()
        self.may_go = anyio.Event()
        self.asked: set[str] = set()

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        self.asked.add(request.prompt.messages[-1].content)
        await self.may_go.wait()
        return await self.inner.reply(request, on_text)


async def wait_for_running(manager: DebateManager, owner: str, count: int) -> None:
    with anyio.fail_after(PATIENCE):
        while len(await manager.leases.find_holders(owner)) != count:
            await wait_before_next_poll()


async def test_an_owner_without_calls_left_today_pauses_and_others_go_on(database: str) -> None:
    async with open_engine(database, ScriptedModel(), owner_daily_calls=8) as manager:
        ann, ben = manager.of("ann"), manager.of("ben")
        assert (await run_debate(ann)).status == "concluded"
        second, other = await run_debate(ann), await run_debate(ben)

    assert (second.status, other.status) == ("paused", "concluded")
    assert second.debate.paused
    assert second.debate.paused.cause == "daily_budget"
    assert second.debate.paused.reason == (
        "the day's budget of its owner: 8 of 8 calls made today. It goes on tomorrow (UTC)."
    )


async def test_an_owner_without_money_left_today_pauses_and_others_go_on(database: str) -> None:
    async with open_engine(database, Dear(), owner_daily_cost_usd=Decimal("0.05")) as manager:
        first = await run_debate(manager.of("ann"))
        stopped, other = await run_debate(manager.of("ann")), await run_debate(manager.of("ben"))

    assert (first.status, stopped.status, other.status) == ("concluded", "paused", "concluded")
    assert stopped.debate.paused
    assert stopped.debate.paused.reason.startswith("the day's budget of its owner: 0.06 of 0.05 US dollars")


async def test_the_limits_of_all_and_of_an_owner_hold_together(database: str) -> None:
    async with open_engine(database, ScriptedModel(), daily_calls=10, owner_daily_calls=8) as manager:
        await run_debate(manager.of("ann"))
        last = await run_debate(manager.of("ben"))

    assert last.debate.paused
    assert last.debate.paused.reason.startswith("the day's budget: 10 of 10 calls made today")


async def test_debates_beyond_an_owners_number_wait_for_their_turn(database: str) -> None:
    model = Slow()
    async with open_engine(database, model, owner_running=2) as manager:
        ann, ben = manager.of("ann"), manager.of("ben")
        theirs = [(await start_debate(ann, question=f"{n}?", run=True)).id for n in range(5)]
        await wait_for_running(manager, "ann", 2)
        other = (await start_debate(ben, run=True)).id
        await wait_for_running(manager, "ben", 1)

        assert {*await manager.leases.find_holders("ann")} == {*theirs[:2]}
        note = InterventionRequest(reason="not now")
        await ann.intervene(theirs[2], "pause", note, actor="test")
        paused = await ann.follow(theirs[2], wait=PATIENCE)
        model.may_go.set()
        ended = [await ann.follow(one, wait=PATIENCE) for one in (*theirs[:2], *theirs[3:])]
        ended.append(await ben.follow(other, wait=PATIENCE))

    assert paused.status == "paused"
    assert not paused.debate.turns
    assert {snapshot.status for snapshot in ended} == {"concluded"}


@pytest.mark.both_databases
@pytest.mark.full
async def test_several_processes_share_an_owners_number(database: str) -> None:
    model = Slow()
    async with (
        open_engine(database, model, owner_running=1) as one,
        open_engine(database, model, owner_running=1) as two,
    ):
        first = (await start_debate(one.of("ann"), run=True)).id
        await wait_for_running(one, "ann", 1)
        second = (await start_debate(two.of("ann"), run=True)).id
        assert (await two.of("ann").follow(second, wait=0.6)).debate.turns == ()
        # Who only follows what another process runs does not wait for a turn.
        followed = await two.of("ann").step(first, wait=0)
        model.may_go.set()
        assert (await two.of("ann").follow(first, wait=PATIENCE)).status == "concluded"
        assert (await two.of("ann").follow(second, wait=PATIENCE)).status == "concluded"
    assert followed.status == "running"
