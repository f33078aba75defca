"""Collectors that are gone, slow or broken: no debate waits for them, and no exit."""

import signal
import time
from typing import Any

import pytest

from server.telemetry.pipeline import FLUSH_SECONDS
from tests.support.collector import Collector
from tests.support.patience import PATIENCE
from tests.support.processes.served import Served, Start

pytestmark = [pytest.mark.requirement("N15")]

ASKED: dict[str, Any] = {
    "question": "Ship it?",
    "format": "verdict",
    "run": True,
    "wait_seconds": 20,
    "options": {"framing": False},
}
SLACK = 3  # seconds for the rest of an exit, on a machine that does something else as well


def break_collector(collector: Collector, trouble: str) -> dict[str, str]:
    environ = collector.environ | {"COUNTERPOINT_MODELS": "scripted"}
    if trouble == "slow":
        collector.held.clear()
    if trouble == "broken":
        collector.status = 500
    if trouble == "busy":
        collector.status = 503  # which the exporter tries again for seconds
    return environ | ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"} if trouble == "gone" else {})


@pytest.mark.parametrize("trouble", ["gone", "slow", "broken", "busy"])
def test_debates_and_the_exit_wait_for_no_collector(serve: Start, collector: Collector, trouble: str) -> None:
    served = serve(**break_collector(collector, trouble))
    served.hello()
    for question in ("Ship it?", "Keep it?"):
        asked = served.call("start_debate", **(ASKED | {"question": question}))
        assert asked["status"] == "concluded"
    code, told, seconds = end(served)
    assert code == 0
    assert seconds < FLUSH_SECONDS + SLACK
    assert "Traceback" not in told
    assert len(told.splitlines()) <= 2  # for traces, for metrics
    assert all("does not take" in line for line in told.splitlines())


def test_what_was_collected_is_sent_at_a_signal(serve: Start, collector: Collector) -> None:
    environ = collector.environ | {"OTEL_BSP_SCHEDULE_DELAY": "60000", "OTEL_METRIC_EXPORT_INTERVAL": "60000"}
    served = serve(**environ, COUNTERPOINT_MODELS="scripted")
    served.hello()
    served.call("start_debate", **ASKED)
    assert collector.bodies == []
    served.child.send_signal(signal.SIGTERM)
    served.child.wait(timeout=PATIENCE)
    assert collector.find_spans("invoke_workflow debate")
    assert collector.find_points("gen_ai.workflow.duration")


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({"OTEL_TRACES_EXPORTER": "none"}, {"/v1/metrics"}),
        ({"OTEL_METRICS_EXPORTER": "none"}, {"/v1/traces"}),
        ({"OTEL_SDK_DISABLED": "true"}, set[str]()),
    ],
    ids=str,
)
def test_the_standard_variables_turn_signals_off(
    serve: Start, collector: Collector, more: dict[str, str], sent: set[str]
) -> None:
    served = serve(**collector.environ, **more, COUNTERPOINT_MODELS="scripted")
    served.hello()
    assert served.call("start_debate", **ASKED)["status"] == "concluded"
    assert served.end() == (0, "")
    assert {path for path, _ in collector.bodies} == sent


def end(served: Served) -> tuple[int, str, float]:
    """(exit code, stderr, seconds from the end of the input)."""
    started = time.monotonic()
    code, told = served.end()
    return code, told, time.monotonic() - started
