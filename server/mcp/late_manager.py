"""The manager of debates, opened when it is first needed.

Loading its code takes a sixth of a server's start, and many clients start a server only to list its tools.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

import anyio
from mcp.server import ServerRequestContext

from server.background_tasks import BackgroundTasks
from server.caller import read_caller
from storage.errors import StorageError
from storage.storage import Storage
from storage.streams import StreamFilter, format_time

if TYPE_CHECKING:
    from server.engine.debates import DebateManager

SEARCH_INTERVAL = 5.0  # seconds between searches for debates that another process may have left
MAX_LISTED = 100_000

logger = logging.getLogger(__name__)

OpenManager = Callable[[], "AbstractAsyncContextManager[DebateManager]"]


class LateManager:
    """Opens a manager when it is needed: `run` calls `open_manager` once and holds the result open; `get` waits."""

    def __init__(self, open_manager: OpenManager) -> None:
        self._open_manager = open_manager
        self._manager: DebateManager | None = None
        self._error: Exception | None = None
        self._requested, self._opened_or_failed, self._closed = anyio.Event(), anyio.Event(), anyio.Event()

    @classmethod
    def of(cls, manager: "DebateManager") -> Self:
        """A manager that is open already. Whoever opened it closes it."""

        def refuse() -> Any:
            raise RuntimeError("The manager is open already.")

        self = cls(refuse)
        self._manager = manager
        self._opened_or_failed.set()
        return self

    async def get(self) -> "DebateManager":
        """The open manager, for the owner who sent this request. Raises what its opening raised."""
        owner = read_caller().owner
        return (await self.get_unscoped()).of(owner)

    async def get_unscoped(self) -> "DebateManager":
        """The open manager, for all owners. Raises what its opening raised."""
        self._requested.set()
        await self._opened_or_failed.wait()
        if self._manager is None:
            raise self._error or RuntimeError("The server ends.")
        return self._manager

    async def run(self, storage: Storage, max_age_hours: float) -> None:
        """Open the manager once it is requested or a debate may need recovery, and hold it open until `close`.

        Raises what the manager raises.
        """
        async with BackgroundTasks() as tasks:
            tasks.keep_running(self._search, storage, max_age_hours)
            await self._requested.wait()
        try:
            if not self._closed.is_set():
                async with self._open_manager() as self._manager:
                    self._opened_or_failed.set()
                    await self._closed.wait()
        except Exception as error:
            self._error = error
            raise
        finally:
            self._manager = None
            self._opened_or_failed.set()

    async def _search(self, storage: Storage, max_age_hours: float) -> None:
        """Request the manager as soon as a debate may need recovery."""
        while not await may_recover(storage, max_age_hours):  # noqa: ASYNC110  (other processes set no event)
            await anyio.sleep(SEARCH_INTERVAL)
        self._requested.set()

    def close(self) -> None:
        self._closed.set()
        self._requested.set()


RequestContext = ServerRequestContext[LateManager, Any]


async def may_recover(storage: Storage, max_age_hours: float) -> bool:
    """Whether there are debates that should run by themselves, and that perhaps no process runs any more."""
    if not max_age_hours or storage.is_read_only:
        return False
    # A day more, for debates paused until the next day's budget.
    start = format_time(datetime.now(UTC) - timedelta(hours=max_age_hours, days=1))
    try:
        running = await storage.lists.find("", StreamFilter("running", changed_since=start), limit=MAX_LISTED)
        paused = await storage.lists.find("", StreamFilter("paused", changed_since=start), limit=MAX_LISTED)
    except StorageError as error:
        logger.warning("Unfinished debates cannot be searched for: %s", error)
        return False
    return any(row.details.get("runs_by_itself") for row in (*running, *paused))
