"""Copies all debates of a database into another, which may be of another kind.

Entries, seals and receipts are copied as they are, so that chains and receipts hold, and a debate that runs by itself
goes on in the copy; what another installation recorded stays such. Tombstones and the keys of requests are copied, too;
tokens only where that is asked for. What hooks have not delivered stays with the old database, and is counted.
Whatever is there already is not written again.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from server.engine.database.errors import StorageUnavailableError, translate_storage_errors
from server.engine.database.summaries import build_whole_summary
from server.engine.debates import DebateManager
from server.upkeep.check import Problem
from storage.errors import DamagedStreamError, DeletedStreamError, DivergenceError
from storage.ledger import NO_STREAM, LedgerRow
from storage.storage import Storage
from storage.streams import Entry, StreamHead, StreamSummary, Tombstone, format_time
from storage.tokens import StoredToken

WENT_ON = "it went on in the source during the copy: copy again"
DIFFERENT_END = "its last entry is not the same in both databases"


@dataclass
class CopyResult:
    """`stays_deleted`: debates that were deleted in the target, as they are in the source now.

    `copied_tokens`: that were added or revoked. `let_in`: owners whom those that were added let in. `left_tokens`: that
    were not asked for. `recorded_elsewhere`: of the debates that were written to, those that other installations
    recorded; `left_judgments`: labelled judgments that others imported into their ledger.
    """

    debate_count: int = 0
    copied_debates: int = 0  # that were written to
    copied_entries: int = 0
    copied_tombstones: int = 0
    stays_deleted: int = 0
    copied_tokens: int = 0
    let_in: int = 0
    left_tokens: int = 0
    recorded_elsewhere: int = 0
    left_judgments: int = 0
    left_deliveries: int = 0  # of hooks
    problems: list[Problem] = field(default_factory=list)


async def copy_debates(source: DebateManager, target: Storage, *, with_tokens: bool = False) -> CopyResult:
    """Copy what the target lacks, oldest debate first.

    `with_tokens`: whoever has one of the source may use the target.

    A debate that is another one there, goes on there already or was deleted at another entry is a problem of the
    result, as one whose record is damaged. Raises StorageUnavailableError if a database cannot be used.
    """
    with translate_storage_errors():
        copy = Copy(source, target, with_tokens)
        await copy.run()
    return copy.result


@dataclass
class Copy:
    """Every method may raise StorageError."""

    source: DebateManager
    target: Storage
    with_tokens: bool
    result: CopyResult = field(default_factory=CopyResult)

    @property
    def storage(self) -> Storage:
        return self.source.store.storage

    async def run(self) -> None:
        await self.copy_tokens()  # first: who may read the rest
        debate_ids = await self.storage.journal.list_streams()
        for debate_id in debate_ids:
            await self.try_to_copy(debate_id)
        self.result.debate_count = len(debate_ids)
        for debate_id in await self.storage.tombstones.list_streams():
            if tombstone := await self.storage.tombstones.find(debate_id):
                await self.copy_tombstone(tombstone)
        await self.target.keys.restore(await self.storage.keys.read())
        await self.copy_imported_judgments()
        self.result.left_deliveries = await self.storage.outbox.count()

    async def try_to_copy(self, debate_id: str) -> None:
        try:
            await self.copy_debate(debate_id)
        except DivergenceError as error:
            self.fail(debate_id, f"entry {error.seq} is another one in the target")
        except DamagedStreamError as error:
            self.fail(debate_id, str(error))
        except DeletedStreamError as error:
            await self.compare_tombstone(error.tombstone)

    def fail(self, debate_id: str, text: str) -> None:
        self.result.problems.append(Problem(debate_id, text))

    async def compare_tombstone(self, tombstone: Tombstone) -> None:
        """What a debate is that was deleted in the target, or just now in the source."""
        debate_id, end = tombstone.stream, (tombstone.seq, tombstone.head)
        head = await self.storage.journal.head(debate_id)
        if head.seq and (head.seq, head.hash) != end:
            self.fail(debate_id, f"it was deleted in the target at entry {tombstone.seq}, and stays so")
        else:
            self.result.stays_deleted += bool(head.seq)

    async def copy_debate(self, debate_id: str) -> None:
        """Copy a debate with what is kept beside it, and compare the ends."""
        head = await self.storage.journal.head(debate_id)
        head_in_target = await self.target.journal.head(debate_id)
        tombstone = await self.storage.tombstones.find(debate_id)
        if tombstone and tombstone.archive:
            if not head_in_target.seq:
                summary = await self.storage.summaries.read(debate_id)
                self.result.copied_debates += await self.target.tombstones.restore(tombstone, summary)
            return
        if head_in_target.seq and head_in_target.owner != head.owner:
            self.fail(debate_id, "it belongs to somebody else in the target")
            return
        if head_in_target != head:
            await self.copy_entries(debate_id, head, head_in_target)
        for name, text in (await self.storage.texts.read(debate_id)).items():
            if not await self.target.texts.find(debate_id, name):
                await self.target.texts.keep(debate_id, name, text)
        head_in_target = await self.target.journal.head(debate_id)
        end = await self.storage.journal.head(debate_id)
        if head_in_target[:2] != end[:2]:
            self.fail(debate_id, WENT_ON if end.seq > head.seq else DIFFERENT_END)

    async def copy_entries(self, debate_id: str, head: StreamHead, head_in_target: StreamHead) -> None:
        """Copy what the target lacks of a debate, or that it was adopted since an earlier copy."""
        entries, seal = await self.storage.journal.read_sealed(debate_id)
        summary = await self.build_summary(debate_id, entries, seal, head.owner)
        added = await self.target.journal.restore(debate_id, entries, summary, seal=seal)
        is_adopted = self.is_adopted(debate_id, head) and head_in_target[:2] == head[:2]
        if is_adopted and not self.is_adopted(debate_id, head_in_target):
            await self.target.journal.seal(debate_id, head.seq, seal)
            await self.target.summaries.rewrite(debate_id, head.seq, summary)
        elif not added:
            return
        self.result.copied_debates += 1
        self.result.copied_entries += added
        if added:
            self.result.recorded_elsewhere += self.source.store.read_origin(debate_id, head).elsewhere > 0

    async def build_summary(
        self, debate_id: str, entries: list[Entry], seal: str, owner: str
    ) -> StreamSummary:
        """What follows from the entries; of a debate that this release cannot read, what is stored."""
        try:
            snapshot = self.source.store.build_snapshot(debate_id, entries, seal, owner)
        except StorageUnavailableError:
            return await self.storage.summaries.read(debate_id)
        return build_whole_summary(snapshot)

    def is_adopted(self, debate_id: str, head: StreamHead) -> bool:
        return self.source.store.read_origin(debate_id, head).adopted

    async def copy_tombstone(self, tombstone: Tombstone) -> None:
        """Delete a debate in the target that was deleted in the source."""
        debate_id = tombstone.stream
        head = await self.target.journal.head(debate_id)
        tombstone_in_target = await self.target.tombstones.find(debate_id)
        if tombstone_in_target and tombstone_in_target.archive:
            head = StreamHead(tombstone_in_target.seq, tombstone_in_target.head)
        if not head.seq:
            summary = await self.storage.summaries.read(debate_id)
            self.result.copied_tombstones += await self.target.tombstones.restore(tombstone, summary)
        elif (head.seq, head.hash) != (tombstone.seq, tombstone.head):
            places = f"at entry {tombstone.seq}, and is at entry {head.seq} in the target"
            self.fail(debate_id, f"it was deleted in the source {places}: delete it there, too")
        else:
            await self.delete_in_target(tombstone)

    async def delete_in_target(self, tombstone: Tombstone) -> None:
        debate_id = tombstone.stream
        for name, text in tombstone.texts.items():
            await self.target.texts.keep(debate_id, name, text)
        judgments = (await self.storage.summaries.read(debate_id)).judgments
        summary, version = await self.target.summaries.read(debate_id), None
        if not summary.search_text:  # which only one that is archived has
            version = tombstone.seq
            entries, seal = await self.target.journal.read_sealed(debate_id)
            summary = await self.build_summary(debate_id, entries, seal, tombstone.owner)
        await self.target.tombstones.delete(
            debate_id,
            at=tombstone.at,
            actor=tombstone.actor,
            summary=summary,
            version=version,
            keep=tombstone.texts,
            keep_judgments=bool(judgments),
        )
        self.result.copied_tombstones += 1

    async def copy_imported_judgments(self) -> None:
        """Each owner's to the same owner, as far as they were imported into the ledger of this installation."""
        rows_in_target = {
            (row.owner, row.item, row.judge): row
            for row in await self.target.ledger.read()
            if row.stream == NO_STREAM
        }
        missing = defaultdict[str, list[LedgerRow]](list)
        for row in await self.storage.ledger.read():
            if row.stream != NO_STREAM or rows_in_target.get((row.owner, row.item, row.judge)) == row:
                continue
            if self.source.store.is_own_ledger(row.owner):
                missing[row.owner].append(row)
            else:
                self.result.left_judgments += 1
        for owner, rows in missing.items():
            await self.target.ledger.change(lambda _stored, rows=rows: rows, owner=owner)  # type: ignore[misc]

    async def copy_tokens(self) -> None:
        """Add the tokens that are missing, where that is asked for, and revoke those that were, in any case.

        A token that was revoked in one of the two stays revoked. One that lets nobody in any more is added as well: it
        would be let in again if it were made anew.
        """
        tokens_in_target = {token.digest: token for token in await self.target.tokens.read()}
        let_in = set[str]()
        for token in await self.storage.tokens.read():
            token_in_target = tokens_in_target.get(token.digest)
            if token_in_target is None and self.with_tokens:
                await self.target.tokens.add(token)
                let_in |= {token.owner} if self.is_valid(token) else set()
            elif token_in_target and token.revoked_at and not token_in_target.revoked_at:
                await self.target.tokens.revoke(token.digest, token.revoked_at)
            else:
                self.result.left_tokens += token_in_target is None and self.is_valid(token)
                continue
            self.result.copied_tokens += 1
        self.result.let_in = len(let_in)

    def is_valid(self, token: StoredToken) -> bool:
        """Whether it lets anybody in."""
        is_over = "" < token.expires_at <= format_time(self.source.clock())
        return not (token.revoked_at or is_over)
