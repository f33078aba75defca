"""A circuit breaker for each model, and a short memory for refused keys.

    closed       requests pass; consecutive failures are counted
    open         requests fail at once until the open time is over
    half open    one request passes: its success closes the breaker, its failure doubles the open time

Only `unavailable` and `timeout` count as failures. Any other error shows that the provider is up. A cancelled
request changes nothing.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from server.models import ModelError

Clock = Callable[[], float]

FAILURE_THRESHOLD = 5
"""Consecutive failures, each after its own retries, that open the breaker."""

OPEN_SECONDS = 30.0
MAX_OPEN_SECONDS = 300.0

MIN_COUNTED_TIMEOUT = 10.0
"""Timeouts shorter than this (seconds) do not count: they say more about the debate than the model."""

REFUSED_KEY_SECONDS = 10.0
"""So long after a refused key, requests fail at once: providers lock out clients that repeat bad keys."""


class CircuitBreaker:
    """The breaker of one model, shared by all debates of the process."""

    def __init__(self, name: str, now: Clock = time.monotonic) -> None:
        self._name = name
        self._now = now
        self._failures = 0  # in a row
        self._last_cause = ""  # the cause of the last one
        self._open_seconds = OPEN_SECONDS
        self._open_until: float | None = None
        self._is_probing = False
        self._key_error = ""  # the last error about the key
        self._key_refused_until = 0.0

    def check(self) -> None:
        """Raises ModelError if the model should not be called now."""
        now = self._now()
        if self._key_error and now < self._key_refused_until:
            raise ModelError("unauthorized", self._key_error, attempts=0)
        if self._open_until is None:
            return
        count = f"{self._failures} times in a row (last: {self._last_cause})"
        failed = f"{self._name} was not asked: it failed {count}"
        if self._is_probing:
            raise ModelError("unavailable", f"{failed}, and one request is trying it now.", attempts=0)
        if now < self._open_until:
            again = f"{failed} and is tried again in {format_seconds(self._open_until - now)}."
            raise ModelError("unavailable", again, attempts=0)

    @contextmanager
    def watch_request(self, timeout: float) -> Iterator[None]:
        """Check, then record the result of a request with `timeout` seconds.

        Raises:
            ModelError: from `check`, or the request's own.
        """
        self.check()
        probe = self._is_probing = self._open_until is not None
        try:
            yield
        except ModelError as error:
            self._record_failure(error, timeout, is_probe=probe)
            raise
        else:
            self._close()
        finally:
            if probe:
                self._is_probing = False

    def _record_failure(self, error: ModelError, timeout: float, *, is_probe: bool) -> None:
        if error.cause == "unauthorized":
            self._key_error, self._key_refused_until = error.detail, self._now() + REFUSED_KEY_SECONDS
        if error.cause == "crashed" or (error.cause == "timeout" and timeout < MIN_COUNTED_TIMEOUT):
            return
        if error.cause not in ("unavailable", "timeout"):
            self._close()
            return
        self._failures += 1
        self._last_cause = error.cause
        if is_probe and self._open_until is not None:  # else another request has closed the breaker
            self._open_seconds = min(2 * self._open_seconds, MAX_OPEN_SECONDS)
            self._open_until = self._now() + self._open_seconds
        elif self._open_until is None and self._failures >= FAILURE_THRESHOLD:
            self._open_until = self._now() + self._open_seconds

    def _close(self) -> None:
        self._failures = 0
        self._open_seconds = OPEN_SECONDS
        self._open_until = None


def format_seconds(duration: float) -> str:
    whole = max(1, math.ceil(duration))
    return "a second" if whole == 1 else f"{whole} seconds"
