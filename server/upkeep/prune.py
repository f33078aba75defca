"""Removes debates that ended long ago, or archives them. Their receipts stay, and so do sums and judgments.

An archived debate goes to a file, as `counterpoint export` writes it, packed by gzip. The file is on the disk and was
read again before the record leaves the database: whenever this process dies, one of the two is whole, and most often
both. A server removes by itself what is older than its setting says (`Retention`).
"""

import gzip
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

import anyio

from server.debate.facts.errors import DebateError, InvalidRequestError
from server.debate.facts.events import PhaseEntered, Spoke
from server.debate.views.answer import CLOSED
from server.debate.views.verdict import build_verdict
from server.engine.database.errors import (
    DebateArchivedError,
    DebateNotFoundError,
    StorageUnavailableError,
    translate_storage_errors,
)
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import SYSTEM_ACTOR
from server.engine.database.summaries import build_search_text
from server.engine.debates import DebateManager
from server.engine.queries import FINAL_STATUSES
from server.engine.transfer import export_debate, parse_export
from server.engine.verification import Keys, verify_file
from server.files import write_atomically
from server.upkeep.check import Problem
from server.upkeep.deletion import finish_removal, remove_debate
from storage.sqlite.connections.database import sync
from storage.streams import Archive, format_time

HOOK_DAYS = 30
"""Hooks act on nothing that is older: the most that `max_age_hours` can be."""


async def go_on() -> bool:
    return True


@dataclass
class PruneResult:
    """`spared`: debates that are old enough and stay, with the reason."""

    debate_ids: list[str] = field(default_factory=list)
    spared: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


async def prune_debates(
    manager: DebateManager,
    days: float,
    *,
    actor: str,
    owner: str | None = None,
    other_than: Collection[str] = (),
    dry_run: bool = False,
    folder: Path | None = None,
    may_go_on: Callable[[], Awaitable[bool]] = go_on,
) -> PruneResult:
    """Remove the debates that ended, and to which nothing was added, for so many days. `dry_run`: only name them.

    One whose record is damaged is left as it is: it is evidence. So are those that somebody works on, or whose events
    hooks have not dealt with, and mirrors of debates that stay. `owner`: only debates of this one; None: of all but
    `other_than`. `folder`: where their records go, so that they stay in lists, and can be brought back. `may_go_on`:
    asked before each.

    Raises:
        InvalidRequestError: nothing can be written into the folder.
        StorageUnavailableError: the database cannot be used.
    """
    result = PruneResult()
    pruning = Pruning(manager, days, actor, result, folder)
    for debate_id in await pruning.find_old(owner, other_than):
        if debate_id in result.debate_ids:  # a mirror, which went with its debate
            continue
        if not await may_go_on():
            break
        try:
            if reason := await pruning.find_obstacle(debate_id):
                result.spared[debate_id] = reason
            elif dry_run:
                result.debate_ids.append(debate_id)
            else:
                await pruning.remove(debate_id)
        except (DebateNotFoundError, StorageUnavailableError) as error:
            result.problems.append(Problem(debate_id, str(error)))
    if result.debate_ids and not dry_run:
        await finish_removal(manager)
    return result


@dataclass
class Pruning:
    """Every method may raise StorageUnavailableError."""

    manager: DebateManager
    days: float
    actor: str
    result: PruneResult
    folder: Path | None = None
    recent: set[str] = field(default_factory=set)  # those of the old ones that hooks may still act on
    position: int | None = None  # that all hooks have reached; None without hooks
    holders: dict[str, str] = field(default_factory=dict)

    async def find_old(self, owner: str | None, other_than: Collection[str]) -> list[str]:
        """The debates that ended so long ago, oldest first."""
        storage, now = self.manager.store.storage, self.manager.clock()
        latest_end = format_time(now - timedelta(days=self.days))
        with translate_storage_errors():
            debate_ids = await storage.summaries.find_unchanged(FINAL_STATUSES, latest_end, owner=owner)
            if self.folder:
                heads = await storage.journal.heads(debate_ids)
                debate_ids = [debate_id for debate_id in debate_ids if debate_id in heads]
            if other_than:
                owners = await storage.lists.find_owners(debate_ids)
                debate_ids = [
                    debate_id for debate_id in debate_ids if owners.get(debate_id) not in other_than
                ]
            for_good = format_time(now - timedelta(days=max(self.days, HOOK_DAYS)))
            self.recent = {*debate_ids} - {*await storage.summaries.find_unchanged(FINAL_STATUSES, for_good)}
            readers = await storage.outbox.find_readers()
        self.position = min((mark.position for mark in readers.values()), default=None)
        self.holders = await self.manager.leases.find_holders()
        return debate_ids

    async def find_obstacle(self, debate_id: str) -> str:
        """Why a debate stays; "" if it may go."""
        storage = self.manager.store.storage
        if debate_id in self.holders:
            return "somebody works on it"
        with translate_storage_errors():
            seq, *_ = await storage.journal.head(debate_id)
            original = str((await storage.summaries.read(debate_id)).details.get("mirror_of") or "")
            if (
                original
                and original not in self.result.debate_ids
                and (await storage.journal.head(original))[0]
            ):
                return f"it is the mirror of {original}, which stays"
            if debate_id not in self.recent or self.position is None:
                return ""
            if self.folder:  # it may come back
                return f"hooks may act on it until {HOOK_DAYS} days after its end"
            is_read = await storage.outbox.find_position(debate_id, seq) <= self.position
            if not is_read or await storage.outbox.find_queues(debate_id):
                return "hooks have not dealt with it yet"
        return ""

    async def remove(self, debate_id: str) -> None:
        """Remove a debate, unless somebody writes to it now."""
        snapshot = archive = None
        with suppress(DebateArchivedError):  # its file stays
            snapshot = await self.manager.store.read(debate_id)
        if snapshot and self.folder:
            archive = await write_archive(self.manager, snapshot, self.folder)
        tombstones = await remove_debate(
            self.manager,
            debate_id,
            snapshot,
            actor=self.actor,
            only_if_unchanged=True,
            keep_judgments=True,
            archive=archive,
        )
        self.result.debate_ids += [tombstone.stream for tombstone in tombstones]


async def write_archive(manager: DebateManager, snapshot: DebateSnapshot, folder: Path) -> Archive:
    """Write a debate to its file, in a folder for each month, and check what was written. `folder`: absolute.

    Raises:
        InvalidRequestError: nothing can be written there.
        StorageUnavailableError: the debate cannot be read, or its file does not hold.
    """
    entries = snapshot.entries
    path = folder / entries[-1].at[:7] / f"{snapshot.id}.json.gz"
    export = await export_debate(manager, snapshot.id)
    try:
        write_file(path, gzip.compress(json.dumps(export).encode(), mtime=0))
        content = path.read_bytes()
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        checks = verify_file(parse_export(content), Keys(), None, manager.clock())
    except InvalidRequestError as error:
        raise StorageUnavailableError(f"Its file, {path}, does not hold: {error}") from None
    for check in checks:
        if check.finding == "wrong":
            raise StorageUnavailableError(f"Its file, {path}, does not hold: {check.text}")
    headline = build_verdict(snapshot.debate).headline or snapshot.status.capitalize()
    words = [entry.event for entry in entries if not isinstance(entry.event, Spoke | PhaseEntered)]
    return Archive(
        str(path),
        headline if headline.endswith((".", *CLOSED)) else f"{headline}.",
        build_search_text(snapshot.debate, words),
        entries[0].at,
        entries[-1].at,
        [entry.seq for entry in entries if entry.restored],
    )


def write_file(path: Path, content: bytes) -> None:
    """Write a file that only this user may read, in folders that survive a power failure as well. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, content, private=True)
    with suppress(PermissionError):  # Windows opens no directories
        for folder in path.parents:  # some are new
            sync(folder)


LEASE = "retention"
"""Of the processes on a database the one that has it removes debates. No debate has such an id."""

LEASE_SECONDS = 60.0  # renewed before each debate
DELAY = 2.0  # seconds after the start, when there is more to do
INTERVAL = 3600.0  # seconds

logger = logging.getLogger(__name__)


class Retention:
    """`days`: after its end that a debate is kept; `days_by_owner`: where an owner has others. 0: for ever."""

    def __init__(
        self, manager: DebateManager, days: int, days_by_owner: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        self.manager = manager
        self.days, self.days_by_owner = days, days_by_owner

    async def run(self, delay: float = DELAY, interval: float = INTERVAL) -> None:
        """Look for old debates after `delay` seconds, and every `interval`. Never returns."""
        await anyio.sleep(delay)
        while True:
            try:
                await self.prune()
            except DebateError as error:  # the next attempt may succeed
                logger.warning("Old debates cannot be removed now: %s", error)
            await anyio.sleep(interval)

    async def prune(self) -> None:
        """Remove what is old, unless another process does so. Raises StorageUnavailableError."""
        if not await self.has_lease():
            return
        try:
            if self.days:
                await self.prune_owner(None, self.days, other_than=self.days_by_owner)
            for owner, days in self.days_by_owner.items():
                if days:
                    await self.prune_owner(owner, days)
        finally:
            with anyio.CancelScope(shield=True):
                await self.manager.leases.release(LEASE)

    async def prune_owner(self, owner: str | None, days: int, other_than: Collection[str] = ()) -> None:
        """`owner`: None for all but `other_than`."""
        result = await prune_debates(
            self.manager,
            days,
            actor=SYSTEM_ACTOR,
            owner=owner,
            other_than=other_than,
            may_go_on=self.has_lease,
        )
        if result.debate_ids:
            logger.info("Removed %d debates that ended %d days ago", len(result.debate_ids), days)
        for problem in result.problems:
            logger.warning("Debate %s stays: %s", problem.debate_id, problem.text)

    async def has_lease(self) -> bool:
        return await self.manager.leases.acquire(LEASE, LEASE_SECONDS)
