"""Debates that nobody drives: those that run by themselves go on, at the start of a server and ever after.

Nothing is reconstructed: what a debate needs next is in its record. A debate that was stepped waits for
its next step, one that is paused for its cause to be gone, one that is waiting for the caller's turn. What
the day's budget has paused goes on when the next day begins.
"""

import logging
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

import anyio

from server.engine.debates import DebateManager
from server.engine.errors import DebateError, translate_storage_errors
from storage.journal import StreamListing

PAGE_SIZE = 100
POLL_INTERVAL = 60.0
"""Seconds between looks: for debates whose process is gone, and at those that are being finished."""

MAX_BACKOFF = 3600.0
"""Seconds for which a debate is left alone that could not go on again and again: each time may cost."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnfinishedDebates:
    """The debates under way, by id, oldest first."""

    recoverable: tuple[
        str, ...
    ] = ()  # that run by themselves, are young enough to go on, and driven by nobody
    skipped: tuple[str, ...] = ()  # that are stepped, or have been lying about for too long


async def find_unfinished(manager: DebateManager, max_age_hours: float) -> UnfinishedDebates:
    """What was begun and is not over, or was paused until now. Reads only what lists show."""
    driven = await manager.driver.leases.find_leased_debates()
    running: list[StreamListing] = []
    left: list[StreamListing] = []
    async for listed in iterate_by_status(manager, "running"):
        if listed.stream in driven:
            continue
        young = age_in_hours(listed.changed_at, manager.clock()) <= max_age_hours
        if not (young and listed.details.get("runs_by_itself")):
            left.append(listed)
        else:
            running.append(listed)
    async for listed in iterate_by_status(manager, "paused"):
        until = listed.details.get("paused_until")
        if until and listed.details.get("runs_by_itself"):
            ripe = 0 <= age_in_hours(until, manager.clock()) <= max_age_hours
            running += [listed] if ripe else []
    return UnfinishedDebates(stream_ids(running), stream_ids(left))


def stream_ids(listings: list[StreamListing]) -> tuple[str, ...]:
    return tuple(listed.stream for listed in sorted(listings, key=lambda listed: listed.number))


async def iterate_by_status(manager: DebateManager, status: str) -> AsyncIterator[StreamListing]:
    """What lists show of the debates with that status, newest first."""
    before = 0
    while True:
        with translate_storage_errors():
            page = await manager.journal.find(status=status, before=before, limit=PAGE_SIZE)
        for listed in page:
            yield listed
            before = listed.number
        if len(page) < PAGE_SIZE:
            return


def age_in_hours(at: str, now: datetime) -> float:
    """Infinite for what is no time: a damaged record keeps no other from being found."""
    try:
        return (now - datetime.fromisoformat(at)).total_seconds() / 3600
    except ValueError:
        return math.inf


class Recovery:
    """Lets unfinished debates go on, so many at a time."""

    def __init__(self, manager: DebateManager, *, max_age_hours: float, concurrency: int) -> None:
        self.manager = manager
        self.max_age_hours = max_age_hours
        self.limiter = anyio.CapacityLimiter(concurrency)
        self.in_progress: set[str] = set()
        self.failure_counts: dict[str, int] = {}  # how often each could not go on
        self.reported: set[str] = set()  # of which it has been said that they do not go on

    async def run(self, poll_interval: float = POLL_INTERVAL) -> None:
        """Look for them now, and again every so many seconds. Never returns, and raises nothing."""
        async with anyio.create_task_group() as going_on:
            while True:
                found = await self.find_unfinished()
                for debate_id in found.skipped:
                    self.report_skipped(debate_id, "it is stepped, or has been lying about for too long")
                for debate_id in found.recoverable:
                    if debate_id not in self.in_progress:
                        self.in_progress.add(debate_id)
                        going_on.start_soon(self.recover, debate_id, poll_interval)
                await anyio.sleep(poll_interval)

    async def find_unfinished(self) -> UnfinishedDebates:
        try:
            return await find_unfinished(self.manager, self.max_age_hours)
        except DebateError as error:
            logger.warning("Unfinished debates cannot be looked for: %s", error)
        except Exception:  # a bug of ours, which must not end a server that others use
            logger.exception("Unfinished debates cannot be looked for")
        return UnfinishedDebates()

    async def recover(self, debate_id: str, poll_interval: float) -> None:
        """Drive a debate until it needs somebody.

        A database that fails may be well at the next look, or take no answers for a whole night: what was
        asked for and could not be recorded is paid for again, so that each look comes twice as late.
        """
        rest = 0.0
        async with self.limiter:
            logger.info("Debate %s was left unfinished, and goes on", debate_id)
            try:
                while (await self.manager.follow(debate_id, wait=POLL_INTERVAL)).status == "running":
                    pass
            except DebateError as error:
                self.report_skipped(debate_id, str(error), logging.WARNING)
                tries = self.failure_counts[debate_id] = self.failure_counts.get(debate_id, 0) + 1
                rest = min(poll_interval * 2**tries, MAX_BACKOFF)
            except Exception:  # a bug of ours, which could cost something each time
                logger.exception("Debate %s could not go on", debate_id)
                return
            else:
                self.failure_counts.pop(debate_id, None)
        await anyio.sleep(rest)
        self.in_progress.discard(debate_id)

    def report_skipped(self, debate_id: str, reason: str, level: int = logging.INFO) -> None:
        """Say it once that a debate does not go on."""
        if debate_id not in self.reported:
            self.reported.add(debate_id)
            logger.log(level, "Debate %s is unfinished and does not go on: %s", debate_id, reason)
