"""What those who run a server ask it: `/readyz`, whether requests should be sent here, and `/metrics` for Prometheus.

Not ready is a process that ends, or cannot use its database. Calls wait through an outage of the database, which all
servers have at once: for a while it takes none of them out. A database that answers that it cannot be used, or that is
gone, takes this server out at once; one that is busy does not.

Metrics take a token, or none for programs of this machine alone.
"""

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from server.http_server.gate import Place, is_forwarded, refuse
from server.mcp.server import list_tool_names
from server.optional import MissingPackageError, optional_import
from server.redaction import learn_secrets
from server.startup import list_signals, open_telemetry
from storage.errors import BusyError, OutageError, StorageError
from storage.storage import Storage

if TYPE_CHECKING:
    from server.telemetry.pipeline import Telemetry
    from server.telemetry.prometheus import PrometheusPage

METRICS_PATH = "/metrics"


@dataclass(frozen=True, slots=True)
class Metrics:
    """`telemetry` and `page`: None where the extra is not installed. `token`: "" for none."""

    telemetry: "Telemetry | None"
    page: "PrometheusPage | None"
    token: str
    place: Place

    async def show(self, request: Request) -> Response:
        if refusal := self.find_refusal(request):
            return refusal
        if self.page is None:
            return refuse(501, "There are no metrics here: pip install 'counterpoint-mcp[otel]'")
        from server.telemetry.prometheus import MEDIA_TYPE  # noqa: PLC0415  (an extra)

        return Response(await to_thread.run_sync(self.page.render), headers={"content-type": MEDIA_TYPE})

    def find_refusal(self, request: Request) -> Response | None:
        if self.token:
            authorization = request.headers.get("authorization", "").encode()
            if secrets.compare_digest(authorization, f"Bearer {self.token}".encode()):
                return None
            refusal = refuse(401, "Metrics need their own token (COUNTERPOINT_METRICS_TOKEN).")
            refusal.headers["www-authenticate"] = "Bearer"
            return refusal
        if self.place.is_loopback and not is_forwarded(request.headers):
            return None
        return refuse(403, "Metrics need a token here: set COUNTERPOINT_METRICS_TOKEN.")


@contextmanager
def open_metrics(environ: Mapping[str, str], token: str, place: Place) -> Iterator[Metrics]:
    """Metrics for as long as a server runs, and telemetry for a collector, if one is set."""
    learn_secrets([token])
    tools = list_tool_names()
    try:
        with optional_import():
            from server.telemetry.pipeline import open_pipeline  # noqa: PLC0415  (an extra)
            from server.telemetry.prometheus import PrometheusPage  # noqa: PLC0415
    except (ModuleNotFoundError, MissingPackageError):
        with open_telemetry(environ, tools) as telemetry:  # says so, if a collector is set
            yield Metrics(telemetry, None, token, place)
        return
    page = PrometheusPage()
    with open_pipeline(environ, list_signals(environ), tools, [page.reader]) as telemetry:
        yield Metrics(telemetry, page, token, place)


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
