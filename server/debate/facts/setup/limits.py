"""What a set-up limits, what pauses it, and what is known of the prices and windows of its models."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

from server.debate.facts.errors import require
from server.debate.facts.fact import Count, Dollars, ExactDecimal, Fact

THINKING_TOKENS = 8_000


class Limits(Fact):
    """The limits of a debate; 0 and "" for none."""

    max_calls: Count = 0  # requests to models, retries included
    max_input_tokens: Count = 0
    max_output_tokens: Count = 0
    max_cost_usd: Dollars = ""
    max_seconds: Count = 0  # since the debate was opened
    round_timeout: Count = 0  # seconds for a round; starts again when the debate is resumed
    on_budget: Literal["conclude", "pause"] = "conclude"
    thinking_tokens: Count = THINKING_TOKENS  # of one answer, beside its text; no budget

    @property
    def has_budget(self) -> bool:
        tokens = self.max_input_tokens or self.max_output_tokens
        return bool(self.max_calls or tokens or self.max_cost_usd or self.max_seconds)


BreakpointCondition = Literal["verdict", "failure", "contested", "unheard", "round", "budget"]
BREAKPOINT_FORMS = "verdict, failure, contested, unheard, round:N (1 or more), budget:S (a share such as 0.8)"


class Breakpoint(Fact):
    """What pauses a debate before it goes on."""

    condition: BreakpointCondition
    round: Count = 0  # the round that is about to begin, for "round"
    share: ExactDecimal = ""  # of a limit, for "budget"

    @classmethod
    def parse(cls, text: str) -> "Breakpoint":
        """A breakpoint as callers write it: "verdict", "round:2", "budget:0.8". Raises ValueError."""
        condition, _, detail = text.strip().partition(":")
        if text.strip() in ("verdict", "failure", "contested", "unheard"):
            return cls.model_validate({"condition": condition})
        if condition == "round" and re.fullmatch("0*[1-9][0-9]{0,8}", detail):
            return cls(condition="round", round=int(detail))
        if (
            condition == "budget"
            and re.fullmatch(r"[01](\.[0-9]{1,9})?", detail)
            and 0 < Decimal(detail) <= 1
        ):
            return cls(condition="budget", share=detail)
        raise ValueError(f"{text[:40]!r} is not a breakpoint: {BREAKPOINT_FORMS}")

    def __str__(self) -> str:
        """As callers write it: "verdict", "round:2", "budget:0.8"."""
        return ":".join(filter(None, (self.condition, str(self.round or "") or self.share)))


class Price(Fact):
    """USD for a token of a model, as known when the debate was opened; "" where unknown."""

    model: str
    input: Dollars = ""
    output: Dollars = ""
    kept: Dollars = ""  # where the provider keeps what it reads, for another call
    cached: Dollars = ""  # where it has kept it


class Window(Fact):
    """How many tokens a model can read and write together, as known when the debate was opened."""

    model: str
    tokens: Count


def check_prices_known(limits: Limits, models: Iterable[str], prices: Iterable[Price]) -> None:
    """A cost limit needs the price of every model: an unknown price is not zero.

    Raises:
        InvalidRequestError: a price is unknown, and the cost is limited.
    """
    priced_models = {price.model for price in prices if price.input}
    unknown = [model for model in dict.fromkeys(models) if model not in priced_models]
    require(
        not (limits.max_cost_usd and unknown),
        f"The limit in dollars cannot be held: the price of {', '.join(unknown)} is unknown, and unknown is not "
        "free. Choose another model, give its price in the setting `prices`, or limit the calls instead.",
    )
