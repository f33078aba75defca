"""Recovery: continues debates that run unattended and whose process is gone.

A server looks for them when it starts, and once in POLL_INTERVAL from then on. Stepped debates wait for their
next step, paused ones for an intervention, unless the pause ends by itself (the daily budget).
"""

import logging
import math
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from operator import attrgetter

import anyio

from server.debate.facts.errors import DebateError
from server.engine.database.errors import DatabaseUnavailableError, translate_storage_errors
from server.engine.debates import DebateManager
from server.models.concurrency import ConcurrencyLimit
from storage.streams import StreamFilter, format_time

MAX_LISTED = 100_000
POLL_INTERVAL = 4.0  # seconds between searches for unfinished debates
RETRY_INTERVAL = 60.0  # seconds before a debate that failed is tried again, doubled by each failure
MAX_BACKOFF = 3600.0  # seconds between attempts on a debate that keeps failing: each may cost model calls

logger = logging.getLogger(__name__)


class Recovery:
    """Continues unfinished debates, at most `concurrency` at a time: owners in turn.

    These are debates that no live process runs, and that were written to, or whose pause ended, within
    `max_age_hours`.
    """

    def __init__(self, manager: DebateManager, *, max_age_hours: float, concurrency: int) -> None:
        self.manager = manager
        self.max_age = timedelta(hours=max_age_hours)
        self.limit = ConcurrencyLimit(concurrency)
        self.owners: Mapping[str, str] = {}  # of the debates that were found last
        self.in_progress: set[str] = set()  # or waiting for the next attempt
        self.failure_counts = Counter[str]()  # since the last success
        self.foreign: set[str] = set()  # that was said
        self.running: set[str] | None = None  # what the last search found running, by any process or none

    async def run(self, poll_interval: float = POLL_INTERVAL, retry_interval: float = RETRY_INTERVAL) -> None:
        """Search now, and again every `poll_interval` seconds. Never returns."""
        async with anyio.create_task_group() as tasks:
            while True:
                for debate_id in await self.find_unfinished():
                    if debate_id not in self.in_progress:
                        self.in_progress.add(debate_id)
                        tasks.start_soon(self.recover, debate_id, retry_interval)
                await anyio.sleep(poll_interval)

    async def find_unfinished(self) -> list[str]:
        """Ids of the debates to continue, oldest first; none where the database cannot be read.

        One that did not run at the search before is left to the process that has just begun it, and has no lease yet.
        """
        now = self.manager.clock()
        oldest = now - self.max_age
        find = partial(self.manager.store.find, "", limit=MAX_LISTED)
        try:
            holders = await self.manager.leases.find_holders()
            running_rows = await find(StreamFilter("running", changed_since=format_time(oldest)))
            # Only the daily budget pauses a debate until a given time, which is less than a day away.
            paused_rows = await find(
                StreamFilter("paused", changed_since=format_time(oldest - timedelta(days=1)))
            )
            with translate_storage_errors():
                names = [row.stream for row in (*running_rows, *paused_rows)]
                self.owners = await self.manager.store.storage.lists.find_owners(names)
        except DebateError as error:  # the next search may succeed
            logger.warning("Unfinished debates cannot be searched for: %s", error)
            return []
        earlier, self.running = self.running, {row.stream for row in running_rows}
        left = (self.running if earlier is None else earlier) - holders.keys()
        rows = [row for row in running_rows if row.stream in left]
        start, end = format_time(oldest), format_time(now)
        rows += [row for row in paused_rows if start <= str(row.details.get("paused_until") or "") <= end]
        rows.sort(key=attrgetter("number"))
        return [row.stream for row in rows if row.details.get("runs_by_itself")]

    async def recover(self, debate_id: str, retry_interval: float) -> None:
        """Run a debate until it ends, pauses or waits for its caller."""
        await self.limit.acquire(self.owners.get(debate_id, ""))
        try:
            logger.info("Resuming debate %s (its process is gone)", debate_id)
            try:
                snapshot = await self.manager.follow(debate_id, wait=math.inf)
                del self.failure_counts[debate_id]
                if snapshot.is_foreign and debate_id not in self.foreign:
                    self.foreign.add(debate_id)
                    logger.warning("Debate %s is not resumed: this installation did not record it", debate_id)
            except DatabaseUnavailableError as error:  # not the debate's fault: the next search finds it
                logger.info("Debate %s waits for its database: %s", debate_id, error)
            except DebateError as error:
                self.failure_counts[debate_id] += 1
                if self.failure_counts[debate_id] == 1:
                    logger.warning("Debate %s cannot be resumed: %s", debate_id, error)
            except Exception:  # a bug of ours; trying again could cost calls each time
                logger.exception("Debate %s cannot be resumed", debate_id)
                return
        finally:
            self.limit.release()
        if failures := self.failure_counts[debate_id]:
            await anyio.sleep(backoff_delay(retry_interval, failures))
        self.in_progress.discard(debate_id)


def backoff_delay(retry_interval: float, failures: int) -> float:
    """Seconds to the next attempt, doubled by each failure."""
    return min(retry_interval * 2.0**failures, MAX_BACKOFF)
