"""Budgets of money where the operator says what a model costs: counted in the verdict, and held."""

from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from server.compose import open_manager
from server.debate.commands.requests import LimitsInput
from server.debate.views.state import sum_usage
from server.settings import Settings
from tests.support.engines import run_debate
from tests.support.provider.stub import Stub

pytestmark = [pytest.mark.anyio, pytest.mark.full, pytest.mark.requirement("N10")]

ENVIRON = {"OPENAI_API_KEY": "sk-test-0123456789abcdef"}
PRICES = {"openai/mine": {"input": 10, "output": 40}}


@pytest.fixture
async def stub(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stub]:
    monkeypatch.setenv("OPENAI_API_KEY", ENVIRON["OPENAI_API_KEY"])
    async with Stub() as stub:
        monkeypatch.setenv("OPENAI_API_BASE", stub.url)
        yield stub


async def test_a_budget_of_money_at_the_operators_own_price_ends_the_talk(database: str, stub: Stub) -> None:
    asked = {"format": "verdict", "models": ["openai/mine"], "max_rounds": 20}
    settings = Settings.model_validate({"db": database, "prices": PRICES})
    async with open_manager(settings, environ=ENVIRON) as manager:
        snapshot = await run_debate(manager, **asked, options={"limits": LimitsInput(max_cost_usd=0.15)})

    used = snapshot.debate.usage
    paid = sum(Decimal(usage.input_tokens * 10 + usage.output_tokens * 40) / 10**6 for usage in used)
    total = sum_usage(used)
    assert (total.calls, total.calls_of_unknown_cost) == (len(stub.chat_requests), 0)
    assert snapshot.status == "concluded"
    assert snapshot.debate.ended is not None
    assert snapshot.debate.ended.reason.startswith("budget: ")
    assert 0 < Decimal(total.cost_usd) == paid <= Decimal("0.15")
    assert len(stub.chat_requests) < 20
