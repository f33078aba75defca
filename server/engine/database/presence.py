"""Notices that the database is gone, or that another one is in its place.

    present ── noticed within WATCH_INTERVAL ──> lost ── the database is back ──> present
    lost ── an error has told it to a caller ──> told ── the next request ──> present, with what is there now

While it is lost nothing is recorded and no model is called. Answers that are on their way are kept for the case
that the database comes back.
"""

import logging
from collections.abc import Awaitable, Callable

import anyio

from server.engine.database.errors import DatabaseLostError, translate_storage_errors
from storage.storage import Storage

WATCH_INTERVAL = 0.5  # seconds

logger = logging.getLogger(__name__)


class DatabasePresence:
    def __init__(self, storage: Storage, stop_runs: Callable[[], Awaitable[None]]) -> None:
        """`stop_runs`: awaited before another database is used, so that nothing of the old one gets into it."""
        self.loss: DatabaseLostError | None = None
        self.loss_listeners: list[Callable[[], None]] = []
        self.return_listeners: list[Callable[[], None]] = []
        self.reopening_listeners: list[Callable[[], None]] = []  # called when another database is used
        self._storage = storage
        self._stop_runs = stop_runs
        self._was_told = False
        self._lock = anyio.Lock()

    async def watch(self) -> None:
        """Look again and again. Never returns."""
        while True:
            self.look()
            await anyio.sleep(WATCH_INTERVAL)

    def look(self) -> None:
        try:
            with translate_storage_errors():
                self._storage.check_presence()
        except DatabaseLostError as error:
            self._note(error)
        else:
            if self.loss:
                logger.warning("The debates' database is back.")
                self._forget_loss()

    def acknowledge(self, error: Exception) -> None:
        """Take note that a caller was told an error: if it is a loss, the next request may use another database."""
        if isinstance(error, DatabaseLostError):
            self._note(error)
            self._was_told = True

    async def reopen_if_told(self) -> None:
        """Before a request: use the database that is there now, or begin a new one, if the loss was told.

        Raises StorageUnavailableError if it cannot be used; the next request tries again.
        """
        if not self._was_told:
            return
        async with self._lock:
            self.look()
            if not self._was_told:  # it is back, or another request has done it
                return
            with translate_storage_errors():
                is_another = await self._storage.reopen(self._stop_runs)
            logger.warning("The debates' database was opened anew.")
            self._forget_loss()
            for reopened in self.reopening_listeners if is_another else ():
                reopened()

    def _forget_loss(self) -> None:
        self.loss, self._was_told = None, False
        for returned in self.return_listeners:
            returned()

    def _note(self, error: DatabaseLostError) -> None:
        if self.loss is None:
            logger.error("%s", error)
            self.loss = error
            for lost in self.loss_listeners:
                lost()
