"""The server as a process: what it writes, and how it ends; and how a debate at the terminal ends."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.mcp.stdio import serve_stdio
from tests.support.patience import PATIENCE
from tests.support.processes.served import COMMAND, Served, Start
from tests.support.servers import Cli

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals to send")


@posix
@pytest.mark.requirement("M3", "N8")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_signal_ends_a_server_that_runs_a_debate(serve: Start, name: str, code: int) -> None:
    served = serve()
    served.hello()
    arguments = {"question": "Tea?", "models": ["scripted?delay=0.2"], "format": "verdict", "run": True}
    opened = served.call("start_debate", **arguments, wait_seconds=0)
    while not served.call("read_debate", debate_id=opened["debate_id"], view="result")["data"]["transcript"]:
        served.call("get_verdict", debate_id=opened["debate_id"], wait_seconds=1)
    before = served.entries()
    served.send("tools/call", name="get_verdict", arguments={"debate_id": opened["debate_id"]})

    served.child.send_signal(getattr(signal, name))
    served.child.wait(timeout=PATIENCE)

    assert served.end()[0] == code
    assert served.entries() >= before > 2
    assert not Path(served.database + "-wal").exists()  # it was closed, not dropped


@posix
@pytest.mark.requirement("M3", "N8")
def test_after_a_signal_continue_says_only_what_is_missing(cli: Cli) -> None:
    debate = [*COMMAND, "debate", "Tabs?", "--no-framing", "--format", "verdict"]
    debate += ["--model", "scripted?delay=0.3"]
    with subprocess.Popen(debate, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert any('Proponent ("for")' in line for line in child.stdout)
        child.send_signal(signal.SIGTERM)
        _, said = child.communicate(timeout=PATIENCE)
    found = re.search(r"counterpoint debate --continue (\w+)", said)
    assert found, said
    assert child.returncode == 143

    def told(*arguments: str) -> dict[str, Any]:
        result = cli(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return dict(json.loads(result.stdout))

    kept = told("show", found[1])["turns"]
    turns = told("debate", "--continue", found[1])["result"]["transcript"]

    assert 1 <= len(kept) < 4
    assert turns[: len(kept)] == kept
    both = ("Proponent", "Opponent")
    assert [(turn["round"], turn["agent"]) for turn in turns] == [(n, who) for n in (1, 2) for who in both]


@pytest.mark.requirement("M4")
def test_stdout_carries_the_protocol_and_nothing_else(serve: Start) -> None:
    served = serve(COUNTERPOINT_LOG_LEVEL="DEBUG")
    served.hello()
    told = served.call("start_debate", question="Tea?", models=["scripted"], run=True, wait_seconds=10)

    code, _ = served.end()

    assert (told["status"], code) == ("concluded", 0)
    assert {json.loads(line)["jsonrpc"] for line in served.lines} == {"2.0"}


@pytest.mark.requirement("M4")
def test_an_unusable_database_is_one_line_though_stdin_is_open(serve: Start) -> None:
    served = serve(COUNTERPOINT_DB=f"{sys.executable}/x.db")
    served.child.wait(timeout=PATIENCE)

    code, told = served.end()

    assert (code, served.lines) == (1, [])
    assert re.fullmatch(r"counterpoint: .*\n", told)


@pytest.mark.requirement("M4")
@pytest.mark.parametrize(
    ("variable", "value"), [("COUNTERPOINT_LOG_LEVEL", "loud"), ("COUNTERPOINT_CONFIG", "/nowhere/x.toml")]
)
def test_an_unusable_setting_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)

    assert serve_stdio() == 1

    out, told = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"counterpoint: .*\n", told)


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module", params=["legacy", "modern"])
def greeted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that has a client of either era, and that ends well after these tests."""
    served = Served(str(tmp_path_factory.mktemp("greeted") / "debates.db"))
    if request.param == "legacy":
        served.hello()
    else:
        served.meta = {"_meta": MODERN}
        served.send("tools/list", **served.meta)
        assert served.answer()["tools"]
    yield served
    ended = served.end()
    served.kill()
    assert ended == (0, "")


def tool_call(served: Served, arguments: str) -> str:
    """The line of a call of start_debate, with these very arguments in it."""
    params = json.dumps({"name": "start_debate", **served.meta})[:-1]
    return (
        f'{{"jsonrpc": "2.0", "id": "mine", "method": "tools/call", "params": {params}, '
        f'"arguments": {{"models": ["scripted"], "question": {arguments}}}}}}}'
    )


@pytest.mark.requirement("M4")
def test_a_request_that_cannot_be_read_is_answered_with_an_error(greeted: Served) -> None:
    for question, request_id, code, why in (
        ("[" * 500 + "]" * 500, "mine", -32600, "recursion limit"),
        ("1" * 5000, None, -32700, "number out of range"),
        ('"half a line', None, -32700, "Invalid JSON"),
    ):
        greeted.write(tool_call(greeted, question))

        answer = greeted.next()
        assert (answer["id"], answer["error"]["code"]) == (request_id, code), question[:40]
        assert why in answer["error"]["message"]
    found = greeted.call("find_debates", query="nonsense")
    assert found["debates"] == []


UNREADABLE_LINES: list[tuple[str, object, int]] = [
    ("hello", None, -32700),
    ('"' * 3, None, -32700),
    ("]]}", None, -32700),
    ('{"id": 7, "method": "ping", nonsense}', None, -32700),
    (
        '{"id": 7, "result": {"text": ' + "[" * 500 + "]" * 500 + "}}",
        None,
        -32600,
    ),  # an answer to one of ours
    ("[]", None, -32600),
    ("7", None, -32600),
    ('{"id": 7}', 7, -32600),
    ('{"jsonrpc": "2.0", "id": "x", "method": "ping", "params": [1]}', "x", -32600),
    ('{"jsonrpc": "2.0", "id": true, "method": 7}', None, -32600),
    (r'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": ["\ud800"]}', 7, -32600),
]


@pytest.mark.requirement("M4")
def test_no_line_is_passed_over_in_silence(serve: Start) -> None:
    served = serve("serve")
    served.write("")  # but for a blank one
    for line, request_id, code in UNREADABLE_LINES:
        served.write(line)

        answer = served.next()
        assert (answer["id"], answer["error"]["code"]) == (request_id, code), line[:60]
    served.hello()
    assert served.end() == (0, "")


@pytest.mark.requirement("M4")
def test_what_libraries_tell_of_a_debate_is_in_no_log() -> None:
    told = """
import logging
from server.startup import log_to_stderr
from server.settings import Settings

log_to_stderr(Settings(log_level="DEBUG"))
names = ("openai._base_client", "httpx", "httpcore.connection", "aiosqlite", "LiteLLM")
for name in (*names, "server.engine.debates"):
    logging.getLogger(name).debug("a secret")
    logging.getLogger(name).warning("a warning")
"""
    done = subprocess.run(
        [sys.executable, "-c", told], check=True, capture_output=True, text=True, timeout=PATIENCE
    )

    lines = done.stderr.splitlines()
    assert [line for line in lines if "secret" in line] == ["DEBUG server.engine.debates: a secret"]
    assert sum("a warning" in line for line in lines) == 6
