"""Metrics as a collector receives them, and the names in them."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from opentelemetry.sdk.metrics import MeterProvider

from server.telemetry import OTHER
from server.telemetry.labels import (
    MAX_MODELS,
    ModelLabels,
    build_finish_reason,
    build_model_name,
    build_name,
    build_provider_name,
)
from server.telemetry.prometheus import PrometheusPage
from tests.engine.crashes.test_recovery import left_behind
from tests.support.collector import Collector
from tests.support.processes.served import Start
from tests.support.raw_sql import run_raw
from tests.support.simulation import build_request

pytestmark = pytest.mark.requirement("N15")

HOOKS = """
hooks:
  - name: tell
    on: debate_end
    do:
      - webhook: {url: "http://127.0.0.1:9/", secret_env: HOOK_SECRET}
allow: {private: ["127.0.0.1:9"]}
"""


def test_the_queue_of_hooks_and_running_debates_are_counted(
    serve: Start, collector: Collector, tmp_path: Path
) -> None:
    hooks = tmp_path / "hooks.yaml"
    hooks.write_text(HOOKS, "utf-8")
    served = serve(
        **collector.environ,
        COUNTERPOINT_MODELS="scripted",
        COUNTERPOINT_HOOKS=str(hooks),
        HOOK_SECRET="some words nobody knows",
    )
    served.hello()
    asked = served.call("start_debate", question="Ship it?", format="verdict", run=True, wait_seconds=20)
    assert asked["status"] == "concluded"
    with collector.arrived:
        assert collector.arrived.wait_for(
            lambda: [value for _, value in collector.find_points("counterpoint.hooks.queue")] == [1], 20
        )
    assert served.end()[0] == 0
    assert collector.find_points("counterpoint.debates.running") == [({}, 0)]
    [(labels, seconds)] = collector.find_points("gen_ai.workflow.duration")
    assert seconds > 0
    assert labels == {
        "counterpoint.format": "verdict",
        "counterpoint.status": "concluded",
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "debate",
    }


def test_debates_that_no_process_has_run_for_a_minute_are_counted(
    serve: Start, collector: Collector, database: str
) -> None:
    anyio.run(left_behind, database, build_request(question="Left behind?", run=True))
    run_raw(
        database, "update stream set changed_at = '2026-01-01T00:00:00.000Z'"
    )  # no server goes on with it
    served = serve(**collector.environ, COUNTERPOINT_MODELS="scripted")
    served.hello()
    served.call("find_debates")
    with collector.arrived:
        assert collector.arrived.wait_for(
            lambda: [value for _, value in collector.find_points("counterpoint.debates.stuck")] == [1], 20
        )


def test_faults_are_counted_by_their_causes(serve: Start, collector: Collector) -> None:
    served = serve(**collector.environ, COUNTERPOINT_MODELS="faulty?model=scripted&failure=1&seed=3")
    served.hello()
    served.call("start_debate", question="Ship it?", format="verdict", run=True, wait_seconds=20)
    served.end()
    found = collector.find_points("gen_ai.client.operation.duration")
    assert {labels["gen_ai.request.model"] for labels, _ in found} == {"scripted"}
    causes = {labels["error.type"] for labels, _ in found}
    assert causes <= {"rate_limited", "unavailable", "unauthorized", "bad_request", "refused", "unreadable"}


def test_two_that_read_at_once_each_get_every_metric_once() -> None:
    page = PrometheusPage()
    meter = MeterProvider([page.reader], shutdown_on_exit=False).get_meter("test")
    for number in range(100):
        meter.create_counter(f"counter.{number}").add(number)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(0.00001)
    try:
        with ThreadPoolExecutor(8) as threads:
            read = list(threads.map(lambda _: page.render().decode(), range(1000)))
    finally:
        sys.setswitchinterval(usual)
    for text in read:
        samples = [line.split("{")[0].split()[0] for line in text.splitlines() if line.startswith("counter_")]
        assert sorted(samples) == sorted({*samples})
        assert len(samples) == 100


def test_names_of_models_show_no_parameters_and_no_texts() -> None:
    assert build_model_name("litellm/openai/gpt-x") == "openai/gpt-x"
    assert build_model_name("scripted?chars=10&delay=0.1") == "scripted"
    assert build_model_name("faulty?model=scripted&failure=0.1") == "scripted"
    assert build_model_name("what do you think?") == OTHER
    assert build_name("sk-0123456789abcdef") == ""
    assert build_name("x" * 201) == ""


def test_providers_have_the_names_of_the_conventions() -> None:
    names = ("gemini", "xai", "openai", "some words")
    assert [build_provider_name(name) for name in names] == ["gcp.gemini", "x_ai", "openai", OTHER]
    assert [build_finish_reason(reason) for reason in ("stop", "It said no.")] == ["stop", OTHER]


def test_callers_cannot_make_metrics_of_any_number() -> None:
    labels = ModelLabels()
    names = [f"openai/{number}" for number in range(MAX_MODELS + 5)]
    assert [labels.find(name) for name in names] == [*names[:MAX_MODELS], *[OTHER] * 5]
    assert labels.find(names[0]) == names[0]
