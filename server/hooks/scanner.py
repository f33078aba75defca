"""Matches new entries of the journal against the hooks and puts the resulting work into the outbox."""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby

from server.debate.facts.events import Recorded
from server.debate.machine.transitions import replay
from server.debate.state.debate import Debate
from server.debate.views.events import event_names
from server.engine.database.errors import DebateNotFoundError, StorageUnavailableError
from server.engine.database.snapshots import DebateSnapshot
from server.hooks.config import Hook, HooksConfig
from server.hooks.matching import ANY_EVENT, collect_fields
from storage.errors import DamagedStreamError, StorageError
from storage.outbox import EntryReference, Outbox, OutboxItem

MAX_ENTRIES_PER_SCAN = 500
MAX_REACHED = 64  # states that readers go on from
SCANNER = ""  # the scanner among the readers; the others have the names of queues
ACTOR_PREFIX = "hook "

logger = logging.getLogger(__name__)


class PastDebates:
    """Debates as they were after an entry, for readers that go forward: each applies every event once."""

    def __init__(self, load_past: Callable[[str, int], Awaitable[DebateSnapshot]]) -> None:
        self._load_past = load_past
        self._reached: dict[tuple[str, str], Debate] = {}  # by reader and debate, those used last at the end

    def clear(self) -> None:
        self._reached.clear()

    async def load(self, debate_id: str, seq: int) -> DebateSnapshot:
        """The debate with at least `seq` entries. Raises StorageUnavailableError if it cannot be read."""
        return await self._load_past(debate_id, seq)

    def find(self, reader: str, snapshot: DebateSnapshot, seq: int) -> Debate:
        """The debate after entry `seq`, from the one that this reader asked for before."""
        debate = self._reached.pop((reader, snapshot.id), None)
        if seq == snapshot.debate.version:
            debate = snapshot.debate
        elif debate is None or debate.version != seq:
            start = debate if debate and debate.version < seq else None
            start_seq = start.version if start else 0
            debate = replay((entry.event for entry in snapshot.entries[start_seq:seq]), start)
        self._reached[reader, snapshot.id] = debate
        if len(self._reached) > MAX_REACHED:
            del self._reached[next(iter(self._reached))]
        return debate


@dataclass(slots=True, eq=False)
class EntryScanner:
    """Reads every entry once, in order. Items and the position reached are stored in one transaction."""

    config: HooksConfig
    outbox: Outbox
    past: PastDebates
    clock: Callable[[], datetime]
    start_positions: dict[str, int] = field(default_factory=dict)  # by hook
    position: int = 0
    saved_position: int = 0

    async def register(self) -> None:
        """Register the hooks as readers; a new one starts at the end of the journal."""
        marks = {hook.name: await self.outbox.register(hook.name) for hook in self.config.hooks}
        self.start_positions = {name: mark.start for name, mark in marks.items()}
        self.position = self.saved_position = min(mark.position for mark in marks.values())

    async def has_news(self) -> bool:
        """Whether there is something to scan, or a position to store. Cheap enough for polling."""
        is_stored = self.position == self.saved_position
        return not is_stored or bool(await self.outbox.find_entries(self.position, limit=1))

    async def catch_up(self) -> None:
        """Go on behind what other processes have scanned."""
        marks = [await self.outbox.register(hook.name) for hook in self.config.hooks]
        self.saved_position = min(mark.position for mark in marks)
        self.position = max(self.position, self.saved_position)

    async def scan(self) -> bool:
        """Scan the next entries; whether there are more."""
        references = await self.outbox.find_entries(self.position, limit=MAX_ENTRIES_PER_SCAN)
        if not references and self.position == self.saved_position:
            return False
        items: list[OutboxItem] = []
        now = self.clock()  # one time for all, so that due items are ordered by position
        by_debate = groupby(
            sorted(references, key=lambda reference: reference.stream), lambda reference: reference.stream
        )
        for debate_id, group in by_debate:
            items += await self._find_items(debate_id, list(group), now)
        position = references[-1].position if references else self.position
        if items or not references:  # a position without items is stored once the journal is quiet
            items.sort(key=lambda item: item.position)
            await self.outbox.put(list(self.start_positions), position, items)
            self.saved_position = position
        self.position = position
        return len(references) == MAX_ENTRIES_PER_SCAN

    async def _find_items(
        self, debate_id: str, references: Sequence[EntryReference], now: datetime
    ) -> list[OutboxItem]:
        """The work for entries of one debate, given in order. Hooks ignore debates older than themselves."""
        start = references[0].stream_start
        active = [hook for hook in self.config.hooks if start > self.start_positions[hook.name]]
        if not active:
            return []
        try:
            snapshot = await self.past.load(debate_id, references[-1].seq)
        except (DebateNotFoundError, StorageUnavailableError) as error:
            if is_temporary(error):
                raise
            logger.warning("Hooks skip debate %s: %s", debate_id, error)
            return []
        items: list[OutboxItem] = []
        for reference in references:
            entry = snapshot.entries[reference.seq - 1]
            if not entry.restored and is_recent(entry, now, self.config.max_age_hours):
                items += self._match(snapshot, reference, active, now)
        return items

    def _match(
        self, snapshot: DebateSnapshot, reference: EntryReference, hooks: Sequence[Hook], now: datetime
    ) -> list[OutboxItem]:
        """The work of hooks for one entry."""
        entry, items = snapshot.entries[reference.seq - 1], list[OutboxItem]()
        for name in event_names(snapshot.debate, entry.event):
            hearing = [hook for hook in hooks if {ANY_EVENT, name} & set(hook.on)]
            if not hearing:
                continue
            debate = self.past.find(SCANNER, snapshot, reference.seq)
            fields = collect_fields(snapshot.id, snapshot.owner, debate, entry, name)
            for hook in hearing:
                # One accepted value is enough, of tags too.
                if all(set(fields.get(key, ())) & set(values) for key, values in hook.when.items()):
                    items += build_items(hook, reference, entry, name, now.timestamp())
        return items


def is_temporary(error: Exception) -> bool:
    """Whether a busy database is the cause: not that a debate was deleted or altered."""
    cause = error.__cause__
    return isinstance(cause, StorageError) and not isinstance(cause, DamagedStreamError)


def is_recent(entry: Recorded, now: datetime, max_age_hours: float) -> bool:
    return now - datetime.fromisoformat(entry.at) <= timedelta(hours=max_age_hours)


def build_items(
    hook: Hook, reference: EntryReference, entry: Recorded, name: str, now: float
) -> list[OutboxItem]:
    """One item for each action. Entries made by hooks trigger no interventions, which could loop."""
    return [
        OutboxItem(
            build_delivery_id(hook.name, reference.stream, reference.seq, name, index),
            *(hook.name, index, reference.stream, reference.seq, reference.position, name),
            due_at=now,
        )
        for index, action in enumerate(hook.do)
        if not (action.intervene and entry.actor.startswith(ACTOR_PREFIX))
    ]


def build_delivery_id(hook_name: str, debate_id: str, seq: int, event_name: str, queue_index: int) -> str:
    """The same id in every process and for every attempt."""
    key = [hook_name, debate_id, seq, event_name, queue_index]
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
