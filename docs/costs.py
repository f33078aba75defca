"""What debates cost and how long they take: the product's own estimate, by format, effort and models."""

from collections.abc import Mapping
from decimal import Decimal
from importlib.metadata import version

from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.estimate import Estimate, estimate
from server.debate.commands.setup.formats import FORMATS
from server.debate.commands.setup.open import open_debate
from server.debate.state.debate import Debate
from server.models.prices import MILLION, PriceTable

MODELS = {
    "small": ("openai/gpt-5.6-luna", "gemini/gemini-3.1-flash-lite"),
    "default": ("openai/gpt-5.6-terra", "anthropic/claude-sonnet-5-5"),
    "large": ("openai/gpt-5.6-sol", "anthropic/claude-opus-4-5"),
}
"""Two models of different providers, for debaters and judges."""

LEVELS = ("quick", "standard", "assured")
QUESTION = "Should we rewrite the billing service in Rust?"


def render_costs() -> str:
    lines = [
        f"Prices are those of litellm {version('litellm')}. Dollars per million tokens, read and written:",
        "",
    ]
    lines += ["| | models | prices |", "| --- | --- | --- |"]
    for title, names in MODELS.items():
        prices = " · ".join(map(format_price, names))
        lines.append(f"| {title} | {' · '.join(f'`{name}`' for name in names)} | {prices} |")
    lines += [
        "",
        "| format | calls | time | small | default | large |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [build_row(f"`{name}`", {"format": name}) for name in FORMATS]
    lines += ["", "`second_opinion` at each effort, and with a document of 10,000 words:", ""]
    lines += ["| | calls | time | small | default | large |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [build_row(f"`{level}`", {"options": {"effort": level}}) for level in LEVELS]
    document = {"documents": [{"title": "plan.md", "text": "lorem ipsum " * 5000}]}
    lines.append(build_row("`standard`, 10,000 words", document))
    return "\n".join(lines)


def format_price(name: str) -> str:
    price = PriceTable().find_price(name)
    return " / ".join(f"${(Decimal(one) * MILLION).normalize():f}" for one in (price.input, price.output))


def build_row(title: str, request: Mapping[str, object]) -> str:
    found = [estimate_debate(request, names) for names in MODELS.values()]
    seconds = "{} to {} s".format(*found[0].seconds)
    more = ", twice that with its mirror" if found[0].may_double else ""
    costs = " | ".join(format_range(one.cost_usd) for one in found)
    most = f" to {found[0].most_calls}" if found[0].most_calls > found[0].calls else ""
    return f"| {title} | {found[0].calls}{most}{more} | {seconds} | {costs} |"


def estimate_debate(request: Mapping[str, object], models: tuple[str, ...]) -> Estimate:
    whole = DebateRequest.model_validate({"question": QUESTION, **request})
    setup = open_debate(whole, models=models, seed=1, find_price=PriceTable().find_price)
    return estimate(Debate(setup))


def format_range(dollars: tuple[str, str]) -> str:
    low, high = (
        f"{Decimal(one):.4f}" if Decimal(one) < Decimal("0.01") else f"{Decimal(one):.2f}" for one in dollars
    )
    return f"${low} to ${high}"
