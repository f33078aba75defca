"""Deletion of debates: what is left is a tombstone with the id, the hash of the last entry, and the date."""

from contextlib import suppress

from server.engine.database.errors import (
    DebateNotFoundError,
    StorageUnavailableError,
    translate_storage_errors,
)
from server.engine.database.store import build_whole_summary, format_time
from server.engine.debates import DebateManager
from storage.deletion import Tombstone


async def delete_debate(manager: DebateManager, debate_id: str, *, actor: str) -> list[Tombstone]:
    """Delete a debate, and the mirror that was held for it. Whoever runs it stops: its lease and its entries are gone.

    Forks are debates of their own, and stay. A debate that cannot be read is deleted as well. Returns the tombstones,
    the debate's first; that of an earlier deletion where it was deleted before.

    Raises:
        DebateNotFoundError: nothing is stored under this id.
    """
    store, summary, mirror_id = manager.store, None, ""
    try:
        snapshot = await store.read(debate_id)
    except (DebateNotFoundError, StorageUnavailableError):
        pass  # deleted, damaged, or of a later release: the words of the search are left, and found by `db check`
    else:
        summary = build_whole_summary(snapshot)
        mirror_id = snapshot.debate.mirror_opened.debate_id if snapshot.debate.mirror_opened else ""
    with translate_storage_errors():
        at = format_time(manager.clock())
        tombstone = await store.journal.delete(debate_id, at=at, actor=actor, summary=summary)
    store.forget(debate_id)
    if tombstone is None:
        raise DebateNotFoundError(debate_id)
    store.journal.checkpoint_soon()  # the log holds the entries until then
    mirrors: list[Tombstone] = []
    if mirror_id:
        with suppress(DebateNotFoundError):  # it was not opened yet
            mirrors = await delete_debate(manager, mirror_id, actor=actor)
    return [tombstone, *mirrors]
