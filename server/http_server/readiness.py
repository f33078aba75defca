"""Whether requests should be sent here: not while the process ends, or cannot use its database.

Calls wait through an outage of the database, which all servers have at once: for a while it takes none of them out. A
database that answers that it cannot be used, or that is gone, takes this server out at once; one that is busy does not.
"""

import logging
import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from server.http_server.gate import refuse
from storage.errors import BusyError, OutageError, StorageError
from storage.storage import Storage

READY_PATH = "/readyz"
PROBE_SECONDS = 1.0  # for the database to answer, or half a second more; whoever asks here gives up later
OUTAGE_SECONDS = 10.0  # since a probe first found no answer

logger = logging.getLogger(__name__)


class Readiness:
    """`clock`: seconds, as of `time.monotonic`."""

    def __init__(self, storage: Storage, clock: Callable[[], float] = time.monotonic) -> None:
        self.storage, self.clock = storage, clock
        self.is_draining = False
        self._out_since: float | None = None  # as of the clock; None while the database answers
        self._trouble = ""  # that was logged

    async def tell(self, _request: Request) -> Response:
        trouble = "" if self.is_draining else await self._find_trouble()
        if self.is_draining:  # perhaps since this was asked
            return refuse(503, "This server ends.")
        self._log(trouble)
        if trouble:
            return refuse(503, "The database cannot be used.")
        is_out = self._out_since is not None
        return JSONResponse({"ready": True} | ({"database": "does not answer"} if is_out else {}))

    async def _find_trouble(self) -> str:
        """Why the database cannot be used; "" where it can, or where its outage is short."""
        try:
            await self.storage.probe(PROBE_SECONDS)
        except BusyError:
            pass  # it answers
        except OutageError as error:
            now = self.clock()
            self._out_since = now if self._out_since is None else self._out_since
            return str(error) if now - self._out_since >= OUTAGE_SECONDS else ""
        except StorageError as error:
            return str(error)
        self._out_since = None
        return ""

    def _log(self, trouble: str) -> None:
        if bool(trouble) != bool(self._trouble):
            logger.warning("Not ready: %s" if trouble else "Ready again%s", trouble)
        self._trouble = trouble
