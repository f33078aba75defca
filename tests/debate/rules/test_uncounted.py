"""Answers whose tokens no provider counted: they are taken for usual ones, never for none."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from server.debate.commands.setup.open import open_debate
from server.debate.facts.answers import Usage
from server.debate.facts.setup.limits import Price
from server.debate.replies.extract import Reply
from server.debate.rules.budget import compute_spending
from server.debate.rules.calls import Call
from server.debate.views.state import status_reason, sum_usage
from tests.support.simulation import build_request, build_setup, default_script, simulate

pytestmark = pytest.mark.requirement("N10")


def uncounted(call: Call) -> Reply:
    return Reply(str(default_script(call)), Usage(model=call.model))


@pytest.mark.parametrize(
    "limits", [{"max_input_tokens": 9000}, {"max_output_tokens": 2500}, {"max_cost_usd": 0.1}]
)
def test_a_budget_ends_a_debate_of_them_too(limits: dict[str, Any]) -> None:
    wanted = build_request(format="verdict", max_rounds=20, options={"limits": limits})
    opened = open_debate(
        wanted,
        models=["mine"],
        seed=1,
        find_price=lambda name: Price(model=name, input="0.00001", output="0.00001"),
    )

    at = simulate(opened, uncounted).play()

    assert at.status == "concluded"
    assert status_reason(at.debate).startswith("budget: ")
    assert 3 <= len(at.calls_made) < 15


def test_without_a_price_they_are_counted_in_tokens_alone() -> None:
    at = simulate(build_setup(max_rounds=1), uncounted).play()

    taken = compute_spending(at.debate)
    assert taken.input_tokens > 0
    assert taken.output_tokens > 0
    assert taken.cost_usd == Decimal(0)
    assert sum_usage(at.debate.usage).cost_usd == ""


def test_a_price_that_the_provider_tells_is_taken_as_it_is() -> None:
    opened = open_debate(
        build_request(max_rounds=1),
        models=["mine"],
        seed=1,
        find_price=lambda name: Price(model=name, input="0.00001", output="0.00001"),
    )

    at = simulate(opened, lambda c: replace(uncounted(c), usage=Usage(model=c.model, cost_usd="0.01"))).play()

    assert compute_spending(at.debate).cost_usd == len(at.calls_made) * Decimal("0.01")
