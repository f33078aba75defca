"""What all debates together may spend in a day (UTC): looked at before each question, like their own limits.

What was spent is summed up from what each debate's heading says of its days, so that every process on a
database counts what the others spend, and a restart forgets nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import anyio

from server.debate.facts.config import CALLER
from server.debate.facts.events import Recorded
from server.debate.rules.budget import UNBOUNDED, Room
from server.engine.errors import storage_translated
from storage.journal import Journal

Days = dict[str, dict[str, Any]]
"""By day: `calls` (requests to models, retries included) and `cost_usd` (a decimal)."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a question on its way may come to."""

    requests: int
    cost: Decimal


class Daily:
    """`calls`, `cost_usd`: the limits of a day; 0 for none."""

    def __init__(
        self,
        journal: Journal,
        clock: Callable[[], datetime],
        *,
        calls: int = 0,
        cost_usd: Decimal = Decimal(0),
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.calls = calls
        self.cost_usd = cost_usd
        self.in_flight = 0  # requests that questions of this process, on their way, may come to
        self.cost_in_flight = Decimal(0)  # what these will cost, as far as the price is known
        self.landed = anyio.Event()

    def keep(self, requests: int, each: Decimal) -> Kept:
        """Count a question that is put from now on, until it has landed."""
        kept = Kept(requests, requests * each)
        self.in_flight += kept.requests
        self.cost_in_flight += kept.cost
        return kept

    def land(self, questions: Iterable[Kept]) -> None:
        for kept in questions:
            self.in_flight -= kept.requests
            self.cost_in_flight -= kept.cost
        self.landed.set()
        self.landed = anyio.Event()

    def tomorrow(self) -> str:
        """When the next day begins: UTC, ISO 8601."""
        return f"{self.clock().date() + timedelta(days=1)}T00:00:00.000Z"

    async def spent(self) -> tuple[int, Decimal]:
        """(calls, US dollars) of today's answers, as far as their prices are known.

        Raises:
            Unreadable: the database cannot be read.
        """
        day = self.clock().date().isoformat()
        with storage_translated():
            headings = await self.journal.details_since(day)
        today = [spent for found in headings if (spent := (found.get("spent") or {}).get(day))]
        calls = sum(int(spent.get("calls", 0)) for spent in today)
        return calls, sum((Decimal(spent.get("cost_usd", "0")) for spent in today), Decimal(0))

    async def room(self, each: Decimal = Decimal(0)) -> Room:
        """How many more requests may be made today, and which limit says so.

        `each`: what one of them costs, where that is known.

        Raises:
            Unreadable: the database cannot be read.
        """
        if not (self.calls or self.cost_usd):
            return Room(UNBOUNDED)
        calls, cost = await self.spent()
        told = f"the day's budget: {calls} of {self.calls} calls"
        money = self.cost_usd - cost - self.cost_in_flight if self.cost_usd else Decimal(UNBOUNDED)
        if money <= 0:
            return Room(0, f"the day's budget: {cost} of {self.cost_usd} US dollars spent today")
        left = self.calls - calls - self.in_flight if self.calls else UNBOUNDED
        # What one costs is an estimate: while something is left, one more may be made.
        paid_for = max(int(money / each), 1) if each and self.cost_usd else UNBOUNDED
        return Room(max(min(left, paid_for), 0), f"{told} made today")


def spent_by_day(log: Sequence[Recorded], inherited_rounds: int, usual: Decimal = Decimal(0)) -> Days:
    """What a debate's own answers took, by the day on which they were recorded.

    `usual`: what an answer is taken to have cost that nobody counted.
    """
    days: dict[str, tuple[int, Decimal]] = {}
    for entry in log:
        usage = getattr(entry.event, "usage", None)
        attempts = usage.attempts if usage else getattr(entry.event, "attempts", 0)
        unasked = getattr(entry.event, "handoff", False) or (usage and usage.model == CALLER)
        if unasked or not attempts or getattr(entry.event, "round", 0) <= inherited_rounds:
            continue
        calls, cost = days.get(entry.at[:10], (0, Decimal(0)))
        price = Decimal(usage.cost_usd or 0) if usage else Decimal(0)
        if usage and not (usage.cost_usd or usage.input_tokens or usage.output_tokens):
            price = usual
        days[entry.at[:10]] = (calls + attempts, cost + price)
    return {day: {"calls": calls, "cost_usd": f"{cost:f}"} for day, (calls, cost) in days.items()}
