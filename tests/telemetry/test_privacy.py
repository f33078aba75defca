"""What telemetry never says: no text of a prompt, an answer or an error, no name that a caller chose, and no key."""

import json
import os
import sys
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from tests.support.collector import Collector
from tests.support.patience import PATIENCE
from tests.support.provider.stub import Stub

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N15", "N7")]

CANARY = "Canary-7f3a"
KEY = "sk-canary-key-0123456789"
PHASES = [{"name": CANARY, "instruction": CANARY}, {"name": "verdict"}]
FORMS = (CANARY, CANARY.lower(), CANARY.encode("utf-16-le").decode("latin-1"), KEY, "canary")


def build_debate() -> dict[str, Any]:
    """A debate with the canary in every text that a caller writes."""
    seats = [
        {"name": f"{CANARY} {name}", "stance": f"{CANARY} {name}", "role": CANARY, "system_prompt": CANARY}
        for name in ("Ada", "Ben")
    ]
    return {
        "question": f"Ship {CANARY}?",
        "debaters": seats,
        "run": True,
        "wait_seconds": 30,
        "options": {
            "tags": [CANARY.lower()],
            "instructions": CANARY,
            "judges": {"prompt": CANARY},
            "phases": PHASES,
        },
        "documents": [{"title": CANARY, "text": f"{CANARY} says so. " * 20}],
    }


async def test_no_byte_that_is_sent_holds_a_text_or_a_key(database: str, collector: Collector) -> None:
    async with Stub(echo=f" {CANARY} {KEY}", echo_key=True, retry_after="0.01") as stub:
        stub.queue.extend(["500", "", "400", "filtered", "401", "html", "malformed"])
        environ = {
            "COUNTERPOINT_DB": database,
            "COUNTERPOINT_MODELS": "openai/fine,faulty?model=openai%2Ffine&failure=0.3",
            "OPENAI_API_KEY": KEY,
            "OPENAI_API_BASE": stub.url,
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {KEY}",
        }
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "counterpoint"], env=os.environ | environ | collector.environ
        )
        with anyio.fail_after(PATIENCE):
            async with Client(stdio_client(parameters)) as client:
                await hold_debates(client, stub)
                await misuse(client)

    assert len(collector.find_spans("invoke_workflow debate")) >= 2
    assert any(span.status == 2 for span in collector.spans)
    for path, body in collector.bodies:
        assert [form for form in FORMS if form.encode() in body or form in body.decode("latin-1")] == [], path


async def hold_debates(client: Client, stub: Stub) -> None:
    asked = await client.call_tool("start_debate", build_debate())
    assert not asked.is_error, asked.content
    stub.reported_model = f"{CANARY} {KEY}"
    again = await client.call_tool("start_debate", build_debate() | {"again": True})
    assert not again.is_error, again.content
    debate_id = json.loads(json.dumps(again.structured_content))["debate_id"]
    await client.call_tool(
        "intervene", {"debate_id": debate_id, "action": "inject", "text": CANARY, "reason": CANARY}
    )
    await client.call_tool("read_debate", {"debate_id": CANARY, "view": CANARY})


async def misuse(client: Client) -> None:
    """Names and methods that clients make up, and errors that repeat them."""
    await call_quietly(client.call_tool(f"{CANARY}_tool", {CANARY: CANARY}))
    await call_quietly(client.get_prompt(CANARY, {CANARY: CANARY}))
    await call_quietly(client.read_resource(f"debate://{CANARY}/transcript"))
    await call_quietly(client.call_tool("start_debate", {"question": "q?", "format": CANARY}))
    await call_quietly(client.call_tool("start_debate", {"question": "q?", "models": [f"{CANARY} {CANARY}"]}))
    await call_quietly(client.call_tool("start_debate", {"question": [CANARY]}))


async def call_quietly(call: Any) -> None:
    try:
        await call
    except MCPError:
        return
