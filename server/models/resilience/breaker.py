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

Now = Callable[[], float]

FAILURES = 5
"""In a row, each after its own retries."""

COOL_DOWN = 30.0
LONGEST_COOL_DOWN = 300.0

SHORTEST_CHANCE = 10.0
"""Seconds. A debate that gives its models less says nothing about them to the others when they fail it."""

KEY_REFUSED = 10.0
"""Seconds for which a refused key is remembered: the seats of a round ask once, and providers lock out
who tries a bad key too often; whoever has mended it hardly comes back sooner."""


class Breaker:
    """What all debates know of one model."""

    def __init__(self, name: str, now: Now = time.monotonic) -> None:
        self._name = name
        self._now = now
        self._failures = 0  # in a row
        self._last = ""  # the cause of the last one
        self._cool_down = COOL_DOWN
        self._open_until: float | None = None
        self._probing = False
        self._refusal = ""  # what was said of the key
        self._refused_until = 0.0

    def check(self) -> None:
        """Let a request pass.

        Raises:
            ModelError: it would be in vain.
        """
        now = self._now()
        if self._refusal and now < self._refused_until:
            raise ModelError("unauthorized", self._refusal, attempts=0)
        if self._open_until is None:
            return
        failed = f"{self._name} was not asked: it failed {self._failures} times in a row (last: {self._last})"
        if self._probing:
            raise ModelError("unavailable", f"{failed}, and one request is trying it now.", attempts=0)
        if now < self._open_until:
            again = f"{failed} and is tried again in {seconds(self._open_until - now)}."
            raise ModelError("unavailable", again, attempts=0)

    @contextmanager
    def watched(self, timeout: float) -> Iterator[None]:
        """Learn from what becomes of a request that has `timeout` seconds.

        Raises:
            ModelError: it would be in vain, or its own failure.
        """
        self.check()
        probe = self._probing = self._open_until is not None
        try:
            yield
        except ModelError as error:
            self._failed(error, timeout, probe=probe)
            raise
        else:
            self._close()
        finally:
            if probe:
                self._probing = False

    def _failed(self, error: ModelError, timeout: float, *, probe: bool) -> None:
        if error.cause == "unauthorized":
            self._refusal, self._refused_until = error.detail, self._now() + KEY_REFUSED
        if error.cause == "crashed" or (error.cause == "timeout" and timeout < SHORTEST_CHANCE):
            return
        if error.cause not in ("unavailable", "timeout"):
            self._close()
            return
        self._failures += 1
        self._last = error.cause
        if probe and self._open_until is not None:  # else another request was answered meanwhile
            self._cool_down = min(2 * self._cool_down, LONGEST_COOL_DOWN)
            self._open_until = self._now() + self._cool_down
        elif self._open_until is None and self._failures >= FAILURES:
            self._open_until = self._now() + self._cool_down

    def _close(self) -> None:
        self._failures = 0
        self._cool_down = COOL_DOWN
        self._open_until = None


def seconds(left: float) -> str:
    whole = max(1, math.ceil(left))
    return "a second" if whole == 1 else f"{whole} seconds"
