"""What the debates of a process share about providers: concurrency limits, cooldowns, circuit breakers.

A request first takes a place in its provider's limit, then one in the limit of the process, and holds both during its
retries: a failing provider gets fewer requests, not more. The wait for a place does not count towards the reply's
timeout, and lasts at most as long again. A request that the provider refuses with 429 gives its places back. It is
repeated when it gets another place, after the time that the provider asked for.

Each model has a circuit breaker:

    closed       requests pass; consecutive failures are counted
    open         requests fail at once until the open time is over
    half open    one request passes: its success closes the breaker, its failure doubles the open time

Only `unavailable` and `timeout` count as failures. Any other error shows that the provider is up. A cancelled
request changes nothing.
"""

import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar

import anyio

from server.debate.facts.text import format_duration
from server.models import Model, ModelError, OnText, Reply, Request, Usage
from server.models.client import WithdrawnError
from server.models.concurrency import WHOLE, ConcurrencyLimit, Share
from server.models.embeddings import Embedder, Embeddings

CONCURRENCY = 256

MAX_REFUSALS = 8  # of one request; the pause after each doubles
REFUSAL_PAUSE, MAX_REFUSAL_PAUSE = 0.05, 5.0  # seconds

MAX_COOLDOWN = 60.0  # seconds: the upper limit for a provider's Retry-After
FAILURE_THRESHOLD = 5  # consecutive failures, each after its own retries, that open the breaker
OPEN_SECONDS = 30.0
MAX_OPEN_SECONDS = 300.0
MIN_COUNTED_TIMEOUT = 10.0  # seconds: a shorter timeout says more about the debate than about the model
REFUSED_KEY_SECONDS = (
    10.0  # without requests after a refused key: providers lock out clients that repeat bad keys
)

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class Cooldown:
    """The time during which a provider gets no requests because of its Retry-After."""

    now: Clock
    ends_at: float = 0.0

    def extend(self, duration: float) -> None:
        self.ends_at = max(self.ends_at, self.now() + min(duration, MAX_COOLDOWN))

    def seconds_left(self) -> float:
        return max(0.0, self.ends_at - self.now())


@dataclass(kw_only=True)
class Guard:
    """The limits, cooldowns and clock of a process.

    `provider_concurrency`: 0 for limits that adapt. `share`: the part of each provider's limit that the process has.
    """

    concurrency: int = CONCURRENCY
    provider_concurrency: int = 0
    now: Clock = time.monotonic
    sleep: Sleep = anyio.sleep
    share: Share = WHOLE
    is_draining: bool = False  # whether what waits for a place is withdrawn: this process is about to end
    _limits: dict[str, ConcurrencyLimit] = field(default_factory=dict)
    _cooldowns: dict[str, Cooldown] = field(default_factory=dict)

    def limit(self, provider: str) -> ConcurrencyLimit:
        """The limit of requests to a provider; "" for the limit of all requests of the process."""
        if provider not in self._limits:
            limit = self.provider_concurrency if provider else self.concurrency
            self._limits[provider] = ConcurrencyLimit(limit, self.now, self.share if provider else WHOLE)
        return self._limits[provider]

    def set_share(self, share: Share) -> None:
        """Use another part of each provider's limit from now on."""
        if share != self.share:
            self.share = share
            for provider, limit in self._limits.items():
                if provider:
                    limit.set_share(share)

    def count_waiting(self) -> Mapping[str, int]:
        """By owner: requests that wait for a place."""
        counts = Counter[str]()
        for limit in list(self._limits.values()):
            counts.update(limit.waiting.count())
        return counts

    def cooldown(self, provider: str) -> Cooldown:
        return self._cooldowns.setdefault(provider, Cooldown(self.now))


A = TypeVar("A")
M = TypeVar("M", Model, Embedder)


@dataclass(eq=False)
class Guarded(Generic[M]):
    """Sends requests to a model within the limits of its provider and of the process, its cooldown and its breaker."""

    name: str
    provider: str
    model: M
    guard: Guard

    def __post_init__(self) -> None:
        self._cooldown = self.guard.cooldown(self.provider)
        self._breaker = _CircuitBreaker(self.name, self.guard.now)

    async def request(
        self,
        send: Callable[[], Awaitable[A]],
        timeout: float,  # noqa: ASYNC109  (that `send` keeps itself)
        group: str = "",
        owner: str = "",
    ) -> tuple[A, int]:
        """(what `send` returns, the attempts of its earlier, refused calls). Raises ModelError as `send` does.

        `timeout`: seconds that `send` takes at most; the wait before it lasts at most as long again.
        """
        guard, deadline = self.guard, self.guard.now() + timeout
        self._breaker.check(group)
        self._check_cooldown(deadline)
        refusals = attempts = 0
        while True:
            try:
                place = _Place(timeout, deadline, owner, group, was_refused=refusals > 0)
                return await self._send(send, place), attempts
            except ModelError as error:
                refusals += 1
                error.attempts = attempts = attempts + error.attempts
                pause = min(REFUSAL_PAUSE * 2**refusals, MAX_REFUSAL_PAUSE) * random.uniform(0.5, 1.0)  # noqa: S311
                is_late = guard.now() + max(pause, self._cooldown.seconds_left()) >= deadline
                if not error.may_be_repeated or refusals > MAX_REFUSALS or is_late:
                    raise
            await guard.sleep(pause)

    async def _send(self, send: Callable[[], Awaitable[A]], place: "_Place") -> A:
        """Send once both limits have a place. Raises WithdrawnError, and ModelError where no place becomes free."""
        guard, limit = self.guard, self.guard.limit(self.provider)
        places = f"requests to {self.provider} (COUNTERPOINT_PROVIDER_CONCURRENCY)"
        async with self._acquire(limit, places, place) as generation:
            # Wait before the second limit is taken, so that other providers can use it meanwhile; and again after it,
            # because the cooldown may have been extended.
            await self._wait_for_cooldown(place.deadline)
            places = "requests of this server (COUNTERPOINT_CONCURRENCY)"
            async with self._acquire(guard.limit(""), places, replace(place, was_refused=False)):
                await self._wait_for_cooldown(place.deadline)
                if guard.is_draining and place.group:  # a turn of a debate, which another process asks for
                    raise WithdrawnError
                try:
                    with self._breaker.watch_request(place.timeout, place.group):
                        answer = await send()
                except ModelError as error:
                    if error.cause == "rate_limited":
                        limit.count_refusal(generation, self._cooldown.seconds_left())
                    raise
                limit.count_answer()
                return answer

    @asynccontextmanager
    async def _acquire(self, limit: ConcurrencyLimit, places: str, place: "_Place") -> AsyncIterator[int]:
        """Hold one of the places while the block runs. Raises ModelError if none becomes free in time."""
        generation = None
        with anyio.move_on_after(place.deadline - self.guard.now()):
            generation = await limit.acquire(place.owner, place.group, was_refused=place.was_refused)
        if generation is None:
            reason = f"within its {place.timeout:g} seconds none of the {limit.places} places for {places}"
            raise ModelError("timeout", f"{self.name} was not asked: {reason} became free.", attempts=0)
        try:
            yield generation
        finally:
            limit.release()

    async def _wait_for_cooldown(self, deadline: float) -> None:
        while seconds := self._check_cooldown(deadline):  # it may be extended meanwhile
            await self.guard.sleep(seconds)

    def _check_cooldown(self, deadline: float) -> float:
        """The seconds until the cooldown is over. Raises ModelError if that is after the deadline."""
        seconds = self._cooldown.seconds_left()
        if seconds and seconds > deadline - self.guard.now():
            request = f"asks to be left alone for {format_duration(seconds)}"
            reason = f"{self.provider} limits the rate of requests and {request}"
            raise ModelError("rate_limited", f"{self.name} was not asked: {reason}.", attempts=0)
        return seconds


@dataclass(frozen=True, slots=True)
class _Place:
    """A request that waits for a place: for whom, and until when."""

    timeout: float  # seconds for the answer, once it has a place
    deadline: float
    owner: str
    group: str
    was_refused: bool


class GuardedModel(Guarded[Model]):
    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        send = partial(self.model.reply, request, on_text)
        reply, attempts = await self.request(send, request.timeout, request.group, request.owner)
        return replace(reply, usage=add_attempts(reply.usage, attempts)) if attempts else reply


class GuardedEmbedder(Guarded[Embedder]):
    async def embed(self, texts: Sequence[str], timeout: float) -> Embeddings:  # noqa: ASYNC109  (the interface)
        send = partial(self.model.embed, texts, timeout)
        embeddings, attempts = await self.request(send, timeout)
        return embeddings._replace(usage=add_attempts(embeddings.usage, attempts))


def add_attempts(usage: Usage, attempts: int) -> Usage:
    return usage.model_copy(update={"attempts": attempts + usage.attempts})


@dataclass(slots=True)
class _CircuitBreaker:
    """The breaker of one model, and a short memory for a refused key.

    A refused key blocks only the debate (`group`) that met it: the key may have been corrected since, and the next
    debate should find that out. An answer to any debate shows that the key is good.
    """

    name: str
    now: Clock
    failures: int = 0  # in a row
    last_cause: str = ""
    open_seconds: float = OPEN_SECONDS
    open_until: float | None = None
    is_probing: bool = False
    key_errors: dict[str, tuple[str, float]] = field(default_factory=dict)  # by group: (text, blocked until)

    def check(self, group: str) -> None:
        """Raises ModelError if the model should not be called now."""
        now = self.now()
        detail, blocked_until = self.key_errors.get(group, ("", 0.0))
        if now < blocked_until:
            raise ModelError("unauthorized", detail, attempts=0)
        if self.open_until is None:
            return
        count = f"{self.failures} times in a row (last: {self.last_cause})"
        refusal = f"{self.name} was not asked: it failed {count}"
        if self.is_probing:
            raise ModelError("unavailable", f"{refusal}, and one request is trying it now.", attempts=0)
        if now < self.open_until:
            text = f"{refusal} and is tried again in {format_duration(self.open_until - now)}."
            raise ModelError("unavailable", text, attempts=0)

    @contextmanager
    def watch_request(self, timeout: float, group: str) -> Iterator[None]:
        """Check, then record how a request with `timeout` seconds ends. Raises ModelError as `check`."""
        self.check(group)
        probe = self.is_probing = self.open_until is not None
        try:
            yield
        except ModelError as error:
            if error.cause == "unauthorized":
                self._remember_key_error(group, error.detail)
            if error.cause not in ("unavailable", "timeout", "crashed"):
                self._close()
            elif error.cause == "unavailable" or (
                error.cause == "timeout" and timeout >= MIN_COUNTED_TIMEOUT
            ):
                self._count_failure(error.cause, is_probe=probe)
            raise
        else:
            self.key_errors.clear()
            self._close()
        finally:
            if probe:
                self.is_probing = False

    def _remember_key_error(self, group: str, detail: str) -> None:
        now = self.now()
        self.key_errors = {name: row for name, row in self.key_errors.items() if now < row[1]}
        self.key_errors[group] = detail, now + REFUSED_KEY_SECONDS

    def _count_failure(self, cause: str, *, is_probe: bool) -> None:
        self.failures += 1
        self.last_cause = cause
        if is_probe and self.open_until is not None:  # else another request has closed the breaker
            self.open_seconds = min(2 * self.open_seconds, MAX_OPEN_SECONDS)
        elif self.open_until is not None or self.failures < FAILURE_THRESHOLD:
            return
        self.open_until = self.now() + self.open_seconds

    def _close(self) -> None:
        self.failures = 0
        self.open_seconds = OPEN_SECONDS
        self.open_until = None
