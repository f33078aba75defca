"""The server as a process: what it writes, and how it ends."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals to send")

COMMAND = [sys.executable, "-m", "server"]
Start = Callable[..., "Served"]


class Served:
    """A server in a child process, spoken to in the protocol's own lines."""

    def __init__(self, database: str, *arguments: str, **environ: str) -> None:
        self.database = database
        self.child = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"COUNTERPOINT_DB": database} | environ,
        )
        self.number = 0
        self.lines: list[str] = []  # everything on stdout

    def send(self, method: str, **params: Any) -> None:
        assert self.child.stdin is not None
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            self.number += 1
            message["id"] = self.number
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """To the last request; other lines are kept, too."""
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self.lines.append(line)
            message = json.loads(line)
            if message.get("id") == self.number:
                return dict(message["result"])
        raise AssertionError(f"no answer, but: {self.child.communicate()}")

    def hello(self) -> None:
        client = {"name": "test", "version": "1"}
        self.send("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        assert self.answer()["serverInfo"]["name"] == "counterpoint"
        self.send("notifications/initialized")

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.send("tools/call", name=tool, arguments=arguments)
        return dict(self.answer()["structuredContent"])

    def end(self) -> tuple[int, str]:
        """(exit code, stderr), waiting for it."""
        out, told = self.child.communicate(timeout=20)
        self.lines += out.splitlines()
        return self.child.returncode, told

    def entries(self) -> int:
        """How many entries a database has that is whole."""
        with closing(sqlite3.connect(self.database)) as db:
            assert db.execute("pragma integrity_check").fetchone() == ("ok",)
            return int(db.execute("select count(*) from journal").fetchone()[0])


@pytest.fixture
def serve(database: str) -> Iterator[Start]:
    started: list[Served] = []

    def start(*arguments: str, **environ: str) -> Served:
        started.append(Served(database, *arguments, **environ))
        return started[-1]

    yield start
    for served in started:
        served.child.kill()
        served.child.communicate(timeout=20)


@pytest.mark.requirement("M4")
def test_closing_stdin_ends_the_server_in_peace(serve: Start) -> None:
    served = serve()
    served.hello()

    assert served.end() == (0, "")


@pytest.mark.requirement("M4")
@pytest.mark.parametrize("arguments", [("serve",), ("--db", "{database}", "serve")])
def test_serve_is_what_the_command_alone_does(
    serve: Start, database: str, arguments: tuple[str, ...]
) -> None:
    served = serve(*(word.format(database=database) for word in arguments))
    served.hello()

    assert served.end() == (0, "")


@posix
@pytest.mark.requirement("M3", "N8")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_ends_the_server_though_stdin_is_open_and_a_debate_runs(
    serve: Start, name: str, code: int
) -> None:
    served = serve()
    served.hello()
    arguments = {"question": "Tea?", "models": ["scripted?delay=0.2"], "format": "verdict", "run": True}
    opened = served.call("start_debate", **arguments, wait_seconds=0)
    while not served.call("read_debate", debate_id=opened["debate_id"])["data"]["turns"]:
        served.call("get_verdict", debate_id=opened["debate_id"], wait_seconds=1)
    before = served.entries()
    served.send("tools/call", name="get_verdict", arguments={"debate_id": opened["debate_id"]})

    served.child.send_signal(getattr(signal, name))
    served.child.wait(timeout=10)

    assert served.end()[0] == code
    assert served.entries() >= before > 2
    assert not Path(served.database + "-wal").exists()  # it was closed, not dropped
    command = [*COMMAND, "--db", served.database, "debate", "--continue", opened["debate_id"], "--json"]
    done = subprocess.run(command, check=True, capture_output=True, timeout=20)
    turns = json.loads(done.stdout)["result"]["transcript"]
    assert len({(turn["round"], turn["agent"]) for turn in turns}) == len(turns) == 4


@pytest.mark.requirement("M4")
def test_stdout_carries_the_protocol_and_nothing_else(serve: Start) -> None:
    served = serve(COUNTERPOINT_LOG_LEVEL="DEBUG")
    served.hello()
    told = served.call("start_debate", question="Tea?", models=["scripted"], run=True, wait_seconds=10)

    code, _ = served.end()

    assert (told["status"], code) == ("concluded", 0)
    assert {json.loads(line)["jsonrpc"] for line in served.lines} == {"2.0"}


@pytest.mark.requirement("M4")
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("COUNTERPOINT_DB", f"{sys.executable}/x.db"),
        ("COUNTERPOINT_LOG_LEVEL", "loud"),
        ("COUNTERPOINT_CONFIG", "/nowhere/x.toml"),
    ],
)
def test_what_is_unusable_is_said_in_one_line_though_stdin_is_open(
    serve: Start, variable: str, value: str
) -> None:
    served = serve(**{variable: value})
    served.child.wait(timeout=20)

    code, told = served.end()

    assert code == 1
    assert told.startswith("counterpoint: ")
    assert len(told.splitlines()) == 1
    assert served.lines == []


@pytest.mark.requirement("M4")
def test_a_server_starts_without_anything_it_does_not_need() -> None:
    code = "import sys, server.serving; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=20
    )

    assert not {"litellm", "xllamacpp", "server.cli", "server.terminal"} & set(done.stdout.split())
