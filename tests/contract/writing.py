"""Short ways to write to a journal and to look into it."""

from collections.abc import Mapping
from typing import Any

from storage.journal import Entry, Heading, Journal

AT = "2026-03-01T10:00:00.000Z"
LATER = "2026-03-01T10:05:00.000Z"
PATIENCE = 5


async def add(
    journal: Journal, stream: str, after: int, *bodies: Mapping[str, Any], heading: Heading | None = None
) -> list[Entry]:
    return await journal.append(stream, after=after, at=AT, actor="alice", bodies=bodies, heading=heading)


async def name(journal: Journal, stream: str, words: str, *, status: str = "running") -> None:
    await add(journal, stream, 0, {}, heading=Heading(stream, status, {}, words))


async def found(journal: Journal, query: str = "", **how: Any) -> list[str]:
    return [listed.stream for listed in await journal.find(query, **how)]
