"""Retention: a server removes debates that ended long ago, as `counterpoint db prune` does."""

import logging
from collections.abc import Collection, Mapping
from types import MappingProxyType

import anyio

from server.debate.facts.errors import DebateError
from server.engine.database.store import SYSTEM_ACTOR
from server.engine.debates import DebateManager
from server.upkeep.prune import prune_debates

LEASE = "retention"
"""Of the processes on a database the one that has it removes debates. No debate has such an id."""

LEASE_SECONDS = 60.0  # renewed before each debate
DELAY = 2.0  # seconds after the start, when there is more to do
INTERVAL = 3600.0  # seconds

logger = logging.getLogger(__name__)


class Retention:
    """`days`: after its end that a debate is kept; `days_by_owner`: where an owner has others. 0: for ever."""

    def __init__(
        self, manager: DebateManager, days: int, days_by_owner: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        self.manager = manager
        self.days, self.days_by_owner = days, days_by_owner

    async def run(self, delay: float = DELAY, interval: float = INTERVAL) -> None:
        """Look for old debates after `delay` seconds, and every `interval`. Never returns."""
        await anyio.sleep(delay)
        while True:
            try:
                await self.prune()
            except DebateError as error:  # the next attempt may succeed
                logger.warning("Old debates cannot be removed now: %s", error)
            await anyio.sleep(interval)

    async def prune(self) -> None:
        """Remove what is old, unless another process does so. Raises StorageUnavailableError."""
        if not await self.has_lease():
            return
        try:
            if self.days:
                await self.prune_owner(None, self.days, other_than=self.days_by_owner)
            for owner, days in self.days_by_owner.items():
                if days:
                    await self.prune_owner(owner, days)
        finally:
            with anyio.CancelScope(shield=True):
                await self.manager.leases.release(LEASE)

    async def prune_owner(self, owner: str | None, days: int, other_than: Collection[str] = ()) -> None:
        """`owner`: None for all but `other_than`."""
        result = await prune_debates(
            self.manager,
            days,
            actor=SYSTEM_ACTOR,
            owner=owner,
            other_than=other_than,
            may_go_on=self.has_lease,
        )
        if result.debate_ids:
            logger.info("Removed %d debates that ended %d days ago", len(result.debate_ids), days)
        for problem in result.problems:
            logger.warning("Debate %s stays: %s", problem.debate_id, problem.text)

    async def has_lease(self) -> bool:
        return await self.manager.leases.acquire(LEASE, LEASE_SECONDS)
