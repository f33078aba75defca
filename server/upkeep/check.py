"""Checks a database: the chain and the record of every debate, and what is derived from them.

Lists, searches and the sums of a day read rows that follow from the entries; where they do not, they are written
again. Entries never are.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from server.engine.database.errors import (
    DebateArchivedError,
    DebateNotFoundError,
    StorageUnavailableError,
    translate_storage_errors,
)
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.summaries import build_whole_summary
from server.engine.debates import DebateManager
from storage.errors import StorageError
from storage.storage import Storage
from storage.streams import StreamSummary, Tombstone

DAMAGED_INDEX = "the search index is damaged"
FOREIGN_WORDS = "the search index has words that no debate has"


@dataclass(frozen=True, slots=True)
class Problem:
    """`debate_id` is "" for what concerns the whole file."""

    debate_id: str
    text: str
    is_rebuilt: bool = False


@dataclass(frozen=True, slots=True)
class CheckResult:
    debate_count: int
    problems: tuple[Problem, ...]


async def check_database(manager: DebateManager, *, rebuild: bool = True) -> CheckResult:
    """Check everything. `rebuild`: write what is derived again where it does not follow from the entries.

    Raises StorageUnavailableError if it cannot be read at all.
    """
    storage = manager.store.storage
    check = DatabaseCheck(manager, rebuild=rebuild and not storage.is_read_only)
    with translate_storage_errors():
        return await check.run()


@dataclass
class DatabaseCheck:
    """Every method may raise StorageError."""

    manager: DebateManager
    rebuild: bool
    problems: list[Problem] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # debates that cannot be read
    words: Counter[str] = field(default_factory=Counter)  # in how many debates each is

    @property
    def storage(self) -> Storage:
        return self.manager.store.storage

    async def run(self) -> CheckResult:
        self.problems += [Problem("", text) for text in await self.storage.find_problems()]
        position, _ = await self.storage.journal.find_changes(-1)
        debate_ids = await self.storage.journal.list_streams()
        has_index = await self.has_index()
        if self.rebuild and not has_index:
            await self.storage.index.clear()
        for debate_id in debate_ids:
            try:
                await self.check_debate(debate_id, has_index=has_index)
            except DebateArchivedError as error:
                await self.check_archived(error.tombstone, has_index=has_index)
            except (DebateNotFoundError, StorageUnavailableError) as error:
                self.problems.append(Problem(debate_id, str(error)))
                self.unread.append(debate_id)
        if not has_index:
            await self.rebuild_index(DAMAGED_INDEX, debate_ids)
        elif await self.has_foreign_words(position):
            await self.rebuild_index(FOREIGN_WORDS, debate_ids)
        await self.check_days()
        return CheckResult(len(debate_ids), tuple(self.problems))

    async def has_index(self) -> bool:
        try:
            await self.storage.index.count()
        except StorageError:
            return False
        return True

    async def has_foreign_words(self, position: int) -> bool:
        """Whether a word is in the index for more debates than have it.

        False where that cannot be told: a debate could not be read, or something was written since `position`.
        """
        counts = await self.storage.index.count()
        if self.unread or (await self.storage.journal.find_changes(position))[0] != position:
            return False
        return any(count > self.words[word] for word, count in counts.items())

    async def check_debate(self, debate_id: str, *, has_index: bool) -> None:
        """What is stored of a debate for lists and sums and does not follow from its entries."""
        while True:
            snapshot = await self.manager.store.read(debate_id)
            summary = build_whole_summary(snapshot)
            ledger = self.manager.store.name_ledger(snapshot.owner)
            wrong = find_differences(summary, await self.storage.summaries.read(debate_id), ledger)
            words = self.storage.index.split(summary)
            if has_index and not await self.storage.index.has(debate_id, words):
                wrong.append("the search text")
            if wrong and (await self.storage.journal.head(debate_id))[0] != snapshot.debate.version:
                continue  # a server has written meanwhile
            break
        self.words.update(words)
        if wrong:
            is_rebuilt = self.rebuild and await self.rewrite(snapshot)
            text = f"{', '.join(wrong)} did not follow from the entries"
            self.problems.append(Problem(debate_id, text, is_rebuilt))

    async def check_archived(self, tombstone: Tombstone, *, has_index: bool) -> None:
        """Its row follows from entries that are elsewhere: only its words can be compared."""
        debate_id = tombstone.stream
        words = self.storage.index.split(await self.storage.summaries.read(debate_id))
        self.words.update(words)
        if has_index and not await self.storage.index.has(debate_id, words):
            is_rebuilt = self.rebuild and await self.rewrite_archived(tombstone)
            self.problems.append(Problem(debate_id, "the search text is not there", is_rebuilt))

    async def rewrite_archived(self, tombstone: Tombstone) -> bool:
        summaries = self.storage.summaries
        return await summaries.rewrite(
            tombstone.stream, -tombstone.seq, await summaries.read(tombstone.stream)
        )

    async def rewrite(self, snapshot: DebateSnapshot) -> bool:
        version, summary = snapshot.debate.version, build_whole_summary(snapshot)
        return await self.storage.summaries.rewrite(snapshot.id, version, summary)

    async def rebuild_index(self, problem: str, debate_ids: list[str]) -> None:
        """Fill the search index again. Servers may go on adding words meanwhile: twice is as good as once."""
        if self.rebuild:
            await self.storage.index.clear()
            for debate_id in debate_ids:
                try:
                    while not await self.rewrite(await self.manager.store.read(debate_id)):
                        pass  # a server has written meanwhile
                except DebateArchivedError as error:
                    await self.rewrite_archived(error.tombstone)
                except (DebateNotFoundError, StorageUnavailableError):
                    continue  # it was reported
        self.problems.append(Problem("", problem, self.rebuild))

    async def check_days(self) -> None:
        days = await self.storage.spending.find_wrong_days()
        if days:
            if self.rebuild:
                await self.storage.spending.rewrite_days(days)
            text = f"the sums of {', '.join(days)} were not those of the debates"
            self.problems.append(Problem("", text, self.rebuild))


def find_differences(summary: StreamSummary, stored_summary: StreamSummary, ledger: str) -> list[str]:
    """What is not as expected. `ledger`: the one that is compared; what others have is nobody's concern here."""
    heading = (summary.title, summary.status, dict(summary.details))
    wrong = (
        ["the heading"]
        if heading != (stored_summary.title, stored_summary.status, stored_summary.details)
        else []
    )
    if (summary.family, summary.parent) != (stored_summary.family, stored_summary.parent):
        wrong.append("the family of forks")
    if dict(summary.spending) != dict(stored_summary.spending):
        wrong.append("the sums")
    own = [replace(row, stream="") for row in stored_summary.judgments or () if row.owner == ledger]
    if list(summary.judgments or ()) != own:
        wrong.append("the ledger")
    return wrong
