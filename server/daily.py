"""What all debates together may spend in a day (UTC): looked at before each question, like their own limits.

What was spent is summed up from what each debate's heading says of its days, so that every process on a
database counts what the others spend, and a restart forgets nothing.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from server.debate.events import Recorded
from server.debate.limits import UNBOUNDED, Room
from server.debate.setup import CALLER
from server.errors import storage_translated
from storage.journal import Journal

Days = dict[str, dict[str, Any]]
"""By day: `calls` (requests to models, retries included) and `cost_usd` (a decimal)."""


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
        self.in_flight = 0  # questions of this process that are on their way

    def flight(self) -> "Flight":
        """Questions that are put together, and counted as long as they are on their way."""
        return Flight(self)

    def tomorrow(self) -> str:
        """When the next day begins: UTC, ISO 8601."""
        return f"{self.clock().date() + timedelta(days=1)}T00:00:00.000Z"

    async def room(self) -> Room:
        """How many more questions may be put today, and which limit says so.

        Raises:
            Unreadable: the database cannot be read.
        """
        if not (self.calls or self.cost_usd):
            return Room(UNBOUNDED)
        day = self.clock().date().isoformat()
        with storage_translated():
            headings = await self.journal.details_since(day)
        today = [spent for found in headings if (spent := (found.get("spent") or {}).get(day))]
        calls = sum(int(spent.get("calls", 0)) for spent in today)
        cost = sum((Decimal(spent.get("cost_usd", "0")) for spent in today), Decimal(0))
        told = f"the day's budget: {calls} of {self.calls or 'any number of'} calls"
        if self.cost_usd and cost >= self.cost_usd:
            return Room(0, f"the day's budget: {cost} of {self.cost_usd} US dollars spent today")
        left = self.calls - calls - self.in_flight if self.calls else UNBOUNDED
        return Room(max(left, 0), f"{told} made today")


class Flight:
    def __init__(self, daily: Daily) -> None:
        self.daily = daily
        self.questions = 0

    def add(self, number: int) -> None:
        self.questions += number
        self.daily.in_flight += number

    def land(self) -> None:
        self.add(-self.questions)


def spent_by_day(log: Sequence[Recorded], inherited_rounds: int) -> Days:
    """What a debate's own answers took, by the day on which they were recorded."""
    days: dict[str, tuple[int, Decimal]] = {}
    for entry in log:
        usage = getattr(entry.event, "usage", None)
        attempts = usage.attempts if usage else getattr(entry.event, "attempts", 0)
        unasked = getattr(entry.event, "handoff", False) or (usage and usage.model == CALLER)
        if unasked or not attempts or getattr(entry.event, "round", 0) <= inherited_rounds:
            continue
        calls, cost = days.get(entry.at[:10], (0, Decimal(0)))
        price = Decimal(usage.cost_usd or 0) if usage else Decimal(0)
        days[entry.at[:10]] = (calls + attempts, cost + price)
    return {day: {"calls": calls, "cost_usd": f"{cost:f}"} for day, (calls, cost) in days.items()}
