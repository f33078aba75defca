"""Debates in the journal: read, checked and recorded.

Everything in memory is a `DebateSnapshot`: a debate with the entries it was replayed from. A snapshot never
changes; recording returns the next one. Errors of the journal leave here as `StorageUnavailableError`.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

import anyio

from server.debate.facts.answers import Usage
from server.debate.facts.errors import require
from server.debate.facts.events import Event, Recorded, Resumed
from server.debate.machine.transitions import replay
from server.debate.state.debate import Debate
from server.debate.views.provenance import RECORDED_HERE, Provenance
from server.engine.database.cache import DatabaseCache
from server.engine.database.daily_budget import add_spending
from server.engine.database.errors import (
    DebateNotFoundError,
    StorageUnavailableError,
    translate_storage_errors,
)
from server.engine.database.origins import RECEIPT, find_provenance, read_origin
from server.engine.database.recent import RecentDebates
from server.engine.database.repeats import RequestIdentity, TwinError, build_opening_key
from server.engine.database.snapshots import DebateSnapshot, build_debate_id, parse_entry
from server.engine.database.summaries import build_stream_summary, build_whole_summary
from server.signing import OWN, Origin, Signer
from storage import LOCAL_OWNER
from storage.errors import (
    ConflictError,
    DeletedStreamError,
    DivergenceError,
    KeyTakenError,
    StorageError,
)
from storage.storage import Storage
from storage.streams import (
    ALL_STREAMS,
    Entry,
    OpeningKey,
    Relative,
    Reservation,
    Seal,
    StreamFilter,
    StreamHead,
    StreamListing,
    format_time,
)

MAX_OPENING = 4  # debates that are opened at once: more would queue for the database before other requests
SYSTEM_ACTOR = "counterpoint"  # the actor of every entry that no caller asked for

Vectors = Sequence[Sequence[float]]
Embed = Callable[[Sequence[str], str], Awaitable[tuple[Vectors, Usage | None]]]
"""The vectors of texts of an owner ("": of all), () where they cannot be had, and what that took."""

OnCommit = Callable[[DebateSnapshot], None]
"""Called with each new state of a debate. Must not raise or block."""


@dataclass
class DebateStore:
    """Every method may raise StorageUnavailableError: the database cannot be used, or an entry was altered.

    Events that do not make a debate raise IllegalEvent, a bug of ours; nothing is written then.

    `owner`: whose debates it knows; None: of all. A debate of another owner counts as an id that never existed, and
    gets the same error.
    """

    storage: Storage
    clock: Callable[[], datetime]
    signer: Signer | None = None  # without one nothing is sealed, and no debate counts as foreign
    listeners: list[OnCommit] = field(default_factory=list)
    recent: RecentDebates[DebateSnapshot] = field(default_factory=RecentDebates)
    owner: str | None = None
    opening: anyio.Semaphore = field(
        default_factory=lambda: anyio.Semaphore(MAX_OPENING)
    )  # see `open_debate`
    embed: Embed | None = None  # compares questions by meaning
    cache: DatabaseCache | None = None  # of answers

    def of(self, owner: str) -> "DebateStore":
        """The same store, for the debates of one owner."""
        return replace(self, owner=owner)

    async def open(
        self,
        events: Sequence[Event],
        actor: str,
        identity: RequestIdentity | None = None,
        *,
        debate_id: str = "",
        made_from: DebateSnapshot | None = None,
    ) -> DebateSnapshot:
        """Record a new debate, by default under a new id. `open_debate` adds first what memory and ledger know.

        `identity`: the request for it, if repeats of it are to find this debate. `made_from`: what it is a fork or a
        mirror of; what others recorded in that one, they recorded in this one, too.

        Raises:
            TwinError: the request is a repeat.
            ConflictError: there is a debate under this id.
        """
        debate_id = debate_id or build_debate_id()
        owner = self.owner or (made_from.owner if made_from else LOCAL_OWNER)
        key = build_opening_key(owner, actor, identity, self.clock()) if identity else None
        provenance = made_from.provenance if made_from else RECORDED_HERE
        if not provenance.recorded_here:
            provenance = Provenance(
                recorded_here=False, adopted=provenance.adopted, entries_elsewhere=len(events)
            )
        snapshot = self.use_ledger(DebateSnapshot(debate_id, replay(events), (), provenance, owner=owner))
        try:
            return await self.append(snapshot, events, actor, key)
        except KeyTakenError as error:
            raise TwinError(error.stream) from None

    def check_presence(self) -> None:
        """Raise DatabaseLostError if the database is gone, or another is in its place."""
        with translate_storage_errors():
            self.storage.check_presence()

    async def load(self, debate_id: str) -> DebateSnapshot:
        """The debate as it is stored: read, its hash chain checked, unless it is known up to its last entry.

        Raises:
            DebateNotFoundError: nothing is stored under this id.
            DebateDeletedError: nothing any more.
        """
        head = await self.find_head(debate_id)
        snapshot = self._find_recent(debate_id, head) or await self._read(debate_id, head.owner)
        self.recent.keep(snapshot)
        return snapshot

    def _find_recent(self, debate_id: str, head: StreamHead) -> DebateSnapshot | None:
        """The debate as it is known, if that is up to this head."""
        snapshot = self.recent.find(debate_id)
        if snapshot is None or (snapshot.entries[-1].seq, snapshot.entries[-1].hash) != head[:2]:
            return None
        return snapshot if snapshot.origin == self.read_origin(debate_id, head) else None

    async def load_many(self, debate_ids: Collection[str]) -> dict[str, DebateSnapshot]:
        """As `load` of each, in two statements. Those that are not there, or cannot be read, are left out."""
        heads = await self.find_heads(debate_ids)
        recent = {name: self._find_recent(name, head) for name, head in heads.items()}
        snapshots = {name: known_snapshot for name, known_snapshot in recent.items() if known_snapshot}
        with translate_storage_errors():
            records = await self.storage.journal.read_many(heads.keys() - snapshots.keys())
            foreign = [name for name in records if self.read_origin(name, heads[name]) != OWN]
            receipts = await self.storage.texts.find_many(foreign, RECEIPT) if foreign else {}
        for name, record in records.items():
            if isinstance(record, StorageError):
                continue
            with suppress(StorageUnavailableError):
                snapshots[name] = self.build_snapshot(
                    name, *record, heads[name].owner, receipts.get(name, "")
                )
        for snapshot in snapshots.values():
            self.recent.keep(snapshot)
        return snapshots

    async def find_heads(self, debate_ids: Collection[str]) -> dict[str, StreamHead]:
        """The ends of debates, in one statement. Those that are not there are left out."""
        with translate_storage_errors():
            heads = await self.storage.journal.heads(debate_ids)
        return {name: head for name, head in heads.items() if self.owner in (None, head.owner)}

    async def find_family(self, snapshot: DebateSnapshot) -> list[Relative]:
        """All that a debate is related to by forks, newest first, and itself, as far as they are here."""
        root = snapshot.debate.setup.forked_root or snapshot.id
        with translate_storage_errors():
            return await self.storage.lists.find_family(root, owner=self.owner)

    async def find_head(self, debate_id: str) -> StreamHead:
        """The end of a debate, deleted ones included. Raises DebateNotFoundError for that of another owner."""
        with translate_storage_errors():
            head = await self.storage.journal.head(debate_id)
            if self.owner in (None, head.owner):
                return head
            # The same query runs for an id that never existed: not even the time tells a stranger which it was.
            owners = await self.storage.lists.find_owners([debate_id])
        if owners.get(debate_id) != self.owner:
            raise DebateNotFoundError(debate_id)
        return head

    async def load_past(self, debate_id: str, version: int) -> DebateSnapshot:
        """The debate with so many entries or more. Entries do not change: what is known of them is good enough."""
        snapshot = self.recent.find(debate_id)
        is_enough = snapshot and snapshot.debate.version >= version and self.owner in (None, snapshot.owner)
        return snapshot if snapshot and is_enough else await self.load(debate_id)

    async def read(self, debate_id: str) -> DebateSnapshot:
        """As `load`, always from the journal."""
        return await self._read(debate_id, (await self.find_head(debate_id)).owner)

    async def _read(self, debate_id: str, owner: str) -> DebateSnapshot:
        with translate_storage_errors():
            try:
                entries, seal = await self.storage.journal.read_sealed(debate_id)
            except DeletedStreamError:
                self.recent.forget(debate_id)
                raise
            head = StreamHead(entries[-1].seq, entries[-1].hash, owner, seal) if entries else StreamHead()
            is_own = not entries or self.read_origin(debate_id, head) == OWN
            receipt = "" if is_own else await self.storage.texts.find(debate_id, RECEIPT)
        return self.build_snapshot(debate_id, entries, seal, owner, receipt)

    async def read_entries(self, *snapshots: DebateSnapshot) -> dict[str, list[Entry]]:
        """Their entries as they are stored, by id: a later release writes more fields, and the hashes cover them.

        In one statement. Raises as `load` where one was deleted meanwhile.
        """
        entries = {}
        with translate_storage_errors():
            records = await self.storage.journal.read_many([snapshot.id for snapshot in snapshots])
            for snapshot in snapshots:
                record = records.get(snapshot.id, ([], ""))
                if isinstance(record, StorageError):
                    raise record
                entries[snapshot.id] = record[0][: snapshot.debate.version]
        return entries

    async def find_texts(self, snapshots: Sequence[DebateSnapshot], name: str) -> Mapping[str, str]:
        """The texts that are kept beside debates under this name, in one statement."""
        with translate_storage_errors():
            return await self.storage.texts.find_many([snapshot.id for snapshot in snapshots], name)

    async def find_text(self, debate_id: str, name: str) -> str:
        """The text that was kept beside a debate under this name; "" for none."""
        await self.find_head(debate_id)
        with translate_storage_errors():
            return await self.storage.texts.find(debate_id, name)

    async def keep_text(self, debate_id: str, name: str, text: str) -> str:
        """Keep a text beside a debate, unless one is kept. Returns the one that is; "" without such a debate."""
        await self.find_head(debate_id)
        with translate_storage_errors():
            return await self.storage.texts.keep(debate_id, name, text)

    def build_snapshot(
        self, debate_id: str, entries: Sequence[Entry], seal: str, owner: str, receipt: str = ""
    ) -> DebateSnapshot:
        """The debate with entries that were read. `receipt`: what is kept of it, as text. Raises as `read`."""
        with translate_storage_errors():
            history = tuple(map(parse_entry, entries))
            if not history:
                raise DebateNotFoundError(debate_id)
            debate = replay(entry.event for entry in history)
            days = add_spending({}, history, debate)
            head = StreamHead(history[-1].seq, history[-1].hash, owner, seal)
            origin = self.read_origin(debate_id, head)
            provenance = find_provenance(self.signer, debate_id, history, origin, receipt)
            snapshot = DebateSnapshot(debate_id, debate, history, provenance, days, origin.foreign, owner)
            return self.use_ledger(snapshot)

    def read_origin(self, debate_id: str, head: StreamHead) -> Origin:
        """What the seal of a head tells of it."""
        return read_origin(self.signer, debate_id, head)

    def counts(self, listing: StreamListing) -> bool:
        """Whether memory uses a debate: it is here, and this installation recorded it, or has adopted it."""
        return not listing.is_archived and self.read_origin(listing.stream, listing.head).counts

    def name_ledger(self, owner: str = LOCAL_OWNER) -> str:
        """The name of an owner's ledger, as the database has it."""
        return self.signer.name_ledger(owner) if self.signer else owner

    def is_own_ledger(self, name: str) -> bool:
        """Whether a ledger of the database is one of this installation."""
        return name == self.name_ledger(name.rpartition(" ")[0]) if self.signer else True

    def use_ledger(self, snapshot: DebateSnapshot) -> DebateSnapshot:
        """The debate with the ledger that its judgments are in."""
        counts = snapshot.provenance.counts and not snapshot.is_foreign
        return replace(snapshot, ledger=self.name_ledger(snapshot.owner) if counts else "")

    def compute_seal(self, debate_id: str, head: Recorded, origin: Origin = OWN) -> str:
        return self.signer.seal(debate_id, head.seq, bytes.fromhex(head.hash), origin) if self.signer else ""

    async def find(
        self, query: str = "", only: StreamFilter = ALL_STREAMS, *, before: int = 0, limit: int = 20
    ) -> list[StreamListing]:
        """Rows of lists and searches, newest first, as of `Lists.find`."""
        with translate_storage_errors():
            return await self.storage.lists.find(query, only, before=before, limit=limit, owner=self.owner)

    async def find_by_prefix(self, prefix: str, limit: int) -> list[str]:
        """Ids that begin so, in order of the alphabet."""
        with translate_storage_errors():
            return await self.storage.lists.find_by_prefix(prefix, limit=limit, owner=self.owner)

    async def find_changes(self, position: int) -> tuple[int, Mapping[str, str]]:
        """(position, the debates that any process has written to since, each with its owner).

        position: where the last look ended; -1 only asks for it.
        """
        with translate_storage_errors():
            position, debate_ids = await self.storage.journal.find_changes(position)
            owners = await self.storage.lists.find_owners(debate_ids) if debate_ids else {}
        return position, {debate_id: each for debate_id, each in owners.items() if self.owner in (None, each)}

    def subscribe(self, on_commit: OnCommit) -> Callable[[], None]:
        """Call `on_commit` with each new state of a debate. Returns what ends the subscription."""

        def filter_own(snapshot: DebateSnapshot) -> None:
            if snapshot.owner == self.owner:
                on_commit(snapshot)

        listener = on_commit if self.owner is None else filter_own
        self.listeners.append(listener)
        return partial(self.listeners.remove, listener)

    async def claim(self, debate_id: str) -> DebateSnapshot:
        """As `load`. A foreign debate is run by this installation from now on: somebody goes on with it.

        The seal says how much of it others recorded.
        """
        snapshot = await self.load(debate_id)
        if not snapshot.is_foreign or self.storage.is_read_only:
            return snapshot
        await self._seal(snapshot, snapshot.origin._replace(foreign=False))
        return self.publish(await self.load(debate_id))

    async def adopt(self, debate_id: str) -> DebateSnapshot:
        """As `load`, for a debate that others recorded. It counts for ledger and memory from now on.

        The seal says so, which no export holds: another installation has to adopt it itself. Once more, it writes what
        a process that died before had not written yet.
        """
        snapshot = await self.load(debate_id)
        await self._seal(snapshot, Origin(snapshot.provenance.entries_elsewhere, adopted=True))
        snapshot_after = await self.load(debate_id)
        with translate_storage_errors():
            await self.storage.summaries.rewrite(
                debate_id, snapshot_after.debate.version, build_whole_summary(snapshot_after)
            )
        return self.publish(snapshot_after)

    async def _seal(self, snapshot: DebateSnapshot, origin: Origin) -> None:
        head = snapshot.entries[-1]
        with translate_storage_errors():
            await self.storage.journal.seal(
                snapshot.id, head.seq, self.compute_seal(snapshot.id, head, origin)
            )

    async def refresh(self, snapshot: DebateSnapshot) -> DebateSnapshot:
        """The latest state, published if another process has written. Cheap when nothing has changed."""
        with translate_storage_errors():
            head = await self.storage.journal.head(snapshot.id)
        if head.seq == snapshot.debate.version:
            return snapshot
        return self.publish(await self.load(snapshot.id))

    async def record(
        self,
        snapshot: DebateSnapshot,
        events: Sequence[Event],
        actor: str = SYSTEM_ACTOR,
        *,
        debate_after: Debate | None = None,
        reserved: Reservation | None = None,
    ) -> DebateSnapshot:
        """Check events by replaying them, then append them. `reserved`: as in `Journal.append`.

        `debate_after`: what replaying them led to, where that was done already. After a conflict with another writer
        nothing was recorded, and the state that they wrote is returned.
        """
        next_snapshot = replace(snapshot, debate=debate_after or replay(events, snapshot.debate))
        try:
            return await self.append(next_snapshot, events, actor, reserved=reserved)
        except ConflictError:
            return self.publish(await self.load(snapshot.id))

    async def append(
        self,
        snapshot: DebateSnapshot,
        events: Sequence[Event],
        actor: str,
        key: OpeningKey | None = None,
        reserved: Reservation | None = None,
    ) -> DebateSnapshot:
        """Write the events that lead to this state. Raises ConflictError."""
        history = snapshot.entries
        at = format_time(self.clock())
        if history:
            at = max(at, history[-1].at)  # clocks are set back, and differ between servers
        new_entries = [Recorded(0, at, actor, "", event) for event in events]
        days = add_spending(snapshot.days, new_entries, snapshot.debate)
        with translate_storage_errors():
            entries = await self.storage.journal.append(
                snapshot.id,
                after=len(history),
                at=at,
                actor=actor,
                bodies=[event.model_dump(mode="json") for event in events],
                summary=build_stream_summary(
                    snapshot.debate, events, (*history, *new_entries), days, snapshot.owner, snapshot.ledger
                ),
                key=key,
                reserved=reserved,
                seal=self._build_seal(snapshot),
            )
        recorded_entries = (
            Recorded(entry.seq, at, actor, entry.hash, event)
            for entry, event in zip(entries, events, strict=True)
        )
        return self.publish(
            self._describe(replace(snapshot, entries=(*history, *recorded_entries), days=days))
        )

    def _build_seal(self, snapshot: DebateSnapshot) -> Seal | None:
        return partial(self.signer.seal, origin=snapshot.origin) if self.signer else None

    def _describe(self, snapshot: DebateSnapshot) -> DebateSnapshot:
        """The debate with what its new entries change in who recorded it."""
        if not snapshot.debate.ended or snapshot.provenance.signed_by:
            return snapshot
        provenance = find_provenance(self.signer, snapshot.id, snapshot.entries, snapshot.origin, "")
        return replace(snapshot, provenance=provenance)

    async def restore(
        self, debate_id: str, entries: Sequence[Entry], debate: Debate, *, receipt: str = ""
    ) -> tuple[DebateSnapshot, int]:
        """Write entries exported elsewhere as they are. Returns the debate and how many entries were new.

        `receipt`: the envelope that came with them, as text; it is kept unless there is one.

        They spend nothing here, and nothing runs because of them. The debate belongs to whose store this is. One that
        was archived is what it was before. Raises as `Journal.restore` and `Journal.read`, and InvalidRequestError
        where it is here as another's.
        """
        head, seal = await self.storage.journal.head(debate_id), None
        tombstone = await self.storage.tombstones.find(debate_id)
        archive = tombstone.archive if tombstone else None
        if tombstone and archive:
            head = StreamHead(tombstone.seq, tombstone.head, tombstone.owner, archive.seal)
        owner = self.owner or head.owner or LOCAL_OWNER
        require(
            head.owner in ("", owner), f"Debate {debate_id} is here already, and belongs to another owner."
        )
        if archive:
            if entries[-1].hash != head.hash:
                raise DivergenceError(debate_id, head.seq)
            entries = [replace(entry, restored=entry.seq in archive.restored) for entry in entries]
            seal = archive.seal
            summary = build_whole_summary(self.build_snapshot(debate_id, entries, seal, owner, receipt))
        else:
            stored_entries = await self.storage.journal.read(debate_id)
            history = [
                *map(parse_entry, stored_entries),
                *(replace(parse_entry(e), restored=True) for e in entries[len(stored_entries) :]),
            ]
            days = add_spending({}, history, debate)
            summary = build_stream_summary(debate, [entry.event for entry in history], history, days, owner)
        new_count = await self.storage.journal.restore(debate_id, entries, summary, seal=seal)
        if receipt:
            await self.storage.texts.keep(debate_id, RECEIPT, receipt)
            self.recent.forget(debate_id)  # who signed it
        snapshot = await self.load(debate_id)
        return (self.publish(snapshot) if new_count else snapshot), new_count

    async def resume_if_due(self, snapshot: DebateSnapshot) -> DebateSnapshot:
        """Resume a debate that was paused until a time that has passed, if it can be recorded."""
        if snapshot.is_foreign or self.storage.is_read_only:
            return snapshot
        while (pause := snapshot.debate.paused) and "" < pause.until <= format_time(self.clock()):
            snapshot = await self.record(snapshot, (Resumed(reason="the time it was paused until has come"),))
        return snapshot

    def publish(self, snapshot: DebateSnapshot) -> DebateSnapshot:
        self.recent.keep(snapshot)
        for listener in self.listeners:
            listener(snapshot)
        return snapshot
