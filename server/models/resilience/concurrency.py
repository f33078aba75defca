"""What all debates of a process share when they ask providers: places, rests, and what is known to fail.

A request takes a place of its provider, then one of the process, and keeps both while its model retries:
a provider that fails is asked less, not more. Waiting is in order of arrival, costs nothing of the time
that the answer has, and takes as long again at most.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from server.models import Cause, Model, ModelError, OnText, Reply, Request
from server.models.resilience.breaker import Breaker, Now, seconds

CONCURRENCY = 64
PROVIDER_CONCURRENCY = 8

LONGEST_REST = 60.0
"""Seconds for which one answer can keep everybody from a provider."""

Pause = Callable[[float], Awaitable[None]]


class Wait:
    """The time that one request may spend on waiting before it is asked."""

    def __init__(self, name: str, most: float, now: Now) -> None:
        self.name = name
        self.most = most
        self._now = now
        self._until = now() + most

    def left(self) -> float:
        return self._until - self._now()

    def in_vain(self, why: str, cause: Cause) -> ModelError:
        return ModelError(cause, f"{self.name} was not asked: {why}.", attempts=0)


class Places:
    """So many requests at a time. `what` says which, and where the number is set."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._free: anyio.Semaphore | None = None

    @asynccontextmanager
    async def one(self, wait: Wait) -> AsyncIterator[None]:
        """A place, for as long as the block runs.

        Raises:
            ModelError: none became free in time.
        """
        if self._free is None:  # not before there is an event loop
            self._free = anyio.Semaphore(self._most, fast_acquire=True)
        try:
            self._free.acquire_nowait()
        except anyio.WouldBlock:
            await self._wait(self._free, wait)
        try:
            yield
        finally:
            self._free.release()

    async def _wait(self, free: anyio.Semaphore, wait: Wait) -> None:
        with anyio.move_on_after(wait.left()):
            await free.acquire()
            return
        why = f"within its {wait.most:g} seconds none of {self._what} became free"
        raise wait.in_vain(why, "timeout")


class Rest:
    """How long a provider is left alone because it asked for that."""

    def __init__(self, provider: str, now: Now = time.monotonic, pause: Pause = anyio.sleep) -> None:
        self._provider = provider
        self._now = now
        self._pause = pause
        self._until = 0.0

    def ask(self, duration: float) -> None:
        self._until = max(self._until, self._now() + min(duration, LONGEST_REST))

    def left(self) -> float:
        return max(0.0, self._until - self._now())

    def check(self, wait: Wait) -> None:
        """Raises ModelError where it is longer than a request may wait."""
        if (left := self.left()) and left > wait.left():
            why = (
                f"{self._provider} limits the rate of requests and asks to be left alone for {seconds(left)}"
            )
            raise wait.in_vain(why, "rate_limited")

    async def over(self, wait: Wait) -> None:
        """Wait until it is over, however often it is prolonged; raises as `check`."""
        while left := self.left():
            self.check(wait)
            await self._pause(left)


class Guard:
    """One for each process. Makes no request itself: it decides when the models it guards may."""

    def __init__(
        self,
        *,
        concurrency: int = CONCURRENCY,
        provider_concurrency: int = PROVIDER_CONCURRENCY,
        now: Now = time.monotonic,
        pause: Pause = anyio.sleep,
    ) -> None:
        self.now = now
        self.pause = pause
        self.all_places = Places(
            concurrency, f"the {concurrency} places for requests of this server (COUNTERPOINT_CONCURRENCY)"
        )
        self._provider_concurrency = provider_concurrency
        self._places: dict[str, Places] = {}
        self._rests: dict[str, Rest] = {}

    def places(self, provider: str) -> Places:
        if provider not in self._places:
            most = self._provider_concurrency
            what = f"the {most} places for requests to {provider} (COUNTERPOINT_PROVIDER_CONCURRENCY)"
            self._places[provider] = Places(most, what)
        return self._places[provider]

    def rest(self, provider: str) -> Rest:
        if provider not in self._rests:
            self._rests[provider] = Rest(provider, self.now, self.pause)
        return self._rests[provider]


class Guarded:
    """A model that is asked when its provider, its process and its own past failures allow it."""

    def __init__(self, name: str, provider: str, model: Model, guard: Guard) -> None:
        self._name = name
        self._model = model
        self._now = guard.now
        self._rest = guard.rest(provider)
        self._places = guard.places(provider)
        self._all_places = guard.all_places
        self._breaker = Breaker(name, guard.now)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        wait = Wait(self._name, request.timeout, self._now)
        self._breaker.check()
        self._rest.check(wait)
        async with self._places.one(wait):
            # Before the second place, which other providers could use meanwhile; and once more after it,
            # because others were asked while it was waited for.
            await self._rest.over(wait)
            async with self._all_places.one(wait):
                await self._rest.over(wait)
                with self._breaker.watched(request.timeout):
                    return await self._model.reply(request, on_text)
