"""Budgets of money where the operator says what a model costs: counted in the verdict, and held."""

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from server.compose import open_manager
from server.debate.commands.requests import LimitsInput
from server.debate.views.state import sum_usage
from server.engine.database.snapshots import DebateSnapshot
from server.settings import Settings
from tests.support.engines import run_debate
from tests.support.provider.stub import Stub

pytestmark = [pytest.mark.anyio, pytest.mark.sqlite, pytest.mark.full, pytest.mark.requirement("N10")]

ENVIRON = {"OPENAI_API_KEY": "sk-test-0123456789abcdef"}
PRICES = json.dumps({"openai/mine": {"input": 10, "output": 40}})


@pytest.fixture
async def stub(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stub]:
    monkeypatch.setenv("OPENAI_API_KEY", ENVIRON["OPENAI_API_KEY"])
    async with Stub() as stub:
        monkeypatch.setenv("OPENAI_API_BASE", stub.url)
        yield stub


async def debated(database: str, rounds: int, limits: LimitsInput, **settings: Any) -> DebateSnapshot:
    asked = {"format": "verdict", "models": ["openai/mine"], "max_rounds": rounds}
    read = Settings.model_validate({"db": database, "prices": json.loads(PRICES), **settings})
    async with open_manager(read, environ=ENVIRON) as manager:
        return await run_debate(manager, **asked, options={"limits": limits})


async def test_what_a_debate_cost_is_counted_at_the_operators_own_price(database: str, stub: Stub) -> None:
    snapshot = await debated(database, 1, LimitsInput())

    used = snapshot.debate.usage
    paid = sum(Decimal(usage.input_tokens * 10 + usage.output_tokens * 40) / 10**6 for usage in used)
    total = sum_usage(used)
    assert (len(stub.chat_requests), total.calls, total.calls_of_unknown_cost) == (4, 4, 0)
    assert Decimal(total.cost_usd) == paid > 0


async def test_a_budget_of_money_at_the_operators_own_price_ends_the_talk(database: str, stub: Stub) -> None:
    snapshot = await debated(database, 20, LimitsInput(max_cost_usd=0.15))

    assert snapshot.status == "concluded"
    assert snapshot.debate.ended is not None
    assert snapshot.debate.ended.reason.startswith("budget: ")
    assert 0 < Decimal(sum_usage(snapshot.debate.usage).cost_usd) <= Decimal("0.15")
    assert len(stub.chat_requests) < 20
