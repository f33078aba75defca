"""When a model is not asked for a while: it failed again and again, or its key is refused.

    closed       everybody may ask; failures in a row are counted
    open         nobody may ask until the cool-down is over
    half open    one request tries: its success closes, its failure opens for twice as long

Only what says that nobody was there to answer counts as a failure. Any other refusal is an answer: what
is up. A request that was cancelled says nothing.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from server.models import ModelError

Clock = Callable[[], float]

FAILURE_THRESHOLD = 5
"""In a row, each after its own retries."""

OPEN_SECONDS = 30.0
MAX_OPEN_SECONDS = 300.0

MIN_COUNTED_TIMEOUT = 10.0
"""Seconds. A debate that gives its models less says nothing about them to the others when they fail it."""

REFUSED_KEY_SECONDS = 10.0
"""Seconds for which a refused key is remembered: the seats of a round ask once, and providers lock out
who tries a bad key too often; whoever has mended it hardly comes back sooner."""


class CircuitBreaker:
    """What all debates know of one model."""

    def __init__(self, name: str, now: Clock = time.monotonic) -> None:
        self._name = name
        self._now = now
        self._failures = 0  # in a row
        self._last_cause = ""  # the cause of the last one
        self._open_seconds = OPEN_SECONDS
        self._open_until: float | None = None
        self._is_probing = False
        self._key_error = ""  # what was said of the key
        self._key_refused_until = 0.0

    def check(self) -> None:
        """Let a request pass.

        Raises:
            ModelError: it would be in vain.
        """
        now = self._now()
        if self._key_error and now < self._key_refused_until:
            raise ModelError("unauthorized", self._key_error, attempts=0)
        if self._open_until is None:
            return
        failed = f"{self._name} was not asked: it failed {self._failures} times in a row (last: {self._last_cause})"
        if self._is_probing:
            raise ModelError("unavailable", f"{failed}, and one request is trying it now.", attempts=0)
        if now < self._open_until:
            again = f"{failed} and is tried again in {format_seconds(self._open_until - now)}."
            raise ModelError("unavailable", again, attempts=0)

    @contextmanager
    def watch_request(self, timeout: float) -> Iterator[None]:
        """Learn from what becomes of a request that has `timeout` seconds.

        Raises:
            ModelError: it would be in vain, or its own failure.
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
        if is_probe and self._open_until is not None:  # else another request was answered meanwhile
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
