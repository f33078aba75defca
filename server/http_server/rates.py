"""Requests a minute, for each owner, and sign-ins, for each address: of all servers on a database together.

Each process counts at once and by itself; once a second it tells the database what it has counted, and learns what
all have. So an owner may take as much more as the servers answer in a second.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import anyio

from storage.errors import StorageError
from storage.rates import Rates

MINUTE = 60.0
MAX_KEPT = 10_000
SHARE_SECONDS = 1.0


class RequestRates:
    """As many at once as the limit says, and then one whenever its share of a minute has passed.

    A token bucket, kept as the time when it is full (GCRA). `limit`: 0 for none. `shared`: None for a process alone.
    `clock`: seconds.
    """

    def __init__(
        self, limit: int, shared: Rates | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit, self.shared, self.clock = limit, shared, clock
        self._full_at: dict[str, float] = {}  # when an owner may ask for all of it at once again
        self._untold = Counter[str]()  # requests that the database does not know of

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
        if self.shared:
            self._untold[owner] += 1
        return 0

    async def run(self) -> None:
        """Share what is counted, as long as requests are answered. Never returns."""
        while True:
            await anyio.sleep(SHARE_SECONDS)
            with suppress(
                StorageError
            ):  # what is untold stays so, and each process counts by itself meanwhile
                await self.share()

    async def share(self) -> None:
        """Tell the database what was counted since the last time, and take over what all processes have."""
        if not (self.shared and self._untold):
            return
        counted, share = self._untold.copy(), MINUTE / self.limit
        free = await self.shared.add({owner: number * share for owner, number in counted.items()})
        self._untold = self._untold - counted
        now = self.clock()
        for owner, seconds in free.items():
            self._full_at[owner] = now + seconds + self._untold[owner] * share
        await self.shared.forget()
