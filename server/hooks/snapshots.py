"""Debate snapshots for hooks: a small cache, and debates as they were at an earlier entry."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

from server.debate.facts.state import Debate
from server.debate.rules.transitions import replay
from server.engine.store import DebateSnapshot

MAX_CACHED_SNAPSHOTS = 64


class SnapshotCache:
    """The snapshots used last, so that a series of entries of one debate reads its journal once."""

    def __init__(self, load: Callable[[str], Awaitable[DebateSnapshot]]) -> None:
        self._load = load
        self._snapshots: OrderedDict[str, DebateSnapshot] = OrderedDict()

    def put(self, snapshot: DebateSnapshot) -> None:
        self._snapshots[snapshot.id] = snapshot
        self._snapshots.move_to_end(snapshot.id)
        if len(self._snapshots) > MAX_CACHED_SNAPSHOTS:
            self._snapshots.popitem(last=False)

    async def get(self, debate_id: str, seq: int) -> DebateSnapshot:
        """The debate with at least `seq` entries.

        Raises:
            StorageUnavailableError: it cannot be read.
        """
        snapshot = self._snapshots.get(debate_id)
        if snapshot is None or snapshot.debate.version < seq:
            snapshot = await self._load(debate_id)
            self.put(snapshot)
        return snapshot


def debate_at(snapshot: DebateSnapshot, seq: int) -> Debate:
    """The debate after entry `seq`."""
    if seq == snapshot.debate.version:
        return snapshot.debate
    return replay(entry.event for entry in snapshot.entries[:seq])
