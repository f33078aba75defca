"""A key that a provider repeats, in a reply or in an error: what leaves the process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from tests.support.client_calls import call, read_resource
from tests.support.patience import PATIENCE
from tests.support.provider.stub import Stub

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N7")]

OWN_AUTH = 'plain words/with "quotes"'
KEY = "an-ordinary-looking-value"
SPELLINGS = (OWN_AUTH, quote(OWN_AUTH, safe=""), json.dumps(OWN_AUTH)[1:-1], KEY)


def run_command(environ: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "counterpoint", *arguments]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=20)
    return done.stdout + done.stderr


async def test_a_key_that_a_provider_repeats_leaves_the_process_nowhere(
    database: str, tmp_path: Path
) -> None:
    echo = f" You sent {OWN_AUTH}, {json.dumps(OWN_AUTH)}, {quote(OWN_AUTH, safe='')} and Bearer {KEY}."
    seen, log = list[object](), tmp_path / "log"
    async with Stub(echo=echo, echo_key=True, retry_after="0.01") as stub:
        stub.queue.extend(["500", "", "", "", "400"])
        stub.reported_model = KEY
        environ = os.environ | {
            "COUNTERPOINT_DB": database,
            "COUNTERPOINT_MODELS": "openai/fine",
            "COUNTERPOINT_LOG_LEVEL": "DEBUG",
            "LITELLM_LOG": "DEBUG",
            "MY_PROVIDER_AUTH": OWN_AUTH,
            "OPENAI_API_KEY": KEY,
            "OPENAI_API_BASE": stub.url,
        }
        server = StdioServerParameters(command=sys.executable, args=["-m", "counterpoint"], env=environ)
        with log.open("w", encoding="utf-8") as errlog:
            async with Client(stdio_client(server, errlog=errlog)) as client:
                question = f"Ship it with {OWN_AUTH}?"
                seats = [{"name": name, "stance": name} for name in ("Ada", "Ben", "Cy")]
                asked = {"debaters": seats, "run": True, "options": {"ballots": "none"}, "wait_seconds": 30}
                step = await call(client, "start_debate", question=question, **asked)
                this = step["debate_id"]
                assert step["status"] == "concluded"
                seen.append(await call(client, "get_verdict", debate_id=this))
                views = ("transcript", "verdict", "state", "events", "analysis")
                seen += [await call(client, "read_debate", debate_id=this, view=view) for view in views]
                seen.append(await read_resource(client, f"debate://{this}/transcript"))
                unknown = await client.call_tool("read_debate", {"debate_id": KEY})
                seen.append(unknown.model_dump_json())

    assert any(chat.headers["authorization"] == f"Bearer {KEY}" for chat in stub.chat_requests)
    for arguments in (("show", this), ("export", this, "--as", "json"), ("list",), ("show", KEY[:3])):
        with anyio.fail_after(PATIENCE):
            seen.append(await anyio.to_thread.run_sync(run_quietly, environ, arguments))
    texts = [json.dumps(each, ensure_ascii=False) if isinstance(each, dict) else str(each) for each in seen]
    texts.append(log.read_text(encoding="utf-8"))
    texts += [
        path.read_bytes().decode("utf-8", "replace") for path in Path(database).parent.glob("debates.db*")
    ]
    assert [
        (text[max(0, text.find(s) - 80) :][:160], s) for text in texts for s in SPELLINGS if s in text
    ] == []
    assert "[secret]" in texts[0]


def run_quietly(environ: dict[str, str], arguments: tuple[str, ...]) -> str:
    try:
        return run_command(environ, *arguments)
    except subprocess.CalledProcessError as error:
        return str(error.stdout) + str(error.stderr)
