"""Exporters of OTLP over HTTP that let nothing pass but what is known to be no text.

They work in threads of the SDK: a collector that is slow, or gone, takes no time of a debate. What it does not take is
dropped, and that is said once.
"""

import logging
import re
from collections.abc import Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import SpanKind, Status

from server.telemetry.mcp_names import McpNames

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
