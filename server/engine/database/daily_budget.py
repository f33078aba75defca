"""The daily budget (UTC) of all debates together, and of those of each owner: requests to models, and dollars.

What each debate spent on a day is stored with its entries, and what calls in flight may take at most is reserved
in the database before they are made. So all processes on a database share the budget, and a restart forgets
nothing. A reservation ends when the answer is recorded, or with the lease of the process that held it.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from server.debate.facts.answers import SlotFact, Usage
from server.debate.facts.events import Recorded
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import WRITTEN
from server.debate.rules.budget import UNBOUNDED, Remaining
from server.debate.state.debate import Debate
from server.engine.database.errors import translate_storage_errors
from server.engine.database.leases import LeaseLostError, Leases
from storage.spending import DailySpending
from storage.streams import Amount, Reservation, Spending


class DailyLimits(NamedTuple):
    """0: no limit."""

    calls: int = 0
    cost_usd: Decimal = Decimal(0)


NO_LIMITS = DailyLimits()

NOTHING = Spending()

WHOLE, OWN = "the day's budget", "the day's budget of its owner"


@dataclass
class DailyBudget:
    """Its methods may raise StorageUnavailableError."""

    spending: DailySpending
    leases: Leases
    limits: DailyLimits
    owner_limits: DailyLimits = NO_LIMITS  # of each owner alone
    # Set, and replaced, when a reservation ends.
    released: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_limited(self) -> bool:
        return any((*self.limits, *self.owner_limits))

    @property
    def is_cost_limited(self) -> bool:
        return bool(self.limits.cost_usd or self.owner_limits.cost_usd)

    @property
    def day(self) -> str:
        return self.leases.clock().date().isoformat()

    async def reserve(
        self, debate_id: str, cost_per_request: Decimal, choose: Callable[[int], Amount]
    ) -> None:
        """Reserve what `choose` returns for the number of requests that may be made now.

        Raises LeaseLostError if another process runs the debate now.
        """
        if not self.is_limited:
            choose(UNBOUNDED)
            return

        def grant(whole: Spending, own: Spending) -> Amount:
            return choose(self.compute_remaining(whole, own, cost_per_request)[0].calls)

        with translate_storage_errors():
            if not await self.spending.reserve(debate_id, self.leases.holder, day=self.day, grant=grant):
                raise LeaseLostError

    def build_reservation(self, in_flight: Iterable[Amount]) -> Reservation | None:
        """What stays reserved for these calls when others are settled."""
        if not self.is_limited:
            return None
        return Reservation(self.leases.holder, sum_amounts(in_flight))

    async def settle(self, debate_id: str, reserved: Reservation | None) -> None:
        """Give back what was reserved for calls whose answers are not recorded."""
        if reserved:
            with translate_storage_errors():
                await self.spending.settle(debate_id, reserved)

    def announce_release(self) -> None:
        """Wake the debates of this process that wait for a part of the budget."""
        self.released.set()
        self.released = asyncio.Event()

    async def find_spending(self) -> Spending:
        """What was spent today as far as prices are known, and what is reserved by calls in flight."""
        with translate_storage_errors():
            return await self.spending.find(self.day)

    async def find_remaining(self, owner: str) -> tuple[Remaining, Amount]:
        """As `compute_remaining`, for a debate of this owner as of now."""
        with translate_storage_errors():
            own = await self.spending.find(self.day, owner=owner) if any(self.owner_limits) else NOTHING
            return self.compute_remaining(await self.spending.find(self.day), own)

    def compute_remaining(
        self, whole: Spending, own: Spending, cost_per_request: Decimal = Decimal(0)
    ) -> tuple[Remaining, Amount]:
        """How many more requests may be made today, which limit says so, and what is reserved under that limit.

        `whole`: of all owners; `own`: of the owner of the debate that asks.
        """
        of_all = compute_remaining(self.limits, whole, cost_per_request, WHOLE)
        of_owner = compute_remaining(self.owner_limits, own, cost_per_request, OWN)
        return (of_owner, own.reserved) if of_owner.calls < of_all.calls else (of_all, whole.reserved)


def compute_remaining(
    limits: DailyLimits, spending: Spending, cost_per_request: Decimal, name: str
) -> Remaining:
    """How many more requests limits allow, and why no more. `name`: of the limits, for people."""
    spent, reserved = spending
    requests = limits.calls - spent.requests - reserved.requests if limits.calls else UNBOUNDED
    if limits.cost_usd:
        money = limits.cost_usd - spent.cost - reserved.cost
        if money <= 0:
            return Remaining(0, f"{name}: {spent.cost} of {limits.cost_usd} US dollars spent today")
        if cost_per_request:  # an estimate: while something is left, one more may be made
            requests = min(requests, max(int(money / cost_per_request), 1))
    return Remaining(max(requests, 0), f"{name}: {spent.requests} of {limits.calls} calls made today")


def sum_amounts(amounts: Iterable[Amount]) -> Amount:
    amounts = tuple(amounts)
    return Amount(
        sum(amount.requests for amount in amounts), sum((amount.cost for amount in amounts), Decimal(0))
    )


class DaySum(NamedTuple):
    """What a debate's own answers took on a day. It only grows."""

    requests: int = 0
    cost: Decimal = Decimal(0)  # of the answers whose price or tokens are known
    uncounted: int = 0  # answers whose tokens nobody counted

    def estimate(self, cost: Decimal) -> Amount:
        """`cost`: of an answer whose tokens were not counted."""
        return Amount(self.requests, self.cost + self.uncounted * cost if self.uncounted else self.cost)


def add_spending(
    days: Mapping[str, DaySum], entries: Iterable[Recorded], debate: Debate
) -> dict[str, DaySum]:
    """The sums with further entries, retries included, by the day on which they were recorded here (ISO 8601).

    What is asked before the first round counts, too: what is recalled, positions, the digest of long documents.
    """
    sums = dict(days)
    for entry in entries:
        event = entry.event
        is_own = isinstance(event, Opened) or (isinstance(event, SlotFact) and debate.is_own(event))
        if entry.restored or not is_own:
            continue
        usage: Usage | None = getattr(event, "usage", None)
        attempts = usage.attempts if usage else getattr(event, "attempts", 0)
        if not attempts or (usage and usage.model in WRITTEN):
            continue
        is_uncounted = usage and not (usage.cost_usd or usage.input_tokens or usage.output_tokens)
        cost = Decimal(usage.cost_usd or 0) if usage else Decimal(0)
        day = entry.at[:10]
        day_sum = sums.get(day, DaySum())
        sums[day] = DaySum(
            day_sum.requests + attempts, day_sum.cost + cost, day_sum.uncounted + bool(is_uncounted)
        )
    return sums
