"""`/metrics` of a server over HTTP: what Prometheus reads, and who may read it."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from prometheus_client.parser import text_string_to_metric_families

from tests.support.client_calls import call
from tests.support.collector import run_collector
from tests.support.http_servers import HttpProcess
from tests.support.mcp_debates import run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N15")]

TOKEN = "a-token-for-metrics-alone"


async def scrape(process: HttpProcess, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient() as client:
        return await client.get(f"{process.root}/metrics", headers=headers)


def read_samples(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """By name: (labels, value)."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


async def test_what_prometheus_reads_of_a_debate(start: Any) -> None:
    process = start(COUNTERPOINT_MODELS="scripted?delay=0.01")
    async with Client(process.address) as client:
        step = await run_debate(client)
        assert step["status"] == "concluded"
        usage = (await call(client, "read_debate", debate_id=step["debate_id"], view="usage"))["data"]
        await client.call_tool("a tool of Anna's", {})
    response = await scrape(process)
    assert response.headers["content-type"].startswith("text/plain")
    assert step["debate_id"] not in response.text

    samples = read_samples(response.text)
    labels = {"gen_ai_operation_name": "chat", "gen_ai_provider_name": "scripted"}
    labels["gen_ai_request_model"] = "scripted"
    tokens = {each["gen_ai_token_type"]: sum_ for each, sum_ in samples["gen_ai_client_token_usage_sum"]}
    assert tokens == {kind: usage["total"][f"{kind}_tokens"] for kind in ("input", "output")}
    [(found, count)] = samples["gen_ai_client_operation_duration_seconds_count"]
    assert (found, count) == (labels, usage["total"]["calls"])
    assert [count for _, count in samples["gen_ai_workflow_duration_seconds_count"]] == [1]
    assert samples["counterpoint_debates_running"] == [({}, 0)]
    assert "counterpoint_cost_USD_total" in samples
    tools = {
        each.get("gen_ai_tool_name") for each, _ in samples["mcp_server_operation_duration_seconds_count"]
    }
    assert {"start_debate", "_OTHER"} <= tools
    assert "Anna" not in response.text


async def test_metrics_need_their_token_where_one_is_set(start: Any) -> None:
    process = start(COUNTERPOINT_METRICS_TOKEN=TOKEN)
    for headers in ({}, {"authorization": TOKEN}, {"authorization": f"Bearer {TOKEN}x"}):
        refused = await scrape(process, **headers)
        assert refused.status_code == 401
        assert TOKEN not in refused.text
    assert (await scrape(process, authorization=f"Bearer {TOKEN}")).status_code == 200
    assert (await scrape(process, authorization=f"Bearer {TOKEN}", host="10.0.0.7:80")).status_code == 200
    process.tell()
    assert TOKEN not in process.end()[1]


async def test_without_a_token_nobody_reads_them_through_a_proxy(start: Any) -> None:
    process = start()
    assert (await scrape(process)).status_code == 200
    assert (await scrape(process, **{"x-forwarded-for": "203.0.113.7"})).status_code == 403
    assert (await scrape(process, host="evil.example")).status_code == 421


async def test_a_collector_is_sent_the_same_metrics(start: Any) -> None:
    with run_collector() as collector:
        process = start(**collector.environ)
        async with Client(process.address) as client:
            assert (await run_debate(client))["status"] == "concluded"
        read = read_samples((await scrape(process)).text)["gen_ai_client_token_usage_sum"]
        process.tell()
        process.end()
    sent = collector.find_points("gen_ai.client.token.usage")
    assert sorted(value for _, value in sent) == sorted(value for _, value in read)
    assert collector.find_spans("invoke_workflow debate")
    assert {
        labels["network.transport"] for labels, _ in collector.find_points("mcp.server.operation.duration")
    } == {"tcp"}


async def test_without_the_extra_the_server_runs_and_says_what_is_missing(start: Any, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys; sys.modules['opentelemetry.sdk'] = None\n", "utf-8"
    )
    process = start(PYTHONPATH=str(tmp_path), OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    refused = await scrape(process)
    assert refused.status_code == 501
    assert "counterpoint-mcp[otel]" in refused.text
    async with Client(process.address) as client:
        assert (await run_debate(client))["status"] == "concluded"
    process.tell()
    assert "A collector is set" in process.end()[1]
