"""How many requests may be in flight at once, fixed or adapted to what a provider takes.

An adaptive limit begins generously and grows fast while requests wait for it and more at once get more done. It shrinks
to what is being answered when the provider refuses requests (429), and it goes back where more at once got no more done
in the same time, which is how a provider shows that it slows down under load. From then on it tries a little more and a
little less in turn (hill climbing on throughput), the more rarely the longer neither is better.

Waiting requests are served in turn by group, so that no debate waits for all of another's round.

Processes that share a database share the limits of providers: each has a part of every limit (`Share`).
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import anyio

FIRST_LIMIT = 32
MAX_LIMIT = 1000
MIN_WINDOW = 16  # answers that one measurement of throughput takes at least

GROWTH = 3.0  # as long as nothing speaks against it
SMALLER_STEP_UP = {GROWTH: 1.3, 1.3: 1.1, 1.1: 1.1}  # after one that brought nothing
LARGER_STEP_UP = {1.1: 1.3, 1.3: 1.3, GROWTH: GROWTH}  # after one that brought more
STEP_DOWN, SMALL_STEP_DOWN = 0.5, 0.9
MIN_GAIN = 1.05  # throughput that more requests at once must bring
MIN_KEPT = 1.0  # throughput that fewer requests at once must keep
MAX_CUT = 8  # by which one burst of refusals divides the limit at most: all of them may have been refused
COOLDOWNS = 10  # that pass before a limit is tried again whose refusal cost everybody one
MAX_REST = 8  # windows between two tries, once tries have brought nothing


@dataclass(frozen=True, slots=True)
class Share:
    """The part of each limit that a process has: the one with this index of so many that are alike."""

    index: int = 0
    count: int = 1

    def compute_places(self, limit: int) -> int:
        """At least one. Where there are enough, those of all parts add up to the limit."""
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
        self._waiting: dict[str, deque[anyio.Event]] = {}  # by group, the next to be served first
        self._refused: deque[anyio.Event] = deque()  # who was refused goes before who was not asked for yet
        self._best = Throughput()  # what the limit that is tried now is compared with
        self._tries_less, self._less, self._more = False, STEP_DOWN, GROWTH
        self._least = 1  # after the last burst of refusals
        self._tries_from = 0.0  # time before which no other limit is tried
        self._rest = 1  # windows at the best limit before another is tried
        self._older = 0  # answers to come that were asked for under a higher limit
        self._full_answers = 0  # with requests waiting, since the limit was set
        self._begin_window()

    async def acquire(self, group: str = "", *, was_refused: bool = False) -> int:
        """Wait for a place; `release` it later. Returns the generation under which the request is made."""
        if self.in_use < self.places and not (self._waiting or self._refused):
            self.in_use += 1
            return self.generation
        turn, queue = (
            anyio.Event(),
            self._refused if was_refused else self._waiting.setdefault(group, deque()),
        )
        queue.append(turn)
        self._serve()
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self.release()
            else:
                queue.remove(turn)
                if not (was_refused or queue):
                    del self._waiting[group]
            raise
        return self.generation

    def set_share(self, share: Share) -> None:
        """Have another part of the limit from now on. Requests that are on their way keep their places."""
        before, self._share = self._share, share
        if not self.is_adaptive:
            self.places = share.compute_places(self._fixed)
            self._serve()
        elif share.count != before.count:
            self._best, self._tries_less = (
                Throughput(),
                False,
            )  # it was measured beside fewer processes, or more
            self._set_places(self.places * before.count / share.count)

    def release(self) -> None:
        self.in_use -= 1
        self._serve()

    def _serve(self) -> None:
        while self.in_use < self.places and (self._refused or self._waiting):
            self.in_use += 1
            if self._refused:
                self._refused.popleft().set()
                continue
            group = next(iter(self._waiting))
            queue = self._waiting.pop(group)
            queue.popleft().set()
            if queue:
                self._waiting[group] = queue  # behind the others

    def count_refusal(self, generation: int, cooldown: float = 0.0) -> None:
        """The provider refused a request because of too many, which still holds its place.

        `cooldown`: seconds for which nobody may ask now.
        """
        if not self.is_adaptive:
            return
        if generation != self.generation:
            if self.in_use <= self.places:  # one of a burst: what is left of it may be answered
                self._set_places(max(self.in_use - 1, self._least))
            return
        self.generation += 1
        self._tries_from = self._now() + cooldown * COOLDOWNS
        self._least = self.places // MAX_CUT
        held = self._best.places
        is_known = 0 < held < self.places
        self._rest = min(2 * self._rest, MAX_REST) if is_known else 1
        self._more = SMALLER_STEP_UP[self._more]
        self._tries_less = False
        self._set_places(held if is_known else min(self.in_use, self.places) - 1)
        self._best = Throughput()

    def count_answer(self) -> None:
        """A request was answered. After enough of them under full load, the limit is adapted."""
        if not self.is_adaptive:
            return
        is_full = self.in_use == self.places and (self._waiting or self._refused)
        is_more = self._best.rate and self._best.places < self.in_use <= self.places
        self._full_answers += bool(is_full)
        if not (is_full or is_more):
            self._begin_window()  # the throughput of another load says nothing of the limit
            if (
                self._full_answers >= MIN_WINDOW and self._now() >= self._tries_from
            ):  # but debates wait, a few of their requests at a time
                self._best = Throughput(self.places)
                self._set_places(self.places * self._more)
            return
        if self._older:  # it says nothing of this one
            self._older -= 1
            self._window_began_at = self._now()
            return
        self._answers += 1
        enough = max(MIN_WINDOW, self.in_use) * (1 if self._best.rate else self._rest)
        elapsed = self._now() - self._window_began_at
        is_hopeless = elapsed * self._best.rate > enough / MIN_KEPT  # no need to wait for the others
        if elapsed > 0 and (self._answers >= enough or is_hopeless):
            self._adapt(self._answers / elapsed)

    def _adapt(self, rate: float) -> None:
        """Compare what was tried with what came before it, and try the next."""
        best, is_less = self._best, self.places < self._best.places
        if not best.rate and self._now() < self._tries_from:
            self._begin_window()
            return
        if rate >= best.rate * (MIN_KEPT if is_less else MIN_GAIN):
            if best.rate:
                self._rest = max(self._rest // 2, 1)
                self._more = self._more if is_less else LARGER_STEP_UP[self._more]
            self._best = Throughput(self.places, rate)
            self._set_places(self.places * (self._less if self._tries_less else self._more))
            return
        if self._tries_less:
            self._less = SMALL_STEP_DOWN
            self._rest = min(2 * self._rest, MAX_REST)
            self._best = Throughput()
            self._set_places(best.places)
        else:
            self._more = SMALLER_STEP_UP[self._more]
            self._set_places(best.places * self._less)
        self._tries_less = not self._tries_less

    def _set_places(self, places: float) -> None:
        wanted = round(places)
        if places != self.places and wanted == self.places:
            wanted += 1 if places > self.places else -1
        self._older = self.in_use if wanted < self.places else 0
        self.places = min(max(wanted, 1), self._share.compute_places(MAX_LIMIT))
        self._full_answers = 0
        self._begin_window()
        self._serve()

    def _begin_window(self) -> None:
        self._answers, self._window_began_at = 0, self._now()
