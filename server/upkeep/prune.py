"""Removes debates that ended long ago. Their receipts stay, and so do sums and judgments."""

from dataclasses import dataclass, field
from datetime import timedelta

from server.debate.facts.errors import InvalidRequestError
from server.engine.database.errors import (
    DebateNotFoundError,
    StorageUnavailableError,
    translate_storage_errors,
)
from server.engine.database.store import build_whole_summary, format_time
from server.engine.debates import DebateManager
from server.engine.queries import FINAL_STATUSES
from server.engine.receipts import RECEIPT, find_receipt
from server.upkeep.check import Problem

DEFAULT_OWNER = "default"


@dataclass
class PruneResult:
    debate_ids: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


async def prune_debates(
    manager: DebateManager, days: int, *, owner: str = DEFAULT_OWNER, dry_run: bool = False
) -> PruneResult:
    """Remove the debates that ended, and to which nothing was added, for so many days. `dry_run`: only name them.

    One whose record is damaged is left as it is: it is evidence. Each gets its receipt before, if it has none.

    Raises:
        InvalidRequestError: there is no such owner.
        StorageUnavailableError: the database cannot be used.
    """
    if owner != DEFAULT_OWNER:
        raise InvalidRequestError(
            f"There is no owner {owner[:60]!r}: all debates belong to {DEFAULT_OWNER!r}."
        )
    result = PruneResult()
    journal = manager.store.journal
    before = format_time(manager.clock() - timedelta(days=days))
    with translate_storage_errors():
        found = await journal.find_unchanged(FINAL_STATUSES, before)
    for debate_id in found:
        try:
            if dry_run or await remove_debate(manager, debate_id):
                result.debate_ids.append(debate_id)
        except (DebateNotFoundError, StorageUnavailableError) as error:
            result.problems.append(Problem(debate_id, str(error)))
    return result


async def remove_debate(manager: DebateManager, debate_id: str) -> bool:
    """False if somebody has just written to it. Raises StorageUnavailableError."""
    snapshot = await manager.store.read(debate_id)
    await find_receipt(manager, snapshot)  # makes one
    with translate_storage_errors():
        return await manager.store.journal.remove(
            debate_id, snapshot.debate.version, build_whole_summary(snapshot), keep=(RECEIPT,)
        )
