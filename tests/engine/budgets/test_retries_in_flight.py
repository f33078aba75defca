"""A budget of calls counts what the questions on their way may still come to, retries included."""

from decimal import Decimal
from pathlib import Path

import anyio
import pytest

from server.debate.commands.requests import JudgesInput, LimitsInput, OptionsInput
from server.debate.rules.budget import compute_spending
from server.engine.database.snapshots import DebateSnapshot
from server.models import OnText, Reply, Request, Usage
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, run_debate, run_round, start_debate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N10")]


class Struggling:
    """Needs all the attempts it may make, three at most, and is asked by all debates before it answers.

    The judge's first reading comes to nothing, and the second waits until that is known (`failed`).
    """

    def __init__(self) -> None:
        self.inner = ScriptedModel(delay=0.01)
        self.requests = 0
        self.judged = 0
        self.failed = anyio.Event()

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        attempts = min(request.max_attempts, 3)
        self.requests += attempts
        said = await self.inner.reply(request, on_text)
        text = said.text
        if request.seat == "judge 1":
            self.judged += 1
            text = "" if self.judged == 1 else text
            if self.judged == 2:
                await self.failed.wait()
        return Reply(text, Usage(model="mine", cost_usd="0.01", attempts=attempts))

    def committed(self, snapshot: DebateSnapshot) -> None:
        if snapshot.debate.failures:
            self.failed.set()


async def test_a_seat_that_is_asked_again_leaves_what_others_may_still_need(tmp_path: Path) -> None:
    model = Struggling()
    options = OptionsInput(judges=JudgesInput(models=["mine"]), limits=LimitsInput(max_calls=12))
    async with open_engine(tmp_path / "debates.db", model) as manager:
        manager.store.subscribe(model.committed)
        snapshot = await run_debate(manager, max_rounds=1, options=options)

    assert snapshot.status == "concluded"
    assert model.requests == compute_spending(snapshot.debate).calls <= 12


async def test_the_days_calls_are_kept_for_the_retries_of_all_debates(tmp_path: Path) -> None:
    model = Struggling()
    model.failed.set()
    async with open_engine(tmp_path / "debates.db", model, daily_calls=30) as manager:
        snapshots = [await start_debate(manager, question=f"Ship {n}?", run=True) for n in range(8)]
        ends = {(await manager.follow(snapshot.id, wait=PATIENCE)).status for snapshot in snapshots}

    assert "paused" in ends
    assert model.requests <= 30


@pytest.mark.full
async def test_the_days_calls_are_used_up_before_anybody_pauses(tmp_path: Path) -> None:
    model = ScriptedModel(delay=0.01)
    async with open_engine(tmp_path / "debates.db", model, daily_calls=30) as manager:
        snapshots = [await start_debate(manager, question=f"Ship {n}?", run=True) for n in range(8)]
        ends = [(await manager.follow(snapshot.id, wait=PATIENCE)).debate for snapshot in snapshots]

    assert len(model.requests) == 30
    assert {debate.paused.reason for debate in ends if debate.paused} == {
        "the day's budget: 30 of 30 calls made today. It goes on tomorrow (UTC)."
    }


async def test_calls_made_at_once_share_the_attempts_that_the_day_has_left(tmp_path: Path) -> None:
    model = ScriptedModel()
    async with open_engine(tmp_path / "debates.db", model, daily_calls=4) as manager:
        await run_round(manager)

    assert [request.max_attempts for request in model.requests] == [2, 2]


@pytest.mark.full
async def test_the_days_money_is_kept_for_what_is_on_its_way(tmp_path: Path) -> None:
    prices = {"mine": {"input": "10", "output": "10"}}  # a question is taken for about a cent
    model = Struggling()
    model.failed.set()
    async with open_engine(
        tmp_path / "debates.db", model, daily_cost_usd=Decimal("0.1"), prices=prices
    ) as manager:
        snapshots = [
            await start_debate(manager, question=f"Ship {n}?", run=True, format="verdict") for n in range(20)
        ]
        spendings = [
            compute_spending((await manager.follow(snapshot.id, wait=PATIENCE)).debate).cost_usd
            for snapshot in snapshots
        ]

    assert sum(spendings) <= Decimal("0.12")
