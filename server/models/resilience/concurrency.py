"""What all debates of a process share when they ask providers: places, rests, and what is known to fail.

A request takes a place of its provider, then one of the process, and keeps both while its model retries:
a provider that fails is asked less, not more. Waiting is in order of arrival, costs nothing of the time
that the answer has, and takes as long again at most.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from server.models import FailureCause, Model, ModelError, OnText, Reply, Request
from server.models.resilience.breaker import CircuitBreaker, Clock, format_seconds

CONCURRENCY = 64
PROVIDER_CONCURRENCY = 8

MAX_COOLDOWN = 60.0
"""Seconds for which one answer can keep everybody from a provider."""

Sleep = Callable[[float], Awaitable[None]]


class WaitBudget:
    """The time that one request may spend on waiting before it is asked."""

    def __init__(self, name: str, limit: float, now: Clock) -> None:
        self.name = name
        self.limit = limit
        self._now = now
        self._deadline = now() + limit

    def seconds_left(self) -> float:
        return self._deadline - self._now()

    def build_error(self, reason: str, cause: FailureCause) -> ModelError:
        return ModelError(cause, f"{self.name} was not asked: {reason}.", attempts=0)


class ConcurrencyLimit:
    """So many requests at a time. `what` says which, and where the number is set."""

    def __init__(self, limit: int, description: str) -> None:
        self._limit = limit
        self._description = description
        self._semaphore: anyio.Semaphore | None = None

    @asynccontextmanager
    async def acquire(self, wait_budget: WaitBudget) -> AsyncIterator[None]:
        """A place, for as long as the block runs.

        Raises:
            ModelError: none became free in time.
        """
        if self._semaphore is None:  # not before there is an event loop
            self._semaphore = anyio.Semaphore(self._limit, fast_acquire=True)
        try:
            self._semaphore.acquire_nowait()
        except anyio.WouldBlock:
            await self._wait_until_free(self._semaphore, wait_budget)
        try:
            yield
        finally:
            self._semaphore.release()

    async def _wait_until_free(self, semaphore: anyio.Semaphore, wait_budget: WaitBudget) -> None:
        with anyio.move_on_after(wait_budget.seconds_left()):
            await semaphore.acquire()
            return
        why = f"within its {wait_budget.limit:g} seconds none of {self._description} became free"
        raise wait_budget.build_error(why, "timeout")


class Cooldown:
    """How long a provider is left alone because it asked for that."""

    def __init__(self, provider: str, now: Clock = time.monotonic, sleep: Sleep = anyio.sleep) -> None:
        self._provider = provider
        self._now = now
        self._sleep = sleep
        self._ends_at = 0.0

    def extend(self, duration: float) -> None:
        self._ends_at = max(self._ends_at, self._now() + min(duration, MAX_COOLDOWN))

    def seconds_left(self) -> float:
        return max(0.0, self._ends_at - self._now())

    def check(self, wait_budget: WaitBudget) -> None:
        """Raises ModelError where it is longer than a request may wait."""
        if (left := self.seconds_left()) and left > wait_budget.seconds_left():
            why = f"{self._provider} limits the rate of requests and asks to be left alone for {format_seconds(left)}"
            raise wait_budget.build_error(why, "rate_limited")

    async def wait_until_over(self, wait_budget: WaitBudget) -> None:
        """Wait until it is over, however often it is prolonged; raises as `check`."""
        while left := self.seconds_left():
            self.check(wait_budget)
            await self._sleep(left)


class Guard:
    """One for each process. Makes no request itself: it decides when the models it guards may."""

    def __init__(
        self,
        *,
        concurrency: int = CONCURRENCY,
        provider_concurrency: int = PROVIDER_CONCURRENCY,
        now: Clock = time.monotonic,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        self.now = now
        self.sleep = sleep
        self.process_limit = ConcurrencyLimit(
            concurrency, f"the {concurrency} places for requests of this server (COUNTERPOINT_CONCURRENCY)"
        )
        self._provider_concurrency = provider_concurrency
        self._provider_limits: dict[str, ConcurrencyLimit] = {}
        self._cooldowns: dict[str, Cooldown] = {}

    def provider_limit(self, provider: str) -> ConcurrencyLimit:
        if provider not in self._provider_limits:
            most = self._provider_concurrency
            what = f"the {most} places for requests to {provider} (COUNTERPOINT_PROVIDER_CONCURRENCY)"
            self._provider_limits[provider] = ConcurrencyLimit(most, what)
        return self._provider_limits[provider]

    def cooldown(self, provider: str) -> Cooldown:
        if provider not in self._cooldowns:
            self._cooldowns[provider] = Cooldown(provider, self.now, self.sleep)
        return self._cooldowns[provider]


class GuardedModel:
    """A model that is asked when its provider, its process and its own past failures allow it."""

    def __init__(self, name: str, provider: str, model: Model, guard: Guard) -> None:
        self._name = name
        self._model = model
        self._now = guard.now
        self._cooldown = guard.cooldown(provider)
        self._provider_limit = guard.provider_limit(provider)
        self._process_limit = guard.process_limit
        self._breaker = CircuitBreaker(name, guard.now)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        wait = WaitBudget(self._name, request.timeout, self._now)
        self._breaker.check()
        self._cooldown.check(wait)
        async with self._provider_limit.acquire(wait):
            # Before the second place, which other providers could use meanwhile; and once more after it,
            # because others were asked while it was waited for.
            await self._cooldown.wait_until_over(wait)
            async with self._process_limit.acquire(wait):
                await self._cooldown.wait_until_over(wait)
                with self._breaker.watch_request(request.timeout):
                    return await self._model.reply(request, on_text)
