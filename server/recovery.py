"""What a server finds unfinished when it starts: debates that ran by themselves go on.

Nothing is reconstructed: what a debate needs next is in its record. A debate that was stepped waits for
its next step, one that is paused for its cause to be gone, one that is waiting for the caller's turn. What
the day's budget has paused goes on when the next day begins.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import anyio

from server.debate.rules import runs_by_itself
from server.errors import DebateError, storage_translated
from server.hall import Hall
from storage.journal import Listed

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
    async for listed in every(hall, "running"):
        young = age_in_hours(listed.changed_at, hall.clock()) <= max_age_hours
        (running if young and await goes_on(hall, listed.stream) else left).append(listed.stream)
    return Unfinished(tuple(reversed(running)), tuple(reversed(left)))


async def due(hall: Hall, max_age_hours: float) -> tuple[str, ...]:
    """The debates that were paused until a time that has come, oldest first; not those that are stepped."""
    found: list[str] = []
    async for listed in every(hall, "paused"):
        until = listed.details.get("paused_until")
        if until and 0 <= age_in_hours(until, hall.clock()) <= max_age_hours:
            found += [listed.stream] if await goes_on(hall, listed.stream) else []
    return tuple(reversed(found))


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
    return (now - datetime.fromisoformat(at)).total_seconds() / 3600


async def goes_on(hall: Hall, debate_id: str) -> bool:
    try:
        return runs_by_itself((await hall.case(debate_id)).debate)
    except DebateError as error:  # a damaged record stops nobody else
        log.warning("Debate %s cannot go on: %s", debate_id, error)
        return False


async def recover(hall: Hall, *, max_age_hours: float, at_once: int) -> None:
    """Let unfinished debates go on, so many at a time. Raises nothing: each is finished, or said why not."""
    try:
        found = await unfinished(hall, max_age_hours)
        ripe = await due(hall, max_age_hours)
    except DebateError as error:
        log.warning("Unfinished debates cannot be looked for: %s", error)
        return
    if found.left:
        log.info("Unfinished, and left until somebody steps them: %s", ", ".join(found.left))
    await go_on(hall, (*found.running, *ripe), at_once)


async def recover_each_day(hall: Hall, *, max_age_hours: float, at_once: int, look: float = LOOK) -> None:
    """Whenever a day begins (UTC), let the debates go on that the budget of the one before has paused."""
    day = hall.clock().date()
    while True:
        await anyio.sleep(look)
        if hall.clock().date() == day:
            continue
        day = hall.clock().date()
        try:
            await go_on(hall, await due(hall, max_age_hours), at_once)
        except DebateError as error:
            log.warning("Debates that wait for this day cannot be looked for: %s", error)


async def go_on(hall: Hall, debates: Sequence[str], at_once: int) -> None:
    if not debates:
        return
    log.info("Unfinished, and going on: %s", ", ".join(debates))
    places = anyio.CapacityLimiter(at_once)
    async with anyio.create_task_group() as going_on:
        for debate_id in debates:
            going_on.start_soon(finish, hall, debate_id, places)


async def finish(hall: Hall, debate_id: str, places: anyio.CapacityLimiter) -> None:
    async with places:
        try:
            while (await hall.follow(debate_id, wait=LOOK)).status == "running":
                pass
        except Exception:  # of this debate alone; whoever looks at it is told
            log.exception("Debate %s could not go on", debate_id)
