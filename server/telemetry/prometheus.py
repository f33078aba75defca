"""The metrics as Prometheus reads them, by the instruments whose values a collector is sent."""

from threading import Lock

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics.export import MetricReader
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

MEDIA_TYPE = CONTENT_TYPE_LATEST


class PrometheusPage:
    def __init__(self) -> None:
        self._registry, self._lock = CollectorRegistry(), Lock()
        self.reader: MetricReader = PrometheusMetricReader(registry=self._registry, scope_info_enabled=False)

    def render(self) -> bytes:
        """The text format. Takes milliseconds, and may be called in any thread."""
        with self._lock:  # the reader would give two that ask at once each other's values
            return generate_latest(self._registry)
