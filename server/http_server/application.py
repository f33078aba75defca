"""The application: what is served under which path, and what every request passes on its way there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from server.background_tasks import BackgroundTasks
from server.engine.debates import DebateManager
from server.http_server.authentication import (
    METADATA_PATH,
    Accounts,
    Authentication,
    RatedRequests,
    ScopedRequests,
)
from server.http_server.gate import MCP_PATH, Gate
from server.http_server.limits import Admission, BoundedBodies, RequestRates
from server.http_server.page import PAGE_PATH, Visitors, build_pages
from server.http_server.probes import METRICS_PATH, READY_PATH, Metrics, Readiness
from server.http_server.sessions import Sessions, refuse_subscriptions
from server.mcp.late_manager import LateManager
from server.mcp.server import build_server
from server.mcp.subscriptions import UpdateBus
from server.settings import Settings

HEALTH_PATH = "/healthz"


class Service:
    """What one process serves over HTTP. `is_stateless`: no sessions, so that any replica answers any request."""

    def __init__(
        self,
        manager: DebateManager,
        settings: Settings,
        accounts: Accounts,
        *,
        is_stateless: bool,
        metrics: Metrics | None = None,
    ) -> None:
        self.manager, self.readiness = manager, Readiness(manager.store.storage)
        self.updates = UpdateBus()
        self.metrics = metrics
        telemetry = metrics.telemetry if metrics else None
        meter = telemetry.measure_requests("tcp") if telemetry else None
        self.mcp = build_server(LateManager.of(manager), self.updates, meter)
        if is_stateless:
            self.mcp.middleware.append(refuse_subscriptions)
        self.sessions = Sessions(self.mcp, is_stateless=is_stateless, max_body=settings.max_body)
        self.accounts, self.rates = (
            accounts,
            RequestRates(settings.owner_requests_per_minute, manager.store.storage.rates),
        )
        self.visitors = Visitors(manager)
        self.app = self._build_application(settings, is_stateless=is_stateless)
        if telemetry:
            telemetry.instruments.waiting.sources["requests"] = self.admission.limit.waiting.count

    def _build_endpoint(self, settings: Settings) -> ASGIApp:
        """What answers requests of MCP. Who sends one is known before its body is read."""
        mcp: ASGIApp = StreamableHTTPASGIApp(self.sessions)
        mcp = ScopedRequests(mcp, self.accounts)
        mcp = self.admission = Admission(mcp)
        mcp = BoundedBodies(mcp, max_bytes=settings.max_body)
        return Authentication(RatedRequests(mcp, self.rates), self.accounts)

    def _build_application(self, settings: Settings, *, is_stateless: bool) -> ASGIApp:
        routes: list[BaseRoute] = [
            Route(HEALTH_PATH, PlainTextResponse("ok")),
            Route(READY_PATH, self.readiness.tell),
            # Without sessions there are no streams to open and no sessions to end.
            Route(MCP_PATH, self._build_endpoint(settings), methods=["POST"] if is_stateless else None),
            Route("/", RedirectResponse(f"{PAGE_PATH}/")),
            Route(PAGE_PATH, RedirectResponse(f"{PAGE_PATH}/")),
            Mount(PAGE_PATH, build_pages(self.accounts, self.visitors, self.rates, settings.max_body)),
            Route(METADATA_PATH, self.accounts.describe_resource),
            Route(METADATA_PATH + MCP_PATH, self.accounts.describe_resource),
        ]
        open_paths = [HEALTH_PATH, READY_PATH]  # probes ask by numeric addresses
        if self.metrics:
            routes.append(Route(METRICS_PATH, self.metrics.show))
            open_paths += [METRICS_PATH] if self.metrics.token else []  # no page of another site has it
        application: ASGIApp = Starlette(routes=routes)
        if settings.http_origins:
            application = CORSMiddleware(
                application,
                allow_origins=settings.http_origins,
                allow_methods=("GET", "POST", "DELETE"),
                allow_headers=("*",),
                expose_headers=("mcp-session-id", "www-authenticate", "retry-after"),
            )
        return Gate(
            application,
            self.accounts.place,
            hosts=settings.http_hosts,
            origins=settings.http_origins,
            open_paths=open_paths,
        )

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Requests are answered as long as this is open."""
        async with self.sessions.run(), BackgroundTasks() as tasks:
            tasks.keep_running(self.accounts.requests.run)
            tasks.keep_running(self.rates.run)
            yield

    def close_streams(self) -> None:
        """Let those who wait for debates have what there is, and end the streams that wait for news."""
        self.manager.end_waits()
        self.updates.serve_listener.close()
        self.sessions.close_streams()
        self.visitors.close_streams()
