"""A collector on loopback, and what sends a server's telemetry to it."""

from collections.abc import Iterator

import pytest

from tests.support.collector import Collector, run_collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    with run_collector() as collector:
        yield collector
