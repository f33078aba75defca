"""Checks a database: the chain and the record of every debate, and what is derived from them.

Lists, searches and the sums of a day read rows that follow from the entries; where they do not, they are written
again. Entries never are.
"""

from dataclasses import dataclass
from pathlib import Path

from server.debate.facts.errors import InvalidRequestError
from server.debate.rules.transitions import replay
from server.debate.views.markdown import build_search_text
from server.engine.database.errors import (
    DebateNotFoundError,
    StorageUnavailableError,
    translate_storage_errors,
)
from server.engine.database.store import DebateSnapshot, build_stream_summary, rewrites_index
from server.engine.debates import DebateManager
from storage.journal import Journal, StreamSummary


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


def require_database(path: Path) -> None:
    """Raises InvalidRequestError if there is none: opening one to check it must not make it."""
    if not path.is_file():
        raise InvalidRequestError(f"There is no database {path}.")


async def check_database(manager: DebateManager, *, rebuild: bool = True) -> CheckResult:
    """Check everything. `rebuild`: write what is derived again where it does not follow from the entries.

    Raises StorageUnavailableError if it cannot be read at all.
    """
    journal = manager.store.journal
    with translate_storage_errors():
        problems = [Problem("", text) for text in await journal.find_file_problems()]
        debate_ids = await journal.find_all_streams()
    for debate_id in debate_ids:
        try:
            problems += await check_debate(manager, debate_id, rebuild=rebuild and not journal.is_read_only)
        except (DebateNotFoundError, StorageUnavailableError) as error:
            problems.append(Problem(debate_id, str(error)))
    return CheckResult(len(debate_ids), tuple(problems))


async def check_debate(manager: DebateManager, debate_id: str, *, rebuild: bool) -> list[Problem]:
    """What is stored of a debate for lists and sums and does not follow from its entries."""
    journal = manager.store.journal
    while True:
        snapshot = await manager.store.read(debate_id)
        with translate_storage_errors():
            stored = await journal.read_summary(debate_id)
            wrong = find_differences(snapshot, stored)
            if wrong and (await journal.head(debate_id))[0] != snapshot.debate.version:
                continue  # a server has written meanwhile
            is_rebuilt = bool(wrong and rebuild) and await rewrite(journal, snapshot)
        text = f"{', '.join(wrong)} did not follow from the entries"
        return [Problem(debate_id, text, is_rebuilt)] if wrong else []


async def rewrite(journal: Journal, snapshot: DebateSnapshot) -> bool:
    return await journal.rewrite_summary(snapshot.id, snapshot.debate.version, build_summary(snapshot))


def build_summary(snapshot: DebateSnapshot) -> StreamSummary:
    return build_stream_summary(snapshot.debate, [snapshot.debate.setup], snapshot.entries, snapshot.days)


def find_differences(snapshot: DebateSnapshot, stored: StreamSummary) -> list[str]:
    expected = build_summary(snapshot)
    heading = (expected.title, expected.status, dict(expected.details))
    wrong = ["the heading"] if heading != (stored.title, stored.status, stored.details) else []
    if dict(expected.spending) != dict(stored.spending):
        wrong.append("the sums")
    if stored.search_text != expected.search_text and not is_earlier_text(snapshot, stored.search_text):
        wrong.append("the search text")
    return wrong


def is_earlier_text(snapshot: DebateSnapshot, text: str | None) -> bool:
    """Whether it is that of a state since it was last rewritten."""
    entries = snapshot.entries
    indexed = [entry.seq for entry in entries if rewrites_index(entry.event)]
    return any(
        build_search_text(replay(entry.event for entry in entries[:seq])) == text
        for seq in range(indexed[-1], len(entries))
    )
