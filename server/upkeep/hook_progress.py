"""What hooks have reached and not finished, carried over from a database to its copy.

The copy has the entries at other positions. So a debate is copied up to what all hooks have read, and the rest in the
order of its positions: what is unread there is the end of the journal in both databases. A delivery is due after the
copy if it is due in each of the two in which hooks have read its entry: what was made in one is made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from storage.outbox import OutboxItem, ReaderPosition
from storage.storage import Storage

MAX_REFERENCES = 500  # that are read at a time


@dataclass(frozen=True)
class HookProgress:
    """`end`: of the source's journal when the copy begins. `before`: of the target's readers then."""

    end: int
    readers: Mapping[str, ReaderPosition]
    before: Mapping[str, ReaderPosition]

    @classmethod
    async def read(cls, source: Storage, target: Storage) -> Self:
        """Raises StorageError."""
        readers = await source.outbox.find_readers()
        end, _ = await source.journal.find_changes(-1)
        return cls(end, readers, await target.outbox.find_readers())

    @property
    def reached(self) -> int:
        """The position up to which all hooks of the source have read."""
        return min((mark.position for mark in self.readers.values()), default=self.end)


async def copy_hook_progress(
    source: Storage, target: Storage, hooks: HookProgress, versions: Mapping[str, int]
) -> None:
    """Register the source's hooks in the target, with the deliveries that are due.

    `versions`: the debates that were copied, with the number of their last entry. Raises StorageError.
    """
    if not hooks.readers:
        return
    items = {item.id: item for item in await source.outbox.find_items()}
    items_there = {item.id: item for item in await target.outbox.find_items()}
    for name, mark in hooks.readers.items():
        mark_there = hooks.before.get(name)
        new_mark = await find_position_there(source, target, name, hooks, versions)
        own = [item for item in items.values() if item.reader == name and item.id not in items_there]
        new_items = [new_item for item in own if (new_item := await find_due_there(target, item, mark_there))]
        gone = [item for item in items_there.values() if item.reader == name and item.id not in items]
        finished_ids = [
            item.id
            for item in gone
            if 0 < await source.outbox.find_position(item.stream, item.seq) <= mark.position
        ]
        if new_items or finished_ids or new_mark != mark_there:
            await target.outbox.restore(
                name, new_mark, sorted(new_items, key=lambda item: item.position), finished_ids
            )


async def find_position_there(
    source: Storage, target: Storage, name: str, hooks: HookProgress, versions: Mapping[str, int]
) -> ReaderPosition:
    """Up to which entry a reader of the source has read in the target."""
    mark, mark_there = hooks.readers[name], hooks.before.get(name)
    unread = await find_first_there(source, target, mark.position, hooks.end)
    if unread:
        position = unread - 1
    elif mark_there:  # what the target has recorded itself is unread as before
        versions_read = await target.outbox.find_versions(mark_there.position)
        beyond = [
            (debate_id, seq) for debate_id, seq in versions.items() if seq > versions_read.get(debate_id, 0)
        ]
        position = max([await target.outbox.find_position(*place) for place in beyond], default=0)
    else:
        position, _ = await target.journal.find_changes(-1)
    if mark_there:
        return ReaderPosition(mark_there.start, max(position, mark_there.position))
    first_position = await find_first_there(source, target, mark.start, hooks.end, is_begun_since=True)
    return ReaderPosition(first_position - 1 if first_position else position, position)


async def find_first_there(
    source: Storage, target: Storage, start: int, end: int, *, is_begun_since: bool = False
) -> int:
    """The position in the target of the first entry after a position of the source; 0 for none.

    `is_begun_since`: only of debates that began after it.
    """
    position = start
    while references := await source.outbox.find_entries(position, limit=MAX_REFERENCES):
        for reference in references:
            if reference.position > end:
                return 0
            if not is_begun_since or reference.stream_start > start:
                position_there = await target.outbox.find_position(reference.stream, reference.seq)
                if position_there:
                    return position_there
        position = references[-1].position
    return 0


async def find_due_there(
    target: Storage, item: OutboxItem, mark_there: ReaderPosition | None
) -> OutboxItem | None:
    """A delivery as the target has it; None where it was made there, or the debate was not copied."""
    position = await target.outbox.find_position(item.stream, item.seq)
    if not position or (mark_there and position <= mark_there.position):
        return None
    return replace(item, position=position)
