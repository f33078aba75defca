"""Prices of models, from litellm's table. It is read as a file: importing litellm takes seconds."""

import json
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from server.debate.facts.config import CALLER, Price
from server.models.fakes.chaos import unwrap_faulty_name
from server.models.fakes.scripted import is_scripted

PRICE_TABLE_FILE = "model_prices_and_context_window_backup.json"
MILLION = 1_000_000


class PriceTable:
    """`own_prices`: (input, output) in dollars per million tokens, by model; they come before the table."""

    def __init__(self, own_prices: Mapping[str, tuple[Decimal, Decimal]] | None = None) -> None:
        self.own_prices = {
            name: Price(model=name, input=f"{row[0] / MILLION:f}", output=f"{row[1] / MILLION:f}")
            for name, row in (own_prices or {}).items()
        }

    def find_price(self, name: str) -> Price:
        """Dollars per token as exact decimals; "" if the price is unknown, which does not mean free."""
        if name in self.own_prices:
            return self.own_prices[name]
        if (inner := unwrap_faulty_name(name)) != name:  # faults change no price
            return self.find_price(inner).model_copy(update={"model": name})
        if name in (CALLER, "local") or is_scripted(name):
            return Price(model=name, input="0", output="0")
        row = find_row(name)
        found = (row.get("input_cost_per_token"), row.get("output_cost_per_token"))
        if not all(isinstance(cost, int | float) for cost in found):
            return Price(model=name)
        return Price(model=name, input=f"{Decimal(str(found[0])):f}", output=f"{Decimal(str(found[1])):f}")


def find_row(name: str) -> dict[str, Any]:
    """What litellm's table says of a model; empty if it does not know it."""
    table, (provider, _, bare) = load_table(), name.partition("/")
    row = table.get(name) or {}
    if not row and bare and str(table.get(bare, {}).get("litellm_provider", "")).startswith(provider):
        return table[bare]  # without the provider in its name, but sold by it
    return row


@cache
def load_table() -> dict[str, dict[str, Any]]:
    """Litellm's table; empty if litellm is not installed or has no such file."""
    spec = find_spec("litellm")
    for folder in (spec and spec.submodule_search_locations) or ():
        with suppress(OSError, ValueError):
            found = json.loads((Path(folder) / PRICE_TABLE_FILE).read_text(encoding="utf-8"))
            return {name: row for name, row in found.items() if isinstance(row, dict)}
    return {}
