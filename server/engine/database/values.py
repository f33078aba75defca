"""The values that lists of debates are narrowed by, beside words and status: outcome, models, cost and tags."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import get_args

from server.debate.facts.events import Ended, Event, Outcome
from server.debate.facts.interventions import Tagged
from server.debate.facts.setup.opened import Opened
from server.debate.state.debate import Debate
from server.debate.state.seats import find_models, find_own_models

OUTCOMES = get_args(Outcome)
COSTS = ("0.01", "0.10", "1", "10")
"""US dollars. A debate that cost as much or more is found by each of these."""

KINDS = ("outcome", "model", "cost", "tag")


def list_values(debate: Debate, new_events: Iterable[Event], cost: Decimal) -> Iterator[str]:
    """What a debate is found by with new events. `debate`: as it is after them; `cost`: all that it has cost.

    Outcome and cost, and models that have taken over a seat, from the end on. Each event brings the same at any later
    state, but for tags that were taken away.
    """
    for event in new_events:
        if isinstance(event, Opened):
            yield from list_model_values(find_models(event))
        if isinstance(event, Opened | Tagged):
            yield from (name_value("tag", tag) for tag in event.tags if tag in debate.tags)
        if isinstance(event, Ended):
            yield from list_model_values(find_own_models(debate).values())
            yield name_value("outcome", debate.verdict.outcome if debate.verdict else "")
            yield from (name_value("cost", least) for least in COSTS if cost >= Decimal(least))


def list_model_values(models: Iterable[str]) -> Iterator[str]:
    """A model is found by its whole name and by each part: openrouter, anthropic, claude-opus-4.1."""
    for model in models:
        yield from (name_value("model", name) for name in (model, *model.split("/")))


def name_value(kind: str, value: str) -> str:
    return f"{kind} {value.strip().casefold()}"


def choose_values(wanted: Mapping[str, str]) -> tuple[str, ...]:
    """The values of a search. `wanted`: by kind; kinds that are no such, and empty ones, narrow nothing."""
    return tuple(name_value(kind, wanted[kind]) for kind in KINDS if wanted.get(kind, "").strip())
