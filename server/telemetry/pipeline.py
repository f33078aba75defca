"""What collects spans and metrics and sends them, for as long as a process runs."""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import NoOpTracer, Tracer

from server.redaction import find_secret_headers, find_secret_parts, learn_secrets
from server.settings import package_version
from server.telemetry.exporters import OWN_SCOPE, SafeSpanExporter, WatchedMetricExporter, silence_sdk
from server.telemetry.instruments import build_instruments
from server.telemetry.mcp_names import McpNames

if TYPE_CHECKING:
    from server.telemetry.mcp_requests import RequestMeter

FLUSH_SECONDS = 0.6
"""The longest that the end of the process waits for the collector. A client kills a server that takes its time."""


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
