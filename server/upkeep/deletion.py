"""Removal of debates: what is left is a tombstone with the id, the hash of the last entry, the date and the receipt."""

from contextlib import suppress

from server.engine.database.errors import (
    DebateNotFoundError,
    StorageUnavailableError,
    translate_storage_errors,
)
from server.engine.database.memory import withdraw
from server.engine.database.origins import RECEIPT
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.summaries import build_whole_summary
from server.engine.debates import DebateManager
from server.engine.receipts import find_receipt
from storage.streams import Archive, Tombstone, format_time


async def delete_debate(manager: DebateManager, debate_id: str, *, actor: str) -> list[Tombstone]:
    """Delete a debate, and the mirror that was held for it. Whoever runs it stops: its lease and its entries are gone.

    Forks are debates of their own, and stay. A debate that cannot be read is deleted as well. Returns the tombstones,
    the debate's first; that of an earlier deletion where it was deleted before.

    Raises:
        DebateNotFoundError: nothing is stored under this id.
    """
    await manager.store.find_head(debate_id)  # it may be another's
    tombstones = await remove_debate(
        manager, debate_id, await read_if_possible(manager, debate_id), actor=actor
    )
    await finish_removal(manager)
    if not tombstones:
        raise DebateNotFoundError(debate_id)
    return tombstones


async def remove_debate(
    manager: DebateManager,
    debate_id: str,
    snapshot: DebateSnapshot | None,
    *,
    actor: str,
    only_if_unchanged: bool = False,
    keep_judgments: bool = False,
    archive: Archive | None = None,
) -> list[Tombstone]:
    """Remove a debate and its mirror. `snapshot`: None for one that cannot be read.

    `archive`: where its record is now, so that it stays in lists, and so does its mirror.

    Returns the tombstones; none for an unknown debate, and, with `only_if_unchanged`, where somebody has just written
    to it. `finish_removal` has to follow. Raises StorageUnavailableError.
    """
    store, summary, mirror_id, version = manager.store, None, "", None
    if snapshot:
        await find_receipt(manager, snapshot)  # makes one, if it can be signed and was not
        summary = build_whole_summary(snapshot)
        mirror_id = snapshot.debate.mirror_opened.debate_id if snapshot.debate.mirror_opened else ""
        version = snapshot.debate.version if only_if_unchanged else None
    else:
        with translate_storage_errors():
            stored_summary = await store.storage.summaries.read(debate_id)
        summary = stored_summary if stored_summary.search_text else None  # of one that was archived
    with translate_storage_errors():
        tombstone = await store.storage.tombstones.delete(
            debate_id,
            at=format_time(manager.clock()),
            actor=actor,
            summary=summary,
            version=version,
            keep=(RECEIPT,),
            keep_judgments=keep_judgments,
            archive=archive,
        )
    store.recent.forget(debate_id)
    if tombstone is None or archive:
        return [tombstone] if tombstone else []
    await withdraw(store, debate_id, "deleted")
    mirrors: list[Tombstone] = []
    if mirror_id:
        mirror = await read_if_possible(manager, mirror_id)
        mirrors = await remove_debate(manager, mirror_id, mirror, actor=actor, keep_judgments=keep_judgments)
    return [tombstone, *mirrors]


async def read_if_possible(manager: DebateManager, debate_id: str) -> DebateSnapshot | None:
    """None for a debate that was deleted, is damaged or of a later release.

    Of the last two the words of the search are left when they are removed, and found by `db check`.
    """
    with suppress(DebateNotFoundError, StorageUnavailableError):
        return await manager.store.read(debate_id)
    return None


async def finish_removal(manager: DebateManager) -> None:
    """Take out of the files what removals have left there. Raises StorageUnavailableError."""
    storage = manager.store.storage
    with translate_storage_errors():
        await storage.index.merge()
    storage.checkpoint_soon()  # the log holds the entries until then
