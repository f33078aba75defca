"""What a token of a model costs, by litellm's table: read as a file, for importing litellm takes seconds."""

import json
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from server.debate.facts.config import CALLER, Price
from server.models.fakes.chaos import is_faulty, parts

TABLE = "model_prices_and_context_window_backup.json"


MILLION = 1_000_000


class Prices:
    """`own`: (input, output) in dollars per million tokens, by model; they come before the table."""

    def __init__(self, own: Mapping[str, tuple[Decimal, Decimal]] | None = None) -> None:
        self.own = {
            name: Price(model=name, input=f"{row[0] / MILLION:f}", output=f"{row[1] / MILLION:f}")
            for name, row in (own or {}).items()
        }

    def of(self, name: str) -> Price:
        """Per token, in dollars as exact decimals; "" where it is not known, which is not for free."""
        if name in self.own:
            return self.own[name]
        if is_faulty(name):  # what befalls it changes no price
            with suppress(ValueError):
                return self.of(parts(name)[0]).model_copy(update={"model": name})
        if name in (CALLER, "local") or name.partition("?")[0] == "scripted":
            return Price(model=name, input="0", output="0")
        row = row_of(name)
        found = (row.get("input_cost_per_token"), row.get("output_cost_per_token"))
        if not all(isinstance(cost, int | float) for cost in found):
            return Price(model=name)
        return Price(model=name, input=exact(found[0]), output=exact(found[1]))


def cost(price: Price, input_tokens: int, output_tokens: int) -> str:
    """What an answer cost, in dollars."""
    spent = Decimal(price.input) * input_tokens + Decimal(price.output) * output_tokens
    told = f"{spent:f}"
    return told.rstrip("0").rstrip(".") if "." in told else told


def row_of(name: str) -> dict[str, Any]:
    """What the table has on a model. Without its provider many are named, and each provider has its price."""
    provider, _, bare = name.partition("/")
    row = table().get(bare) or {}
    sold_here = bool(bare) and str(row.get("litellm_provider", "")).startswith(provider)
    return table().get(name) or (row if sold_here else {})


def exact(cost: Any) -> str:
    return f"{Decimal(str(cost)):f}"


@cache
def table() -> dict[str, dict[str, Any]]:
    """Litellm's own table; empty where litellm is not installed, or has it no more."""
    spec = find_spec("litellm")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / TABLE
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(found, dict):
            return {name: row for name, row in found.items() if isinstance(row, dict)}
    return {}
