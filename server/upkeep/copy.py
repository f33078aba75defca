"""Copies all debates of a database into another, which may be of another kind.

Entries, seals and receipts are copied as they are, so that chains and receipts hold, and a debate that runs by itself
goes on in the copy. Whatever is there already is not written again.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from server.engine.database.errors import StorageUnavailableError, translate_storage_errors
from server.engine.database.summaries import build_whole_summary
from server.engine.debates import DebateManager
from server.upkeep.check import Problem
from storage.journal import (
    DamagedStreamError,
    DeletedStreamError,
    DivergenceError,
    Entry,
    Journal,
    StreamSummary,
)
from storage.ledger import NO_STREAM, LedgerRow


@dataclass
class CopyResult:
    debate_count: int = 0
    copied_debates: int = 0  # that were written to
    copied_entries: int = 0
    problems: list[Problem] = field(default_factory=list)


async def copy_debates(source: DebateManager, target: Journal) -> CopyResult:
    """Copy what the target lacks, oldest debate first.

    A debate that is another one there, goes on there already or was deleted there is a problem of the result, as one
    whose record is damaged. Tombstones are not copied. Raises StorageUnavailableError if a database cannot be used.
    """
    result = CopyResult()
    journal = source.store.journal
    with translate_storage_errors():
        for debate_id in await journal.find_all_streams():
            result.debate_count += 1
            try:
                added = await copy_debate(source, target, debate_id)
            except DivergenceError as error:
                result.problems.append(Problem(debate_id, f"entry {error.seq} is another one in the target"))
                continue
            except DamagedStreamError as error:
                result.problems.append(Problem(debate_id, str(error)))
                continue
            except DeletedStreamError:
                result.problems.append(Problem(debate_id, "it was deleted in the target, and stays so"))
                continue
            result.copied_entries += added
            result.copied_debates += bool(added)
            if (await target.head(debate_id))[:2] != (await journal.head(debate_id))[:2]:
                result.problems.append(Problem(debate_id, "its last entry is not the same in both databases"))
        await copy_imported_judgments(journal, target)
    return result


async def copy_debate(source: DebateManager, target: Journal, debate_id: str) -> int:
    """Returns the number of entries written. Raises StorageError."""
    journal = source.store.journal
    added = 0
    head = await journal.head(debate_id)
    if head[:2] != (await target.head(debate_id))[:2]:
        entries, seal = await journal.read_sealed(debate_id)
        summary = await build_copied_summary(source, debate_id, entries, seal, head.owner)
        added = await target.restore(debate_id, entries, summary, seal=seal)
    for name, text in (await journal.read_texts(debate_id)).items():
        if not await target.find_text(debate_id, name):
            await target.keep_text(debate_id, name, text)
    return added


async def build_copied_summary(
    source: DebateManager, debate_id: str, entries: list[Entry], seal: str, owner: str
) -> StreamSummary:
    """What follows from the entries; of a debate that this release cannot read, what is stored."""
    try:
        return build_whole_summary(source.store.build_snapshot(debate_id, entries, seal, owner))
    except StorageUnavailableError:
        return await source.store.journal.read_summary(debate_id)


async def copy_imported_judgments(source: Journal, target: Journal) -> None:
    """Each owner's to the same owner."""
    there = {
        (row.owner, row.item, row.judge): row
        for row in await target.read_judgments()
        if row.stream == NO_STREAM
    }
    missing = defaultdict[str, list[LedgerRow]](list)
    for row in await source.read_judgments():
        if row.stream == NO_STREAM and there.get((row.owner, row.item, row.judge)) != row:
            missing[row.owner].append(row)
    for owner, rows in missing.items():
        await target.change_judgments(lambda _stored, rows=rows: rows, owner=owner)  # type: ignore[misc]
