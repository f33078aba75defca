"""Debates of all processes that run, or wait for a process to run them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from server.engine.database.errors import translate_storage_errors
from server.engine.debates import DebateManager
from storage.streams import StreamFilter, format_time

MAX_LISTED = 1_000
STUCK_AFTER = timedelta(minutes=1)  # a server takes over what is left behind within ten seconds


@dataclass(frozen=True, slots=True)
class QueuedDebate:
    """`since`: the time of its last entry. `process`: that runs it."""

    debate_id: str
    state: str  # running, waiting or stuck
    since: str
    owner: str
    process: str
    question: str


async def list_queue(manager: DebateManager) -> Sequence[QueuedDebate]:
    """Oldest first. Raises StorageUnavailableError."""
    storage = manager.store.storage
    holders = await manager.leases.find_holders()
    with translate_storage_errors():
        listings = await storage.lists.find(only=StreamFilter("running"), limit=MAX_LISTED)
        queued = [each for each in listings if each.stream in holders or each.details.get("runs_by_itself")]
        owners = await storage.lists.find_owners([each.stream for each in queued])
    stuck_at = format_time(manager.clock() - STUCK_AFTER)
    rows = []
    for each in reversed(queued):
        process = holders.get(each.stream, "")
        left = "stuck" if each.changed_at < stuck_at else "waiting"
        rows.append(
            QueuedDebate(
                each.stream,
                "running" if process else left,
                each.changed_at,
                owners.get(each.stream, ""),
                process,
                each.title,
            )
        )
    return rows


async def count_stuck(manager: DebateManager) -> int:
    """Raises StorageUnavailableError."""
    return sum(each.state == "stuck" for each in await list_queue(manager))
