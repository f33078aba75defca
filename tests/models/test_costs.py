"""What an answer cost: at the operator's own price, at litellm's, or unknown, which is never nothing."""

from decimal import Decimal
from types import SimpleNamespace

import pytest

from server.models.prices import PriceTable
from server.models.providers.litellm import LitellmModel, import_litellm

pytestmark = [pytest.mark.requirement("N10", "B7")]

KNOWN = "openai/gpt-4o-mini"
OWN = PriceTable({name: (Decimal(100), Decimal(400)) for name in (KNOWN, "openai/mine")})


def cost_of(name: str, tokens_in: int, tokens_out: int, prices: PriceTable) -> str:
    counts = SimpleNamespace(prompt_tokens=tokens_in, completion_tokens=tokens_out)
    import_litellm()
    return LitellmModel(name, price=prices.own_prices.get(name)).compute_cost(counts)


@pytest.mark.parametrize("name", [KNOWN, "openai/mine"])
def test_the_operators_own_price_is_what_an_answer_costs(name: str) -> None:
    assert cost_of(name, 1000, 500, OWN) == "0.3"


@pytest.mark.parametrize("prices", [OWN, PriceTable()])
def test_an_answer_whose_tokens_nobody_counted_has_an_unknown_cost(prices: PriceTable) -> None:
    assert cost_of(KNOWN, 0, 0, prices) == ""


@pytest.mark.parametrize("name", ["ollama/gpt-4o-mini", "hosted_vllm/gpt-4o-mini", "acme/gpt-4o-mini"])
def test_a_model_called_as_another_providers_has_not_its_price(name: str) -> None:
    assert PriceTable().find_price(KNOWN).input
    assert PriceTable().find_price(name).input == ""


@pytest.mark.parametrize("inner", [KNOWN, "scripted", "openai/mine", "acme/unheard-of"])
def test_faults_on_purpose_change_no_price(inner: str) -> None:
    faulty, plain = OWN.find_price(f"faulty?model={inner}&failure=0.1"), OWN.find_price(inner)

    assert (faulty.input, faulty.output) == (plain.input, plain.output)
