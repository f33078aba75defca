"""The manager of debates, opened when it is first needed.

Its code takes a sixth of the time in which a server starts, and many clients start one only to list its tools.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

import anyio
from mcp.server import ServerRequestContext

from server.access.caller import read_caller
from server.background_tasks import BackgroundTasks
from storage.contract.errors import StorageError
from storage.contract.journal import Journal
from storage.contract.streams import StreamFilter

if TYPE_CHECKING:
    from server.engine.debates import DebateManager

SEARCH_INTERVAL = 5.0  # seconds between searches for debates that another process may have left
MAX_LISTED = 100_000

logger = logging.getLogger(__name__)

OpenManager = Callable[[], "AbstractAsyncContextManager[DebateManager]"]


class LateManager:
    """`open_manager` is called once, by `run`, which holds the manager open; all others wait for it in `get`."""

    def __init__(self, open_manager: OpenManager) -> None:
        self._open_manager = open_manager
        self._manager: DebateManager | None = None
        self._error: Exception | None = None
        self._wanted, self._settled, self._closed = anyio.Event(), anyio.Event(), anyio.Event()

    @classmethod
    def of(cls, manager: "DebateManager") -> Self:
        """A manager that is open already, and that its owner closes."""

        def refuse() -> Any:
            raise RuntimeError("The manager is open already.")

        self = cls(refuse)
        self._manager = manager
        self._settled.set()
        return self

    async def get(self) -> "DebateManager":
        """The open manager, as the sender of this request may see it. Raises what its opening raised."""
        owner = read_caller().owner
        return (await self.get_whole()).of(owner)

    async def get_whole(self) -> "DebateManager":
        """The open manager, for what is done for all owners. Raises what its opening raised."""
        self._wanted.set()
        await self._settled.wait()
        if self._manager is None:
            raise self._error or RuntimeError("The server ends.")
        return self._manager

    async def run(self, journal: Journal, max_age_hours: float) -> None:
        """Open the manager as soon as it is wanted, or a debate may have to be recovered; hold it open until `close`.

        Raises what the manager raises.
        """
        async with BackgroundTasks() as tasks:
            tasks.keep_running(self._search, journal, max_age_hours)
            await self._wanted.wait()
        try:
            if not self._closed.is_set():
                async with self._open_manager() as self._manager:
                    self._settled.set()
                    await self._closed.wait()
        except Exception as error:
            self._error = error
            raise
        finally:
            self._manager = None
            self._settled.set()

    async def _search(self, journal: Journal, max_age_hours: float) -> None:
        """Want the manager as soon as a debate may have to be recovered."""
        while not await may_recover(journal, max_age_hours):  # noqa: ASYNC110  (other processes set no event)
            await anyio.sleep(SEARCH_INTERVAL)
        self._wanted.set()

    def close(self) -> None:
        self._closed.set()
        self._wanted.set()


RequestContext = ServerRequestContext[LateManager, Any]


async def may_recover(journal: Journal, max_age_hours: float) -> bool:
    """Whether there are debates that go on by themselves, and that perhaps no process runs any more."""
    if not max_age_hours or journal.is_read_only:
        return False
    # As entries have it. A pause until the next day's budget lasts for less than a day.
    oldest = datetime.now(UTC) - timedelta(hours=max_age_hours, days=1)
    since = oldest.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    try:
        running = await journal.find("", StreamFilter("running", changed_since=since), limit=MAX_LISTED)
        paused = await journal.find("", StreamFilter("paused", changed_since=since), limit=MAX_LISTED)
    except StorageError as error:
        logger.warning("Unfinished debates cannot be searched for: %s", error)
        return False
    return any(row.details.get("runs_by_itself") for row in (*running, *paused))
