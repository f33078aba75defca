"""A day's budget is shared by all debates of a database, whichever process runs them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial

import anyio
import pytest

from server.debate.commands.requests import ChangesInput
from server.debate.interventions.action import InterventionRequest
from server.debate.replies.extract import build_failure
from server.engine.database.daily_budget import DaySum, add_spending
from server.engine.database.leases import LeaseLostError
from server.engine.recovery import Recovery
from server.models import OnText, Reply, Request, Usage
from server.models.fakes.scripted import ScriptedModel
from server.settings import ModelPrice
from storage.streams import Amount
from tests.support.engines import open_engine, run_debate, run_round, start_debate
from tests.support.patience import PATIENCE
from tests.support.simulation import build_debaters, build_setup, build_usage, simulate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N10")]

ACTOR = "test"


class Dear:
    """Says what the scripted model says, for a cent, and counts no tokens."""

    def __init__(self, cost: str = "0.01") -> None:
        self.inner = ScriptedModel()
        self.cost = cost

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        said = await self.inner.reply(request, on_text)
        return Reply(said.text, Usage(model="dear", cost_usd=self.cost))


class Clock:
    """Stands on a day until a test says otherwise."""

    def __init__(self) -> None:
        self.now = datetime(2026, 12, 1, 10, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def tomorrow(self) -> None:
        self.now += timedelta(days=1)


async def test_a_debate_pauses_when_the_day_has_no_calls_left(database: str) -> None:
    model = ScriptedModel()
    async with open_engine(database, model, daily_calls=8) as manager:
        assert (await run_debate(manager)).status == "concluded"
        second = await run_debate(manager)
        await manager.intervene(second.id, "resume", InterventionRequest(), actor=ACTOR)
        second = await manager.follow(second.id, wait=PATIENCE)

    assert (second.status, len(model.requests)) == ("paused", 8)
    assert second.debate.paused
    assert second.debate.paused.reason == (
        "the day's budget: 8 of 8 calls made today. It goes on tomorrow (UTC)."
    )


async def test_what_is_asked_before_the_first_round_counts_once_and_not_in_a_fork(database: str) -> None:
    model = ScriptedModel()
    page = "Costs rose by four percent in that year, and nobody knows why. " * 60
    document = {"title": "Report", "text": "\n\n".join(f"{number}. {page}" for number in range(12))}
    limits = {"documents": [document], "options": {"framing": True}, "max_rounds": 1}
    async with open_engine(database, model, windows={"mine": 8_000}) as manager:
        ended = await run_debate(manager, **limits)
        spent, _ = await manager.daily_budget.find_spending()
        tasks = {request.prompt.summary.task for request in model.requests}
        first = len(model.requests)
        await manager.fork(ended.id, 1, ChangesInput(), actor=ACTOR)
        after, _ = await manager.daily_budget.find_spending()

    assert {"framing", "digest"} < tasks
    assert spent.requests == first == len(ended.debate.usage)
    assert after.requests == len(model.requests)


@pytest.mark.both_databases
async def test_debates_at_once_do_not_spend_the_same_call_twice(database: str) -> None:
    model = ScriptedModel(delay=0.02)
    async with open_engine(database, model, daily_calls=10) as manager:
        snapshots = [await start_debate(manager, question=f"Ship {n}?", run=True) for n in range(4)]
        ends = [(await manager.follow(snapshot.id, wait=PATIENCE)).status for snapshot in snapshots]
    assert "paused" in ends
    assert len(model.requests) <= 10


async def test_money_is_counted_where_the_price_is_known(database: str) -> None:
    async with open_engine(database, Dear(), daily_cost_usd=Decimal("0.06")) as manager:
        assert (await run_debate(manager)).status == "concluded"
        second = await run_debate(manager)
    assert second.debate.paused
    assert second.debate.paused.reason.startswith("the day's budget: 0.06 of 0.06 US dollars")


async def test_whoever_looks_at_it_on_the_next_day_sees_it_go_on(database: str) -> None:
    clock = Clock()
    async with open_engine(database, ScriptedModel(), clock=clock, daily_calls=6) as manager:
        await run_debate(manager)
        snapshot = await run_debate(manager)
        assert (await manager.follow(snapshot.id, wait=PATIENCE)).status == "paused"
        clock.tomorrow()
        assert (await manager.follow(snapshot.id, wait=PATIENCE)).status == "concluded"


async def test_answers_whose_tokens_nobody_counted_are_not_free(database: str) -> None:
    prices = {"mine": ModelPrice(Decimal(10), Decimal(10))}
    async with open_engine(database, Dear(cost=""), daily_cost_usd=Decimal("0.1"), prices=prices) as manager:
        ends = [(await run_debate(manager, question=f"Ship {n}?")).status for n in range(4)]
        assert (await manager.daily_budget.find_spending())[0].cost > Decimal("0.05")
    assert ends[-1] == "paused"


def test_a_day_has_failures_and_nothing_that_people_wrote() -> None:
    free = {"cost_usd": "", "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0}
    usages = [
        build_usage("m"),
        build_usage("m").model_copy(update={"cost_usd": "", "attempts": 3}),  # its tokens are counted
        build_usage("m").model_copy(update=free),
        build_usage("caller").model_copy(update={"author": "alice"}),
    ]
    at = simulate(build_setup(debaters=build_debaters(5), max_rounds=1)).play_to_round(1)
    failed, *answered = at.pending_calls()
    at.add_events(build_failure(failed, "timeout", "no answer", attempts=2))
    at.script = lambda call: Reply("I agree.", usages[answered.index(call)])
    at.add_events(*[at.answer(call) for call in answered])

    days = add_spending({}, at.log, at.debate)
    assert days == {"2026-12-01": DaySum(requests=2 + 1 + 3 + 1, cost=Decimal("0.001"), uncounted=1)}


@pytest.mark.both_databases
@pytest.mark.requirement("D7")
async def test_a_server_that_starts_on_the_next_day_lets_it_go_on(database: str) -> None:
    clock = Clock()
    async with open_engine(database, ScriptedModel(), clock=clock, daily_calls=6) as manager:
        await run_debate(manager)
        snapshot = await run_debate(manager)
        stepped = await run_round(manager, question="Step it?")
    async with open_engine(database, ScriptedModel(), clock=clock, daily_calls=6) as later:
        assert await Recovery(later, max_age_hours=24, concurrency=1).find_unfinished() == []
        clock.tomorrow()
        assert await Recovery(later, max_age_hours=24, concurrency=1).find_unfinished() == [snapshot.id]
        clock.tomorrow()
        assert await Recovery(later, max_age_hours=23, concurrency=1).find_unfinished() == []
        assert (await later.load(snapshot.id)).status == "paused"
    clock.now -= timedelta(days=1)
    over = anyio.Event()
    async with open_engine(database, ScriptedModel(), clock=clock, recover=True, daily_calls=6) as restarted:
        restarted.store.subscribe(lambda seen: over.set() if seen.status == "concluded" else None)
        with anyio.fail_after(PATIENCE):
            await over.wait()
        assert (await restarted.load(snapshot.id)).status == "concluded"
        assert (await restarted.load(stepped.id)).status == "paused"


@pytest.mark.requirement("D7")
async def test_a_server_that_runs_through_the_night_lets_it_go_on(database: str) -> None:
    clock = Clock()
    async with (
        open_engine(database, ScriptedModel(), clock=clock, daily_calls=6) as manager,
        anyio.create_task_group() as tasks,
    ):
        await run_debate(manager)
        snapshot = await run_debate(manager)
        over = anyio.Event()
        manager.store.subscribe(lambda seen: over.set() if seen.status == "concluded" else None)
        tasks.start_soon(partial(Recovery(manager, max_age_hours=24, concurrency=1).run, poll_interval=0.01))
        await anyio.wait_all_tasks_blocked()
        clock.tomorrow()
        with anyio.fail_after(PATIENCE):
            await over.wait()
        tasks.cancel_scope.cancel()
        assert (await manager.load(snapshot.id)).status == "concluded"


async def test_a_retry_is_not_made_on_a_call_that_the_day_does_not_have(database: str) -> None:
    model = ScriptedModel()
    async with open_engine(database, model, daily_calls=7) as manager:
        assert (await run_debate(manager)).status == "concluded"
        await run_debate(manager)
    assert (len(model.requests), model.requests[-1].max_attempts) == (7, 1)


async def test_without_its_lease_a_process_reserves_nothing(database: str) -> None:
    async with open_engine(database, daily_calls=6) as manager:
        with pytest.raises(LeaseLostError):
            await manager.daily_budget.reserve("never leased", Decimal(0), lambda _allowed: Amount(1))
