"""Prices of models, from litellm's table. The table is read as a file, because importing litellm takes seconds."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from server.debate.facts.setup.limits import Price
from server.debate.facts.setup.seats import WRITTEN
from server.models import LITELLM_PREFIX
from server.models.fakes.chaos import unwrap_faulty_name
from server.models.fakes.scripted import is_scripted

PRICE_TABLE_FILE = "model_prices_and_context_window_backup.json"
MILLION = 1_000_000
MAX_COST_USD = 1_000_000  # a higher cost of one reply is a counting error

_COLUMNS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "kept": "cache_creation_input_token_cost",
    "cached": "cache_read_input_token_cost",
}
"""Where the table has each price of `Price`."""

_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


class PriceTable:
    """Prices by model. `own_prices`: (input, output) in dollars per million tokens; they win over the table."""

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
        if name in (*WRITTEN, "local") or is_scripted(name):
            return Price(model=name, input="0", output="0")
        row = find_row(name)
        costs = {field: row.get(column) for field, column in _COLUMNS.items()}
        known = {
            field: f"{Decimal(str(cost)):f}" for field, cost in costs.items() if isinstance(cost, int | float)
        }
        return Price(model=name, **known) if {"input", "output"} <= known.keys() else Price(model=name)


def compute_token_cost(
    name: str,
    input_tokens: int,
    output_tokens: int,
    *,
    cached_tokens: int = 0,
    kept_tokens: int = 0,
    reasoning_tokens: int = 0,
    at: datetime | None = None,
) -> str:
    """Dollars for a reply by the table, as litellm computes them; "" if the price is unknown.

    Tokens read from a cache, and kept in it, are part of the input, reasoning tokens part of the output. `at`: the time
    of the request, in UTC.
    """
    row = find_row(name)
    row = row | read_off_peak_prices(row, at or datetime.now(UTC))
    tiers = [int(match[1]) for key in row if (match := _TIER.fullmatch(key))]
    tier_reached = max((tier for tier in tiers if input_tokens > tier * 1000), default=0)

    def read_cost(key: str) -> Decimal | None:
        costs = (row.get(f"{key}_above_{tier_reached}k_tokens") if tier_reached else None, row.get(key))
        return next((Decimal(str(cost)) for cost in costs if isinstance(cost, int | float)), None)

    per_input, per_output = read_cost("input_cost_per_token"), read_cost("output_cost_per_token")
    if per_input is None or per_output is None:
        return ""
    per_cached = read_cost("cache_read_input_token_cost")
    per_reasoning = read_cost("output_cost_per_reasoning_token")
    per_kept = read_cost("cache_creation_input_token_cost")
    cost = per_input * (input_tokens - cached_tokens - kept_tokens) + per_output * (
        output_tokens - reasoning_tokens
    )
    cost += (per_input if per_cached is None else per_cached) * cached_tokens
    cost += (per_kept or per_input) * kept_tokens
    cost += (per_output if per_reasoning is None else per_reasoning) * reasoning_tokens
    return f"{cost:.10f}".rstrip("0").rstrip(".") if 0 <= cost < MAX_COST_USD else ""


def read_off_peak_prices(row: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """The prices that replace the usual ones at this time (DeepSeek's off-peak hours, UTC); empty if none do."""
    off_peak = row.get("off_peak_pricing") or {}
    for window in off_peak.get("windows", ()):
        hours = window["hours_utc"]
        for start, end in (span.split("-") for span in ([hours] if isinstance(hours, str) else hours)):
            is_within = start <= f"{at:%H:%M}" < (end if end > start else "24:00")
            if is_within and at.isoweekday() in window["weekdays"]:
                return {key: price for key, price in off_peak.items() if key != "windows"}
    return {}


def find_row(name: str) -> dict[str, Any]:
    """The row of a model in litellm's table; empty if it has none."""
    name = name.removeprefix(LITELLM_PREFIX)
    table, (provider, _, bare) = load_table(), name.partition("/")
    row = table.get(name) or {}
    if not row and bare and str(table.get(bare, {}).get("litellm_provider", "")).startswith(provider):
        return table[bare]  # the table lists it without the provider that sells it
    return row


@cache
def load_table() -> dict[str, dict[str, Any]]:
    """Litellm's table; empty if litellm is not installed or has no such file."""
    spec = find_spec("litellm")
    for folder in (spec and spec.submodule_search_locations) or ():
        with suppress(OSError, ValueError):
            rows = json.loads((Path(folder) / PRICE_TABLE_FILE).read_text(encoding="utf-8"))
            return {name: row for name, row in rows.items() if isinstance(row, dict)}
    return {}
