"""What hooks have reached and not finished, carried over from a database to its copy.

The copy has the entries at other positions. So a debate is copied up to what all hooks have read, and the rest in the
order of its positions: what is unread there is the end of the journal in both databases. A delivery is due after the
copy if it is due in each of the two in which hooks have read its entry: what was made in one is made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from storage.contract.journal import Journal
from storage.contract.outbox import OutboxItem, ReaderPosition

MAX_REFERENCES = 500  # that are read at a time


@dataclass(frozen=True)
class HookProgress:
    """`end`: of the source's journal when the copy begins. `before`: of the target's readers then."""

    end: int
    readers: Mapping[str, ReaderPosition]
    before: Mapping[str, ReaderPosition]

    @classmethod
    async def read(cls, source: Journal, target: Journal) -> Self:
        """Raises StorageError."""
        readers = await source.outbox.find_readers()
        end, _ = await source.find_changes(-1)
        return cls(end, readers, await target.outbox.find_readers())

    @property
    def reached(self) -> int:
        """The position up to which all hooks of the source have read."""
        return min((mark.position for mark in self.readers.values()), default=self.end)


async def copy_hook_progress(
    source: Journal, target: Journal, hooks: HookProgress, versions: Mapping[str, int]
) -> None:
    """Register the source's hooks in the target, with the deliveries that are due.

    `versions`: the debates that were copied, with the number of their last entry. Raises StorageError.
    """
    if not hooks.readers:
        return
    due = {item.id: item for item in await source.outbox.find_items()}
    due_there = {item.id: item for item in await target.outbox.find_items()}
    for name, mark in hooks.readers.items():
        before = hooks.before.get(name)
        moved = await find_position_there(source, target, name, hooks, versions)
        own = [item for item in due.values() if item.reader == name and item.id not in due_there]
        added = [found for item in own if (found := await find_due_there(target, item, before))]
        gone = [item for item in due_there.values() if item.reader == name and item.id not in due]
        done = [
            item.id
            for item in gone
            if 0 < await source.outbox.find_position(item.stream, item.seq) <= mark.position
        ]
        if added or done or moved != before:
            await target.outbox.restore(name, moved, sorted(added, key=lambda item: item.position), done)


async def find_position_there(
    source: Journal, target: Journal, name: str, hooks: HookProgress, versions: Mapping[str, int]
) -> ReaderPosition:
    """Up to which entry a reader of the source has read in the target."""
    mark, before = hooks.readers[name], hooks.before.get(name)
    unread = await find_first_there(source, target, mark.position, hooks.end)
    if unread:
        position = unread - 1
    elif before:  # what the target has recorded itself is unread as before
        read = await target.outbox.find_versions(before.position)
        beyond = [(debate_id, seq) for debate_id, seq in versions.items() if seq > read.get(debate_id, 0)]
        position = max([await target.outbox.find_position(*one) for one in beyond], default=0)
    else:
        position, _ = await target.find_changes(-1)
    if before:
        return ReaderPosition(before.start, max(position, before.position))
    begun = await find_first_there(source, target, mark.start, hooks.end, is_begun_since=True)
    return ReaderPosition(begun - 1 if begun else position, position)


async def find_first_there(
    source: Journal, target: Journal, after: int, end: int, *, is_begun_since: bool = False
) -> int:
    """The position in the target of the first entry after a position of the source; 0 for none.

    `is_begun_since`: only of debates that began after it.
    """
    position = after
    while references := await source.outbox.entries_after(position, limit=MAX_REFERENCES):
        for reference in references:
            if reference.position > end:
                return 0
            if not is_begun_since or reference.stream_start > after:
                found = await target.outbox.find_position(reference.stream, reference.seq)
                if found:
                    return found
        position = references[-1].position
    return 0


async def find_due_there(
    target: Journal, item: OutboxItem, before: ReaderPosition | None
) -> OutboxItem | None:
    """A delivery as the target has it; None where it was made there, or the debate was not copied."""
    position = await target.outbox.find_position(item.stream, item.seq)
    if not position or (before and position <= before.position):
        return None
    return replace(item, position=position)
