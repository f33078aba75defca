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

from server.engine.debates import Hall
from server.engine.errors import DebateError, storage_translated
from storage.journal import Listed

PAGE = 100
LOOK = 60.0
"""Seconds between looks: for debates whose process is gone, and at those that are being finished."""

LONGEST_REST = 3600.0
"""Seconds for which a debate is left alone that could not go on again and again: each time may cost."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The debates under way, by id, oldest first."""

    running: tuple[str, ...] = ()  # that run by themselves, are young enough to go on, and driven by nobody
    left: tuple[str, ...] = ()  # that are stepped, or have been lying about for too long


async def unfinished(hall: Hall, max_age_hours: float) -> Unfinished:
    """What was begun and is not over, or was paused until now. Reads only what lists show."""
    driven = await hall.driving.leases.taken()
    running: list[Listed] = []
    left: list[Listed] = []
    async for listed in every(hall, "running"):
        if listed.stream in driven:
            continue
        young = age_in_hours(listed.changed_at, hall.clock()) <= max_age_hours
        if not (young and listed.details.get("runs_by_itself")):
            left.append(listed)
        else:
            running.append(listed)
    async for listed in every(hall, "paused"):
        until = listed.details.get("paused_until")
        if until and listed.details.get("runs_by_itself"):
            ripe = 0 <= age_in_hours(until, hall.clock()) <= max_age_hours
            running += [listed] if ripe else []
    return Unfinished(streams(running), streams(left))


def streams(found: list[Listed]) -> tuple[str, ...]:
    return tuple(listed.stream for listed in sorted(found, key=lambda listed: listed.number))


async def every(hall: Hall, status: str) -> AsyncIterator[Listed]:
    """What lists show of the debates with that status, newest first."""
    before = 0
    while True:
        with storage_translated():
            page = await hall.journal.find(status=status, before=before, limit=PAGE)
        for listed in page:
            yield listed
            before = listed.number
        if len(page) < PAGE:
            return


def age_in_hours(at: str, now: datetime) -> float:
    """Infinite for what is no time: a damaged record keeps no other from being found."""
    try:
        return (now - datetime.fromisoformat(at)).total_seconds() / 3600
    except ValueError:
        return math.inf


class Recovery:
    """Lets unfinished debates go on, so many at a time."""

    def __init__(self, hall: Hall, *, max_age_hours: float, at_once: int) -> None:
        self.hall = hall
        self.max_age_hours = max_age_hours
        self.places = anyio.CapacityLimiter(at_once)
        self.under_way: set[str] = set()
        self.failed: dict[str, int] = {}  # how often each could not go on
        self.told: set[str] = set()  # of which it has been said that they do not go on

    async def run(self, look: float = LOOK) -> None:
        """Look for them now, and again every so many seconds. Never returns, and raises nothing."""
        async with anyio.create_task_group() as going_on:
            while True:
                found = await self.unfinished()
                for debate_id in found.left:
                    self.tell(debate_id, "it is stepped, or has been lying about for too long")
                for debate_id in found.running:
                    if debate_id not in self.under_way:
                        self.under_way.add(debate_id)
                        going_on.start_soon(self.finish, debate_id, look)
                await anyio.sleep(look)

    async def unfinished(self) -> Unfinished:
        try:
            return await unfinished(self.hall, self.max_age_hours)
        except DebateError as error:
            log.warning("Unfinished debates cannot be looked for: %s", error)
        except Exception:  # a bug of ours, which must not end a server that others use
            log.exception("Unfinished debates cannot be looked for")
        return Unfinished()

    async def finish(self, debate_id: str, look: float) -> None:
        """Drive a debate until it needs somebody.

        A database that fails may be well at the next look, or take no answers for a whole night: what was
        asked for and could not be recorded is paid for again, so that each look comes twice as late.
        """
        rest = 0.0
        async with self.places:
            log.info("Debate %s was left unfinished, and goes on", debate_id)
            try:
                while (await self.hall.follow(debate_id, wait=LOOK)).status == "running":
                    pass
            except DebateError as error:
                self.tell(debate_id, str(error), logging.WARNING)
                tries = self.failed[debate_id] = self.failed.get(debate_id, 0) + 1
                rest = min(look * 2**tries, LONGEST_REST)
            except Exception:  # a bug of ours, which could cost something each time
                log.exception("Debate %s could not go on", debate_id)
                return
            else:
                self.failed.pop(debate_id, None)
        await anyio.sleep(rest)
        self.under_way.discard(debate_id)

    def tell(self, debate_id: str, why: str, level: int = logging.INFO) -> None:
        """Say it once that a debate does not go on."""
        if debate_id not in self.told:
            self.told.add(debate_id)
            log.log(level, "Debate %s is unfinished and does not go on: %s", debate_id, why)
