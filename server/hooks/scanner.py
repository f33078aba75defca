"""Matches new entries of the journal against the hooks and puts the resulting work into the outbox."""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import groupby

from server.debate.facts.events import Recorded
from server.engine.errors import StorageUnavailableError
from server.hooks.config import Hook, HooksConfig
from server.hooks.matching import collect_fields, is_condition_match, is_event_match
from server.hooks.snapshots import SnapshotCache, debate_at
from storage.journal import DamagedStreamError, StorageError
from storage.outbox import EntryReference, Outbox, OutboxItem

MAX_ENTRIES_PER_SCAN = 500

ACTOR_PREFIX = "hook "

logger = logging.getLogger(__name__)


class EntryScanner:
    """Reads every entry once, in order. Items and the position reached are stored in one transaction."""

    def __init__(
        self, config: HooksConfig, outbox: Outbox, snapshots: SnapshotCache, clock: Callable[[], datetime]
    ) -> None:
        self._config = config
        self._hook_names = [hook.name for hook in config.hooks]
        self._outbox = outbox
        self._snapshots = snapshots
        self._clock = clock
        self._start_positions: dict[str, int] = {}
        self._position = 0
        self._saved_position = 0

    async def register(self) -> None:
        """Register the hooks as readers; a new one starts at the end of the journal."""
        marks = {name: await self._outbox.register(name) for name in self._hook_names}
        self._start_positions = {name: mark.start for name, mark in marks.items()}
        self._position = self._saved_position = min(mark.position for mark in marks.values())

    async def scan(self) -> bool:
        """Scan the next entries; whether there are more."""
        references = await self._outbox.entries_after(self._position, limit=MAX_ENTRIES_PER_SCAN)
        if not references and self._position == self._saved_position:
            return False
        items: list[OutboxItem] = []
        now = self._clock().timestamp()  # one time for all, so that due items are ordered by position
        by_debate = groupby(sorted(references, key=lambda one: one.stream), lambda one: one.stream)
        for debate_id, group in by_debate:
            items += await self._find_items(debate_id, list(group), now)
        position = references[-1].position if references else self._position
        if items or not references:  # a position without items is stored once the journal is quiet
            await self._outbox.put(self._hook_names, position, sorted(items, key=lambda one: one.position))
            self._saved_position = position
        self._position = max(position, self._position)
        return len(references) == MAX_ENTRIES_PER_SCAN

    async def _find_items(
        self, debate_id: str, references: Sequence[EntryReference], now: float
    ) -> list[OutboxItem]:
        """The work for entries of one debate, given in order. Hooks ignore debates older than themselves."""
        start = references[0].stream_start
        active = [hook for hook in self._config.hooks if start > self._start_positions[hook.name]]
        if not active:
            return []
        try:
            snapshot = await self._snapshots.get(debate_id, references[-1].seq)
        except StorageUnavailableError as error:
            if is_transient(error):
                raise
            logger.warning("Hooks skip debate %s: %s", debate_id, error)
            return []
        items = []
        for reference in references:
            entry = snapshot.entries[reference.seq - 1]
            hooks = [hook for hook in active if is_event_match(hook.on, entry.event)]
            if hooks and self._is_recent(entry):
                fields = collect_fields(debate_id, debate_at(snapshot, reference.seq), entry)
                for hook in hooks:
                    if is_condition_match(hook.when, fields):
                        items += build_items(hook, reference, entry, now)
        return items

    def _is_recent(self, entry: Recorded) -> bool:
        age = self._clock() - datetime.fromisoformat(entry.at)
        return age <= timedelta(hours=self._config.max_age_hours)


def build_items(hook: Hook, reference: EntryReference, entry: Recorded, now: float) -> list[OutboxItem]:
    """One item for each action. Entries made by hooks trigger no interventions, which could loop."""
    return [
        OutboxItem(
            build_delivery_id(hook.name, reference.stream, reference.seq, index),
            *(hook.name, index, reference.stream, reference.seq, reference.position),
            due_at=now,
        )
        for index, action in enumerate(hook.do)
        if not (action.intervene and entry.actor.startswith(ACTOR_PREFIX))
    ]


def build_delivery_id(hook_name: str, debate_id: str, seq: int, queue_index: int) -> str:
    """The same id in every process and for every attempt."""
    return hashlib.sha256(json.dumps([hook_name, debate_id, seq, queue_index]).encode()).hexdigest()[:32]


def is_transient(error: StorageUnavailableError) -> bool:
    """Whether a retry may help; not for a debate that was altered or that a newer release wrote."""
    return isinstance(error.__cause__, StorageError) and not isinstance(error.__cause__, DamagedStreamError)
