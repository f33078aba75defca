"""A collector on loopback: takes OTLP over HTTP (protobuf), and keeps every byte."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.patience import PATIENCE


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as it arrived. Ids in hexadecimal, times in nanoseconds."""

    name: str
    scope: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str  # "" for a root
    links: tuple[tuple[str, str], ...]  # (trace id, span id)
    attributes: dict[str, Any]
    status: int  # 2 for an error
    start: int
    end: int


@dataclass
class Collector:
    """`status`: of every answer. `held`: while it is not set, no request is answered."""

    url: str = ""
    status: int = 200
    bodies: list[tuple[str, bytes]] = field(default_factory=list)  # (path, body)
    arrived: threading.Condition = field(default_factory=threading.Condition)
    held: threading.Event = field(default_factory=threading.Event)

    def receive(self, path: str, body: bytes) -> None:
        with self.arrived:
            self.bodies.append((path, body))
            self.arrived.notify_all()

    def wait_for_span(self, name: str, count: int = 1) -> list[ReceivedSpan]:
        """The spans of that name, once there are so many."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.find_spans(name)) >= count, timeout=PATIENCE), (
                self.names
            )
        return self.find_spans(name)

    @property
    def environ(self) -> dict[str, str]:
        """Has a process send its telemetry here, without the usual delay of seconds."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "OTEL_METRIC_EXPORT_INTERVAL": "100",
        }

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    @property
    def spans(self) -> list[ReceivedSpan]:
        requests = [
            ExportTraceServiceRequest.FromString(body) for path, body in self.bodies if "trace" in path
        ]
        return [
            ReceivedSpan(
                span.name,
                scope.scope.name,
                span.kind,
                span.trace_id.hex(),
                span.span_id.hex(),
                span.parent_span_id.hex(),
                tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
                read_attributes(span.attributes),
                span.status.code,
                span.start_time_unix_nano,
                span.end_time_unix_nano,
            )
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def find_spans(self, name: str) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.name == name]

    def find_children(self, parent: ReceivedSpan) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.parent_id == parent.span_id]

    def find_points(self, name: str) -> list[tuple[dict[str, Any], float]]:
        """(attributes, value, or sum of a histogram) of a metric, as sent last."""
        found: list[tuple[dict[str, Any], float]] = []
        for path, body in self.bodies:
            if "metrics" not in path:
                continue
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for metric in (one for scope in resource.scope_metrics for one in scope.metrics):
                    if metric.name == name:
                        found = [read_point(point) for point in find_data_points(metric)]
        return found


def find_data_points(metric: Any) -> Any:
    return getattr(metric, metric.WhichOneof("data")).data_points


def read_point(point: Any) -> tuple[dict[str, Any], float]:
    is_histogram = hasattr(point, "bucket_counts")
    value = point.sum if is_histogram else getattr(point, point.WhichOneof("value"))
    return read_attributes(point.attributes), value


def read_attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: read_value(pair.value) for pair in pairs}


def read_value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return (
        [read_value(one) for one in value.array_value.values]
        if kind == "array_value"
        else getattr(value, kind)
    )


@contextmanager
def run_collector() -> Iterator[Collector]:
    collector = Collector()
    collector.held.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.held.wait(60)
            collector.receive(self.path, body)
            self.send_response(collector.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.held.set()
        server.shutdown()
        server.server_close()
