"""The daily budget (UTC) of all debates together: requests to models, and dollars.

Spending is summed from the lists' rows, where each debate keeps its own by day. So all processes on a
database share the budget, and a restart forgets nothing. Calls in flight reserve what they may take at most.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import anyio

from server.debate.facts.config import CALLER
from server.debate.facts.events import Recorded
from server.debate.rules.budget import UNBOUNDED, Remaining
from server.engine.errors import translate_storage_errors
from storage.journal import Journal


class Reservation(NamedTuple):
    """What a call in flight may take at most."""

    requests: int
    cost: Decimal


@dataclass
class DailyBudget:
    """What reads the spending may raise StorageUnavailableError."""

    journal: Journal
    clock: Callable[[], datetime]
    max_calls: int = 0  # of a day; 0: no limit
    max_cost_usd: Decimal = Decimal(0)
    reserved_requests: int = 0  # by calls of this process that are in flight
    reserved_cost: Decimal = Decimal(0)  # likewise, as far as prices are known
    released: anyio.Event = field(default_factory=anyio.Event)  # set, and replaced, at each release

    def reserve(self, requests: int, cost_per_request: Decimal) -> Reservation:
        """Count a call that starts now, until its reservation is released."""
        reservation = Reservation(requests, requests * cost_per_request)
        self.reserved_requests += reservation.requests
        self.reserved_cost += reservation.cost
        return reservation

    def release(self, reservations: Iterable[Reservation]) -> None:
        """Stop counting calls whose answers are recorded, or that were stopped."""
        for reservation in reservations:
            self.reserved_requests -= reservation.requests
            self.reserved_cost -= reservation.cost
        self.released.set()
        self.released = anyio.Event()

    async def spending(self) -> tuple[int, Decimal]:
        """(calls, US dollars) of today's answers, as far as their prices are known."""
        day = self.clock().date().isoformat()
        with translate_storage_errors():
            rows = await self.journal.find_details_since(day)
        today = [spent for row in rows if (spent := (row.get("spending") or {}).get(day))]
        calls = sum(int(spent.get("calls", 0)) for spent in today)
        return calls, sum((Decimal(spent.get("cost_usd", "0")) for spent in today), Decimal(0))

    async def remaining(self, cost_per_request: Decimal = Decimal(0)) -> Remaining:
        """How many more requests may be made today, and which limit says so."""
        if not (self.max_calls or self.max_cost_usd):
            return Remaining(UNBOUNDED)
        while True:  # a reservation that is released during the read may be missing from what was read
            released = self.released
            calls, cost = await self.spending()
            if not released.is_set():
                break
        requests = self.max_calls - calls - self.reserved_requests if self.max_calls else UNBOUNDED
        if self.max_cost_usd:
            money = self.max_cost_usd - cost - self.reserved_cost
            if money <= 0:
                spent = f"{cost} of {self.max_cost_usd} US dollars spent today"
                return Remaining(0, f"the day's budget: {spent}")
            if cost_per_request:  # an estimate: while something is left, one more may be made
                requests = min(requests, max(int(money / cost_per_request), 1))
        return Remaining(max(requests, 0), f"the day's budget: {calls} of {self.max_calls} calls made today")


def spending_by_day(
    entries: Sequence[Recorded], inherited_rounds: int, estimated_cost: Decimal
) -> dict[str, dict[str, Any]]:
    """What a debate's own answers took, by the day on which they were recorded (ISO 8601).

    Of each day: `calls` (requests to models, retries included) and `cost_usd` (a decimal).
    `estimated_cost`: of an answer whose tokens were not counted.
    """
    days: dict[str, tuple[int, Decimal]] = {}
    for entry in entries:
        usage = getattr(entry.event, "usage", None)
        attempts = usage.attempts if usage else getattr(entry.event, "attempts", 0)
        by_caller = usage and usage.model == CALLER
        if by_caller or not attempts or getattr(entry.event, "round", 0) <= inherited_rounds:
            continue
        price = Decimal(usage.cost_usd or 0) if usage else Decimal(0)
        if usage and not (usage.cost_usd or usage.input_tokens or usage.output_tokens):
            price = estimated_cost
        calls, cost = days.get(entry.at[:10], (0, Decimal(0)))
        days[entry.at[:10]] = (calls + attempts, cost + price)
    return {day: {"calls": calls, "cost_usd": f"{cost:f}"} for day, (calls, cost) in days.items()}
