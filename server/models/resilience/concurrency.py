"""Concurrency limits, cooldowns and circuit breakers that all debates of a process share.

A request first acquires its provider's limit, then the process's, and holds both during its retries: a
failing provider gets fewer requests, not more. Waiting is first come, first served, does not count towards
the reply's timeout, and lasts at most as long again.
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
"""Upper limit for a provider's Retry-After, in seconds."""

Sleep = Callable[[float], Awaitable[None]]


class WaitBudget:
    """The time that one request may wait before its model is called."""

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
    """At most `limit` requests at a time. `description` names the limit and its setting."""

    def __init__(self, limit: int, description: str) -> None:
        self._limit = limit
        self._description = description
        self._semaphore: anyio.Semaphore | None = None

    @asynccontextmanager
    async def acquire(self, wait_budget: WaitBudget) -> AsyncIterator[None]:
        """Hold one of the slots while the block runs.

        Raises:
            ModelError: none became free in time.
        """
        if self._semaphore is None:  # needs a running event loop
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
        reason = f"within its {wait_budget.limit:g} seconds none of {self._description} became free"
        raise wait_budget.build_error(reason, "timeout")


class Cooldown:
    """The time during which a provider gets no requests because of its Retry-After."""

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
        """Raises ModelError if it is longer than the request may wait."""
        if (left := self.seconds_left()) and left > wait_budget.seconds_left():
            request = f"asks to be left alone for {format_seconds(left)}"
            reason = f"{self._provider} limits the rate of requests and {request}"
            raise wait_budget.build_error(reason, "rate_limited")

    async def wait_until_over(self, wait_budget: WaitBudget) -> None:
        """Wait until it is over, also when it is extended meanwhile. Raises ModelError as `check`."""
        while left := self.seconds_left():
            self.check(wait_budget)
            await self._sleep(left)


class Guard:
    """The limits, cooldowns and clock of a process."""

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
            limit = self._provider_concurrency
            description = f"the {limit} places for requests to {provider} (COUNTERPOINT_PROVIDER_CONCURRENCY)"
            self._provider_limits[provider] = ConcurrencyLimit(limit, description)
        return self._provider_limits[provider]

    def cooldown(self, provider: str) -> Cooldown:
        if provider not in self._cooldowns:
            self._cooldowns[provider] = Cooldown(provider, self.now, self.sleep)
        return self._cooldowns[provider]


class GuardedModel:
    """A model behind its provider's limit and cooldown, the process's limit, and its own circuit breaker."""

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
            # Before the second limit, which other providers can use meanwhile; and again after it, because
            # the cooldown may have been extended.
            await self._cooldown.wait_until_over(wait)
            async with self._process_limit.acquire(wait):
                await self._cooldown.wait_until_over(wait)
                with self._breaker.watch_request(request.timeout):
                    return await self._model.reply(request, on_text)
