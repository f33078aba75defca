"""A server in a child process, as a fixture."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support.patience import PATIENCE, START_PATIENCE

COMMAND = [sys.executable, "-m", "counterpoint"]
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
        # Else a test that hears nothing would wait for ever.
        self.patience = threading.Timer(START_PATIENCE + PATIENCE, self.child.kill)
        self.patience.daemon = True
        self.patience.start()
        self.number = 0
        self.meta: dict[str, Any] = {}  # what the client's era wants in every call
        self.lines: list[str] = []  # everything on stdout

    def send(self, method: str, **params: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            self.number += 1
            message["id"] = self.number
        self.write(json.dumps(message))

    def write(self, line: str) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()

    def next(self) -> dict[str, Any]:
        """The next message, whatever it is."""
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        assert line, f"no answer, but: {self.child.communicate()}"
        return dict(json.loads(line))

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
        self.send("tools/call", name=tool, arguments=arguments, **self.meta)
        return dict(self.answer()["structuredContent"])

    def end(self) -> tuple[int, str]:
        """(exit code, stderr), waiting for it."""
        out, told = self.child.communicate(timeout=PATIENCE)
        self.lines += out.splitlines()
        return self.child.returncode, told

    def entries(self) -> int:
        """How many entries a database has that is whole."""
        with closing(sqlite3.connect(self.database)) as db:
            assert db.execute("pragma integrity_check").fetchone() == ("ok",)
            return int(db.execute("select count(*) from journal").fetchone()[0])

    def kill(self) -> None:
        self.patience.cancel()
        self.child.kill()
        self.child.communicate(timeout=PATIENCE)


@pytest.fixture
def serve(database: str) -> Iterator[Start]:
    started: list[Served] = []

    def start(*arguments: str, **environ: str) -> Served:
        started.append(Served(database, *arguments, **environ))
        return started[-1]

    yield start
    for served in started:
        served.kill()
