"""The trace of a debate, from the client's request to the requests to models, as a collector receives it."""

import os
import sys
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from tests.support.collector import Collector, ReceivedSpan, run_collector
from tests.support.processes.served import Served, Start
from tests.support.provider.stub import Stub

pytestmark = [pytest.mark.requirement("N15")]

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
META = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
DEBATE, TOOL = "invoke_workflow debate", "tools/call start_debate"
ASKED: dict[str, Any] = {
    "question": "Ship it?",
    "format": "verdict",
    "run": True,
    "wait_seconds": 20,
    "options": {"framing": False, "judges": {"both_orders": False}},
}
INTERNAL, SERVER, CLIENT, ERROR = 1, 2, 3, 2


def begin(served: Served, **more: Any) -> dict[str, Any]:
    served.meta = {"_meta": META}
    return served.call("start_debate", **ASKED, **more)


def chats(collector: Collector) -> list[ReceivedSpan]:
    return sorted((span for span in collector.spans if span.name.startswith("chat ")), key=lambda s: s.start)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Collector, dict[str, Any]]:
    """What a collector received of a debate, and what the call that began it returned."""
    database = tmp_path_factory.mktemp("traced") / "debates.db"
    with run_collector() as collector:
        served = Served(str(database), **collector.environ, COUNTERPOINT_MODELS="scripted")
        try:
            served.hello()
            asked = begin(served)
            assert (asked["status"], served.end()[0]) == ("concluded", 0)
        finally:
            served.kill()
    return collector, asked


def test_a_debate_is_a_root_linked_to_the_call_with_its_rounds_and_requests_below(
    traced: tuple[Collector, dict[str, Any]],
) -> None:
    collector, asked = traced
    [tool], [root] = collector.find_spans(TOOL), collector.find_spans(DEBATE)
    assert (tool.trace_id, tool.parent_id, tool.kind) == (TRACE, PARENT, SERVER)
    assert (root.parent_id, root.kind, root.links) == ("", INTERNAL, ((TRACE, tool.span_id),))
    assert root.trace_id != TRACE
    assert root.attributes["gen_ai.conversation.id"] == asked["debate_id"]
    assert root.attributes["gen_ai.operation.name"] == "invoke_workflow"
    assert root.attributes["counterpoint.status"] == "concluded"
    assert root.attributes["counterpoint.format"] == "verdict"

    rounds = sorted(collector.find_children(root), key=lambda span: span.start)
    assert [span.name for span in rounds] == [f"round {number}" for number in range(1, len(rounds) + 1)]
    assert rounds[-1].attributes["counterpoint.phase"] == "verdict"
    below = [span for number in rounds for span in collector.find_children(number)]
    assert sorted(span.span_id for span in below) == sorted(span.span_id for span in chats(collector))
    assert {span.name for span in below} == {"chat scripted"}
    for span in (*rounds, *below):
        assert (span.trace_id, span.scope) == (root.trace_id, "counterpoint")
        assert root.start <= span.start <= span.end <= root.end


def test_what_a_span_says_of_a_request(traced: tuple[Collector, dict[str, Any]]) -> None:
    collector, asked = traced
    first, last = chats(collector)[0], chats(collector)[-1]
    assert first.kind == CLIENT
    took = {key: first.attributes.pop(f"gen_ai.usage.{key}_tokens") for key in ("input", "output")}
    assert min(took.values()) > 0
    assert first.attributes == {
        "counterpoint.cost_usd": 0,
        "counterpoint.round": 1,
        "counterpoint.task": "argument",
        "gen_ai.agent.name": "debater 1",
        "gen_ai.conversation.id": asked["debate_id"],
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.max_tokens": first.attributes["gen_ai.request.max_tokens"],
        "gen_ai.request.model": "scripted",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.response.model": "scripted",
        "gen_ai.usage.cache_read.input_tokens": 0,
    }
    assert last.attributes["gen_ai.agent.name"] == "judge 1"


@pytest.mark.anyio
async def test_each_request_to_a_provider_is_a_span_also_one_that_is_repeated(
    database: str, collector: Collector
) -> None:
    async with Stub() as stub:
        stub.queue.extend(["500", "", "", "400"])
        environ = {
            "COUNTERPOINT_DB": database,
            "COUNTERPOINT_MODELS": "openai/fine",
            "OPENAI_API_KEY": "sk-0123456789",
            "OPENAI_API_BASE": stub.url,
            "COUNTERPOINT_PRICES": '{"openai/fine": {"input": 1000, "output": 2000}}',
        }
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "counterpoint"], env=os.environ | environ | collector.environ
        )
        async with Client(stdio_client(parameters)) as client:
            asked = await client.call_tool("start_debate", ASKED, meta=META)  # type: ignore[arg-type]
            assert asked.structured_content
        requests = len(stub.chat_requests)

    found = chats(collector)
    assert len(found) == requests
    assert {span.name for span in found} == {"chat openai/fine"}
    assert {span.attributes["gen_ai.provider.name"] for span in found} == {"openai"}
    failed = [span for span in found if span.status == ERROR]
    assert [span.attributes["error.type"] for span in failed] == ["unavailable", "bad_request"]
    good = [span for span in found if span.status != ERROR]
    assert all(span.attributes["gen_ai.response.id"] for span in good)
    assert {span.attributes["gen_ai.response.model"] for span in good} == {"openai/fine"}
    assert all(span.attributes["gen_ai.usage.cache_read.input_tokens"] > 0 for span in good)
    [tool] = collector.find_spans(TOOL)
    assert (tool.trace_id, tool.parent_id) == (TRACE, PARENT)
    costs = [span.attributes["counterpoint.cost_usd"] for span in good]
    [(_, cost)] = collector.find_points("counterpoint.cost")
    assert min(costs) > 0
    assert cost == pytest.approx(sum(costs))


def test_who_goes_on_with_a_debate_of_a_killed_process_names_it_and_says_that_it_is_continued(
    serve: Start, collector: Collector
) -> None:
    environ = collector.environ | {"COUNTERPOINT_MODELS": "scripted?delay=0.15"}
    served = serve(**environ)
    served.hello()
    served.meta = {"_meta": META}
    asked = served.call("start_debate", **(ASKED | {"wait_seconds": 0}))
    before = collector.wait_for_span("chat scripted")
    served.kill()

    later = serve(**environ)  # nobody asks it for this debate
    later.hello()
    [root] = collector.wait_for_span(DEBATE)
    later.end()
    debates = {span.attributes["gen_ai.conversation.id"] for span in (*before, root)}
    assert debates == {asked["debate_id"]}
    assert root.attributes["counterpoint.continued"]
    assert root.attributes["counterpoint.status"] == "concluded"
    assert root.trace_id not in (TRACE, before[0].trace_id)
