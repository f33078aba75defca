"""What is new in a debate, for pages. It is built once, although many tabs ask for the same at the same time."""

import json
from typing import NamedTuple

import anyio

from server.debate.machine.decide import is_round_over, next_round
from server.debate.views.awaited import awaited_turns
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.web.record import load_debate_data, mark_relatives

MAX_CACHED = 8

ABANDONED_NOTE = (
    "No process runs this debate now: the one that did has ended, or was killed. What was recorded is kept, and Step "
    "goes on from there."
)


class Version(NamedTuple):
    """Everything that an answer depends on."""

    debate_id: str
    head: str  # hash of the last entry
    is_adopted: bool
    is_run: bool
    since_seq: int
    family: str | None  # mark of the relatives, if they are asked for

    @property
    def tag(self) -> str:
        return f'"{self.head}-{int(self.is_adopted)}-{int(self.is_run)}-{self.since_seq}-{self.family or ""}"'


class Records:
    def __init__(self, manager: DebateManager) -> None:
        self._manager = manager
        self._cache: dict[Version, bytes] = {}
        self._lock = anyio.Lock()

    async def load_version(self, debate_id: str, since_seq: int, *, with_family: bool) -> Version:
        """Raises DebateNotFoundError."""
        snapshot = await self._manager.load(debate_id)
        is_run, family = await self._manager.is_run(debate_id), None
        if with_family:
            family = await mark_relatives(self._manager, snapshot)
        head, is_adopted = snapshot.entries[-1].hash, snapshot.provenance.adopted
        return Version(debate_id, head, is_adopted, is_run, since_seq, family)

    async def load(self, version: Version) -> bytes:
        """JSON: {"data", "awaited": for `counterpoint.show`, "next_round", "note": shown beside the status}."""
        async with self._lock:
            if version not in self._cache:
                while len(self._cache) >= MAX_CACHED:
                    del self._cache[next(iter(self._cache))]
                self._cache[version] = await self._build(version)
            return self._cache[version]

    async def _build(self, version: Version) -> bytes:
        data = await load_debate_data(
            self._manager,
            version.debate_id,
            since_seq=version.since_seq,
            with_family=version.family is not None,
        )
        snapshot = await self._manager.load(version.debate_id)
        note = ABANDONED_NOTE if not version.is_run and is_abandoned(snapshot) else ""
        awaited = [turn.model_dump() for turn in awaited_turns(snapshot.debate)]
        content = {"data": data, "awaited": awaited, "next_round": next_round(snapshot.debate), "note": note}
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def is_abandoned(snapshot: DebateSnapshot) -> bool:
    """Whether a debate that nobody runs should run by itself, or was left in the middle of a round."""
    debate = snapshot.debate
    in_round = debate.round > 0 and not is_round_over(debate)
    return snapshot.status == "running" and (snapshot.is_unattended or in_round)
