"""What a server finds unfinished when it starts: debates that ran by themselves go on.

Nothing is reconstructed: what a debate needs next is in its record. A debate that was stepped waits for
its next step, one that is paused for its cause to be gone, one that is waiting for the caller's turn.
"""

import logging
from dataclasses import dataclass
from datetime import datetime

import anyio

from server.errors import DebateError, storage_translated
from server.hall import Hall

PAGE = 100
LOOK = 60.0
"""Seconds between looks at a debate that is being finished."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The debates under way, by id."""

    running: tuple[str, ...] = ()  # that run by themselves, and are young enough to go on
    left: tuple[str, ...] = ()  # that are stepped, or have been lying about for too long


async def unfinished(hall: Hall, max_age_hours: float) -> Unfinished:
    """What was begun and is not over, oldest first. Reads only what lists show, and the running ones."""
    running: list[str] = []
    left: list[str] = []
    before = 0
    while True:
        with storage_translated():
            page = await hall.journal.find(status="running", before=before, limit=PAGE)
        for listed in page:
            before = listed.number
            young = age_in_hours(listed.changed_at, hall.clock()) <= max_age_hours
            (running if young and await runs_by_itself(hall, listed.stream) else left).append(listed.stream)
        if len(page) < PAGE:
            return Unfinished(tuple(reversed(running)), tuple(reversed(left)))


def age_in_hours(at: str, now: datetime) -> float:
    return (now - datetime.fromisoformat(at)).total_seconds() / 3600


async def runs_by_itself(hall: Hall, debate_id: str) -> bool:
    try:
        return (await hall.case(debate_id)).debate.setup.run
    except DebateError as error:  # a damaged record stops nobody else
        log.warning("Debate %s cannot go on: %s", debate_id, error)
        return False


async def recover(hall: Hall, *, max_age_hours: float, at_once: int) -> None:
    """Let unfinished debates go on, so many at a time. Raises nothing: each is finished, or said why not."""
    try:
        found = await unfinished(hall, max_age_hours)
    except DebateError as error:
        log.warning("Unfinished debates cannot be looked for: %s", error)
        return
    if found.left:
        log.info("Unfinished, and left until somebody steps them: %s", ", ".join(found.left))
    if not found.running:
        return
    log.info("Unfinished, and going on: %s", ", ".join(found.running))
    places = anyio.CapacityLimiter(at_once)
    async with anyio.create_task_group() as going_on:
        for debate_id in found.running:
            going_on.start_soon(finish, hall, debate_id, places)


async def finish(hall: Hall, debate_id: str, places: anyio.CapacityLimiter) -> None:
    async with places:
        try:
            while (await hall.follow(debate_id, wait=LOOK)).status == "running":
                pass
        except Exception:  # of this debate alone; whoever looks at it is told
            log.exception("Debate %s could not go on", debate_id)
