"""How many requests may be in flight at once: a fixed limit, or one that adapts to the provider.

An adaptive limit starts high, and grows fast while requests wait and a higher limit raises the throughput. It shrinks
to the number of requests being answered when the provider refuses some (429). It goes back to its last value when a
higher limit did not raise the throughput: the provider slows down under load. From then on it tries slightly higher and
lower limits in turn (hill climbing on throughput), less and less often while neither is better.

Waiting requests are served in turn by owner, and those of an owner by group: no owner waits for all that another asks,
and no debate for a whole round of another.

Processes that share a database share the limits of providers: each has a part of every limit (`Share`).
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import anyio

from server.turns import Turns

FIRST_LIMIT = 32
MAX_LIMIT = 1000
MIN_WINDOW = 16  # answers that one measurement of throughput takes at least

GROWTH = 3.0  # the first step up, used until one fails
SMALLER_STEP_UP = {GROWTH: 1.3, 1.3: 1.1, 1.1: 1.1}  # the next step after one that raised nothing
LARGER_STEP_UP = {1.1: 1.3, 1.3: 1.3, GROWTH: GROWTH}  # the next step after one that raised the throughput
STEP_DOWN, SMALL_STEP_DOWN = 0.5, 0.9
MIN_GAIN = 1.05  # relative throughput that justifies a higher limit
MIN_KEPT = 1.0  # relative throughput that justifies a lower limit
MAX_CUT = 8  # one burst of refusals divides the limit by this at most, even if every request was refused
COOLDOWNS = 10  # lengths of the last cooldown that pass before another limit is tried
MAX_REST = 8  # windows between two tries while tries bring nothing


@dataclass(frozen=True, slots=True)
class Share:
    """The part of each limit that a process has: the part number `index` of `count` equal ones."""

    index: int = 0
    count: int = 1

    def compute_places(self, limit: int) -> int:
        """The places of this part: at least one. The parts add up to the limit, if it is large enough."""
        return max(limit * (self.index + 1) // self.count - limit * self.index // self.count, 1)


WHOLE = Share()


class Throughput(NamedTuple):
    places: int = 0
    rate: float = 0.0  # answers a second


class ConcurrencyLimit:
    def __init__(
        self, fixed: int = 0, now: Callable[[], float] = time.monotonic, share: Share = WHOLE
    ) -> None:
        """`fixed`: the limit, or 0 for one that adapts. `share`: what this process has of it."""
        self.is_adaptive = not fixed
        self.places = share.compute_places(fixed or FIRST_LIMIT)
        self._fixed, self._share = fixed, share
        self.in_use = 0
        self.generation = 0  # grows with each cut; a request refused under an older one is of the same burst
        self._now = now
        self.waiting = Turns[anyio.Event]()  # by owner and group
        self._refused: deque[anyio.Event] = deque()  # requests that were refused once: they are served first
        self._best = Throughput()  # the best limit so far, with which the present one is compared
        self._tries_smaller, self._step_down, self._step_up = False, STEP_DOWN, GROWTH
        self._min_places = 1  # after the last burst of refusals
        self._next_try_at = 0.0  # time before which no other limit is tried
        self._windows_between_tries = 1  # windows at the best limit before another is tried
        self._older_requests = 0  # requests in flight that began under a higher limit
        self._full_answers = 0  # with requests waiting, since the limit was set
        self._begin_window()

    async def acquire(self, owner: str = "", group: str = "", *, was_refused: bool = False) -> int:
        """Wait for a place; `release` it later. Returns the generation under which the request is made."""
        if self.in_use < self.places and not (self.waiting or self._refused):
            self.in_use += 1
            return self.generation
        turn = anyio.Event()
        if was_refused:
            self._refused.append(turn)
        else:
            self.waiting.add(turn, owner, group)
        self._serve()
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self.release()
            elif was_refused:
                self._refused.remove(turn)
            else:
                self.waiting.remove(turn, owner, group)
            raise
        return self.generation

    def set_share(self, share: Share) -> None:
        """Use another part of the limit from now on. Requests in flight keep their places."""
        before, self._share = self._share, share
        if not self.is_adaptive:
            self.places = share.compute_places(self._fixed)
            self._serve()
        elif share.count != before.count:
            # The best limit was measured beside another number of processes: it says nothing now.
            self._best, self._tries_smaller = Throughput(), False
            self._set_places(self.places * before.count / share.count)

    def release(self) -> None:
        self.in_use -= 1
        self._serve()

    def _serve(self) -> None:
        while self.in_use < self.places and (self._refused or self.waiting):
            self.in_use += 1
            turn = self._refused.popleft() if self._refused else self.waiting.take()
            turn.set()

    def count_refusal(self, generation: int, cooldown: float = 0.0) -> None:
        """Adapt to a refusal (429). The refused request still holds its place.

        `cooldown`: seconds for which the provider gets no requests now.
        """
        if not self.is_adaptive:
            return
        if generation != self.generation:
            if self.in_use <= self.places:  # another one of the same burst: the rest may still be answered
                self._set_places(max(self.in_use - 1, self._min_places))
            return
        self.generation += 1
        self._next_try_at = self._now() + cooldown * COOLDOWNS
        self._min_places = self.places // MAX_CUT
        best_places = self._best.places
        is_known = 0 < best_places < self.places
        self._windows_between_tries = min(2 * self._windows_between_tries, MAX_REST) if is_known else 1
        self._step_up = SMALLER_STEP_UP[self._step_up]
        self._tries_smaller = False
        self._set_places(best_places if is_known else min(self.in_use, self.places) - 1)
        self._best = Throughput()

    def count_answer(self) -> None:
        """A request was answered. After enough of them under full load, the limit is adapted."""
        if not self.is_adaptive:
            return
        is_full = self.in_use == self.places and (self.waiting or self._refused)
        is_more = self._best.rate and self._best.places < self.in_use <= self.places
        self._full_answers += bool(is_full)
        if not (is_full or is_more):
            self._begin_window()  # the throughput below full load says nothing about the limit
            # Short phases of full load never fill a window: after enough of them a higher limit is tried all the same.
            if self._full_answers >= MIN_WINDOW and self._now() >= self._next_try_at:
                self._best = Throughput(self.places)
                self._set_places(self.places * self._step_up)
            return
        if self._older_requests:  # an answer to one of them says nothing about the present limit
            self._older_requests -= 1
            self._window_began_at = self._now()
            return
        self._answers += 1
        enough = max(MIN_WINDOW, self.in_use) * (1 if self._best.rate else self._windows_between_tries)
        elapsed = self._now() - self._window_began_at
        is_hopeless = (
            elapsed * self._best.rate > enough / MIN_KEPT
        )  # too slow already: the window need not fill
        if elapsed > 0 and (self._answers >= enough or is_hopeless):
            self._adapt(self._answers / elapsed)

    def _adapt(self, rate: float) -> None:
        """Compare the throughput at the limit being tried with the best one, and choose the next limit to try."""
        best, is_less = self._best, self.places < self._best.places
        if not best.rate and self._now() < self._next_try_at:
            self._begin_window()
            return
        if rate >= best.rate * (MIN_KEPT if is_less else MIN_GAIN):
            if best.rate:
                self._windows_between_tries = max(self._windows_between_tries // 2, 1)
                self._step_up = self._step_up if is_less else LARGER_STEP_UP[self._step_up]
            self._best = Throughput(self.places, rate)
            self._set_places(self.places * (self._step_down if self._tries_smaller else self._step_up))
            return
        if self._tries_smaller:
            self._step_down = SMALL_STEP_DOWN
            self._windows_between_tries = min(2 * self._windows_between_tries, MAX_REST)
            self._best = Throughput()
            self._set_places(best.places)
        else:
            self._step_up = SMALLER_STEP_UP[self._step_up]
            self._set_places(best.places * self._step_down)
        self._tries_smaller = not self._tries_smaller

    def _set_places(self, places: float) -> None:
        target = round(places)
        if places != self.places and target == self.places:
            target += 1 if places > self.places else -1
        self._older_requests = self.in_use if target < self.places else 0
        self.places = min(max(target, 1), self._share.compute_places(MAX_LIMIT))
        self._full_answers = 0
        self._begin_window()
        self._serve()

    def _begin_window(self) -> None:
        self._answers, self._window_began_at = 0, self._now()
