"""Retention: a server removes debates that ended long ago, as `counterpoint db prune` does."""

import logging

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
    """`days`: after its end that a debate is kept."""

    def __init__(self, manager: DebateManager, days: int) -> None:
        self.manager = manager
        self.days = days

    async def run(self, delay: float = DELAY, interval: float = INTERVAL) -> None:
        """Look for old debates after `delay` seconds, and every `interval`. Never returns, and raises nothing."""
        await anyio.sleep(delay)
        while True:
            try:
                await self.prune()
            except Exception as error:  # the next attempt may succeed; a bug of ours must not end the server
                is_bug = not isinstance(error, DebateError)
                logger.warning("Old debates cannot be removed now: %s", error, exc_info=is_bug)
            await anyio.sleep(interval)

    async def prune(self) -> None:
        """Remove what is old, unless another process does so. Raises StorageUnavailableError."""
        if not await self.has_lease():
            return
        try:
            result = await prune_debates(
                self.manager, self.days, actor=SYSTEM_ACTOR, may_go_on=self.has_lease
            )
        finally:
            with anyio.CancelScope(shield=True):
                await self.manager.leases.release(LEASE)
        if result.debate_ids:
            logger.info("Removed %d debates that ended %d days ago", len(result.debate_ids), self.days)
        for problem in result.problems:
            logger.warning("Debate %s stays: %s", problem.debate_id, problem.text)

    async def has_lease(self) -> bool:
        return await self.manager.leases.acquire(LEASE, LEASE_SECONDS)
