"""`/metrics` for Prometheus: with a token, or without one for programs of this machine alone."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from server.http_server.gate import Place, is_forwarded, refuse
from server.mcp.server import list_tool_names
from server.optional import MissingPackageError, optional_import
from server.redaction import learn_secrets
from server.startup import list_signals, open_telemetry

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
