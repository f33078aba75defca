"""Short ways to write to a journal and to look into it."""

from collections.abc import Mapping
from typing import Any

from storage.journal import Entry, Journal, StreamSummary

AT = "2026-03-01T10:00:00.000Z"
LATER = "2026-03-01T10:05:00.000Z"
TIMEOUT = 5


async def append_entries(
    journal: Journal,
    stream: str,
    after: int,
    *bodies: Mapping[str, Any],
    summary: StreamSummary | None = None,
) -> list[Entry]:
    return await journal.append(stream, after=after, at=AT, actor="alice", bodies=bodies, summary=summary)


async def create_stream(journal: Journal, stream: str, search_text: str, *, status: str = "running") -> None:
    await append_entries(journal, stream, 0, {}, summary=StreamSummary(stream, status, {}, search_text))


async def find_streams(journal: Journal, query: str = "", **filters: Any) -> list[str]:
    return [listed.stream for listed in await journal.find(query, **filters)]
