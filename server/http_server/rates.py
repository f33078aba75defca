"""Requests a minute, for each owner, and sign-ins, for each address, in this process."""

import math
import time
from collections.abc import Callable

MINUTE = 60.0
MAX_KEPT = 10_000


class RequestRates:
    """As many at once as the limit says, and then one whenever its share of a minute has passed.

    A token bucket, kept as the time when it is full (GCRA). `limit`: 0 for none. `clock`: seconds.
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.clock = limit, clock
        self._full_at: dict[str, float] = {}  # when an owner may ask for all of it at once again

    def take(self, owner: str) -> int:
        """Count a request. Returns 0, or in how many seconds it may be made; then it is not counted."""
        if not self.limit:
            return 0
        now, share = self.clock(), MINUTE / self.limit
        full_at = max(self._full_at.get(owner, now), now)
        if (wait := full_at + share - now - MINUTE) > 1e-9:  # noqa: PLR2004  (what sums of shares are off by)
            return math.ceil(wait)
        if len(self._full_at) >= MAX_KEPT:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
        self._full_at[owner] = full_at + share
        return 0
