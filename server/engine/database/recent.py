"""The debates that were used last, in memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from server.debate.views.state import StoredDebate

Stored = TypeVar("Stored", bound=StoredDebate)


@dataclass
class RecentDebates(Generic[Stored]):
    max_entries: int = 2_000  # of all of them, about 10 MB; the one used last stays, however long
    entries: int = 0
    _by_id: dict[str, Stored] = field(default_factory=dict)  # the one used last at the end

    def __iter__(self) -> Iterator[Stored]:
        return iter(self._by_id.values())

    def find(self, debate_id: str) -> Stored | None:
        return self._by_id.get(debate_id)

    def keep(self, snapshot: Stored) -> None:
        """Keep it, and of those used before it as many as fit."""
        self.forget(snapshot.id)
        self._by_id[snapshot.id] = snapshot
        self.entries += len(snapshot.entries)
        while self.entries > self.max_entries and len(self._by_id) > 1:
            self.forget(next(iter(self._by_id)))

    def forget(self, debate_id: str) -> None:
        if snapshot := self._by_id.pop(debate_id, None):
            self.entries -= len(snapshot.entries)

    def clear(self) -> None:
        self._by_id.clear()
        self.entries = 0
