"""A day's budget is shared by all debates of a database, whichever process runs them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from server.app import open_hall
from server.daily import Daily
from server.debate.interventions import Wish
from server.debate.proposal import Proposal
from server.hall import Hall
from server.models import Model, OnText, Reply, Request, Usage
from server.models.scripted import ScriptedModel
from server.runner import Case
from server.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N10")]

ACTOR = "test"


class Dear:
    """Says what the scripted model says, for a cent."""

    def __init__(self) -> None:
        self.inner = ScriptedModel()

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        said = await self.inner.reply(request, on_text)
        return Reply(said.text, Usage(model="dear", cost_usd="0.01"))


@asynccontextmanager
async def limited(database: str, model: Model | None = None, **limits: Any) -> AsyncIterator[Hall]:
    settings = Settings(db=database, models=("mine",), **limits)
    async with open_hall(settings, {"mine": model or ScriptedModel()}, environ={}) as hall:
        yield hall


async def run(hall: Hall, question: str = "Ship it?") -> Case:
    case = await hall.start(Proposal(question=question, run=True), actor=ACTOR)
    return await hall.follow(case.id, wait=5)


async def test_a_debate_pauses_when_the_day_has_no_calls_left(database: str) -> None:
    model = ScriptedModel()
    async with limited(database, model, daily_calls=8) as hall:
        assert (await run(hall)).status == "concluded"
        second = await run(hall)

    assert (second.status, len(model.asked)) == ("paused", 8)
    assert second.debate.paused
    assert second.debate.paused.reason == "the day's budget: 8 of 8 calls made today. Go on tomorrow."


async def test_another_process_and_another_start_count_what_was_spent_before(database: str) -> None:
    async with limited(database) as hall:
        await run(hall)
    model = ScriptedModel()
    async with limited(database, model, daily_calls=6) as later:
        assert (await run(later)).status == "paused"
    assert model.asked == []


async def test_debates_at_once_do_not_spend_the_same_call_twice(database: str) -> None:
    model = ScriptedModel(delay=0.02)
    async with limited(database, model, daily_calls=10) as hall:
        cases = [await hall.start(Proposal(question=f"Ship {n}?", run=True), actor=ACTOR) for n in range(4)]
        ends = [(await hall.follow(case.id, wait=5)).status for case in cases]
    assert "paused" in ends
    assert len(model.asked) <= 10


async def test_money_is_counted_where_the_price_is_known(database: str) -> None:
    async with limited(database, Dear(), daily_cost_usd=Decimal("0.06")) as hall:
        assert (await run(hall)).status == "concluded"
        second = await run(hall)
    assert second.debate.paused
    assert second.debate.paused.reason.startswith("the day's budget: 0.06 of 0.06 US dollars")


async def test_on_the_next_day_it_goes_on(database: str) -> None:
    async with limited(database, daily_calls=6) as hall:
        await run(hall)
        case = await run(hall)
        hall.runner.daily = Daily(hall.journal, lambda: datetime(2999, 1, 1, tzinfo=UTC), calls=6)
        await hall.intervene(case.id, "resume", Wish(), actor=ACTOR)
        assert (await hall.follow(case.id, wait=5)).status == "concluded"


async def test_without_limits_nothing_is_looked_up(database: str) -> None:
    async with limited(database) as hall:
        await hall.journal.close()
        assert (await hall.runner.daily.room()).calls > 1000


async def test_a_retry_is_not_made_on_a_call_that_the_day_does_not_have(database: str) -> None:
    model = ScriptedModel()
    async with limited(database, model, daily_calls=7) as hall:
        assert (await run(hall)).status == "concluded"
        await run(hall)
    assert (len(model.asked), model.asked[-1].attempts) == (7, 1)
