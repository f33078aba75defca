"""What collects spans and metrics and sends them, for as long as a process runs.

The exporters let nothing pass but what is known to be no text. They work in threads of the SDK: a collector that is
slow, or gone, takes no time of a debate. What it does not take is dropped, and that is said once.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExportResult,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import NoOpTracer, SpanKind, Status, Tracer

from server.redaction import find_secret_headers, find_secret_parts, learn_secrets
from server.settings import package_version
from server.telemetry.instruments import build_instruments
from server.telemetry.labels import McpNames

if TYPE_CHECKING:
    from server.telemetry.mcp_requests import RequestMeter

FLUSH_SECONDS = 0.6
"""The longest that the end of the process waits for the collector. A client kills a server that takes its time."""

OWN_SCOPE, SDK_SCOPE = "counterpoint", "mcp-python-sdk"

SDK_ATTRIBUTES: dict[str, re.Pattern[str]] = {
    "mcp.protocol.version": re.compile(r"\d{4}-\d\d-\d\d"),
    "jsonrpc.request.id": re.compile(r"[\w-]{1,40}"),
    "gen_ai.operation.name": re.compile("execute_tool"),
    "error.type": re.compile(r"-?\d{1,6}|[A-Za-z_]{1,60}"),
    "rpc.response.status_code": re.compile(r"-?\d{1,6}"),
}
"""What the spans of the SDK may have besides names, by shape: clients write some of it."""

logger = logging.getLogger(__name__)


class Telemetry:
    """The tracer and the instruments of a process. Without a collector for a signal they do nothing."""

    def __init__(self, tracer: Tracer, meter: Meter, names: McpNames) -> None:
        self.tracer, self.instruments, self.names = tracer, build_instruments(meter), names

    def measure_requests(self, transport: str) -> "RequestMeter":
        """A middleware of the SDK's server. `transport`: `pipe` for stdio, `tcp` for HTTP."""
        from server.telemetry.mcp_requests import RequestMeter  # noqa: PLC0415  (the terminal does without MCP)

        return RequestMeter(self.instruments, self.names, transport)


@contextmanager
def open_pipeline(
    environ: Mapping[str, str],
    signals: Collection[str],
    tools: Collection[str] = (),
    readers: Collection[MetricReader] = (),
) -> Iterator[Telemetry]:
    """Collect these signals, traces and metrics, and send them; the rest is sent at the end, `FLUSH_SECONDS` at most.

    `tools`: their names; clients may send any other. `readers`: of metrics, besides the collector's.
    """
    silence_sdk()
    learn_secrets(find_header_secrets(environ))
    known, version = McpNames(tools), package_version()
    resource = Resource.create(
        {
            "service.name": environ.get("OTEL_SERVICE_NAME") or "counterpoint",
            "service.version": version,
            "service.instance.id": str(uuid4()),
        }
    )
    ends: list[Callable[[], None]] = []
    tracer: Tracer = NoOpTracer()
    if "traces" in signals:
        tracing = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracing.add_span_processor(BatchSpanProcessor(SafeSpanExporter(known)))
        if isinstance(
            trace.get_tracer_provider(), trace.ProxyTracerProvider
        ):  # else somebody has set another
            trace.set_tracer_provider(tracing)  # for the spans of the MCP library
        tracer = tracing.get_tracer(OWN_SCOPE, version)
        ends.append(tracing.shutdown)
    reading = [*readers]
    if "metrics" in signals:
        reading.append(PeriodicExportingMetricReader(WatchedMetricExporter()))
    metering = MeterProvider(reading, resource, AlwaysOffExemplarFilter(), shutdown_on_exit=False)
    ends.append(metering.shutdown)
    try:
        yield Telemetry(tracer, metering.get_meter(OWN_SCOPE, version), known)
    finally:
        finish(ends)


def finish(ends: Collection[Callable[[], None]]) -> None:
    """Call all of these at once, each in a thread that does not keep the process from ending."""
    deadline = time.monotonic() + FLUSH_SECONDS
    threads = [threading.Thread(target=end, daemon=True, name="telemetry") for end in ends]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))


def find_header_secrets(environ: Mapping[str, str]) -> Iterator[str]:
    """The credentials for collectors, which stand in headers and addresses."""
    for name, value in environ.items():
        if name.startswith("OTEL_EXPORTER_OTLP_"):
            yield from find_secret_parts(value)
            if name.endswith("HEADERS"):
                yield from find_secret_headers(dict(pair.partition("=")[::2] for pair in value.split(",")))


class Outage:
    """Whether a collector takes what it is sent. A change is logged, and not each failure, as the SDK would."""

    def __init__(self, signal: str) -> None:
        self._signal, self._lasts = signal, False

    def note(self, *, failed: bool) -> None:
        if failed and not self._lasts:
            logger.warning("The collector does not take %s. They are dropped until it does.", self._signal)
        elif self._lasts and not failed:
            logger.warning("The collector takes %s again.", self._signal)
        self._lasts = failed


class SafeSpanExporter(OTLPSpanExporter):
    """Our own spans, and those of the MCP SDK without what clients wrote into them."""

    def __init__(self, names: McpNames) -> None:
        super().__init__()
        self._names, self._outage = names, Outage("traces")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        clean_spans = [clean for span in spans if (clean := self._clean(span))]
        result = super().export(clean_spans) if clean_spans else SpanExportResult.SUCCESS
        self._outage.note(failed=result is not SpanExportResult.SUCCESS)
        return result

    def _clean(self, span: ReadableSpan) -> ReadableSpan | None:
        scope = span.instrumentation_scope.name if span.instrumentation_scope else ""
        if scope == OWN_SCOPE:
            return span
        return clean_sdk_span(span, self._names) if scope == SDK_SCOPE else None


class WatchedMetricExporter(OTLPMetricExporter):
    def __init__(self) -> None:
        super().__init__()
        self._outage = Outage("metrics")

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **more: Any
    ) -> MetricExportResult:
        result = super().export(metrics_data, timeout_millis, **more)
        self._outage.note(failed=result is not MetricExportResult.SUCCESS)
        return result


def clean_sdk_span(span: ReadableSpan, names: McpNames) -> ReadableSpan:
    """The span of an MCP request. Its status, its events and some of its names hold texts of clients and of errors."""
    own_attributes = dict(span.attributes or {})
    attributes = {
        key: value
        for key, shape in SDK_ATTRIBUTES.items()
        if (value := own_attributes.get(key)) is not None and shape.fullmatch(str(value))
    }
    attributes["mcp.method.name"] = name = method = names.find_method(own_attributes.get("mcp.method.name"))
    if span.kind is SpanKind.SERVER and method == "tools/call":
        attributes["gen_ai.tool.name"] = tool = names.find_tool(own_attributes.get("gen_ai.tool.name"))
        name = f"{method} {tool}"
    return ReadableSpan(
        name=name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def silence_sdk() -> None:
    """Keep the SDK from logging each failed delivery: a client that does not read its log would block us in the end."""
    for name in ("exporter", "sdk._shared_internal", "sdk.metrics._internal.export"):
        logging.getLogger(f"opentelemetry.{name}").setLevel(logging.CRITICAL)
