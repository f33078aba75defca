"""`counterpoint watch`: a debate of another process, printed as it is recorded."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.support.client_calls import call
from tests.support.patience import PATIENCE
from tests.support.processes.gated_servers import open_call_gate, start_server_process
from tests.support.raw_sql import run_raw
from tests.support.servers import Cli

pytestmark = [pytest.mark.requirement("D26")]

ASKED = {"question": "Ship it?", "run": True, "wait_seconds": 0, "options": {"framing": False}}


class Watcher:
    """A `counterpoint watch --json` that runs."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdout
        self.process = process
        self.lines = BufferedByteReceiveStream(process.stdout)

    async def read_entry(self) -> dict[str, Any]:
        with anyio.fail_after(PATIENCE):
            return dict(json.loads(await self.lines.receive_until(b"\n", 10**6)))

    async def read_through(self, kind: str) -> list[dict[str, Any]]:
        found = [await self.read_entry()]
        while found[-1]["kind"] != kind:
            found.append(await self.read_entry())
        return found


@asynccontextmanager
async def start_watching(database: str, *arguments: str) -> AsyncIterator[Watcher]:
    environ = {**os.environ, "COUNTERPOINT_DB": database}
    command = [sys.executable, "-m", "counterpoint", "watch", *arguments, "--json"]
    process = await anyio.open_process(command, env=environ, stderr=subprocess.PIPE)
    try:
        yield Watcher(process)
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                process.kill()
            await process.aclose()


@pytest.mark.anyio
async def test_a_debate_of_a_server_is_followed_to_its_end_by_the_beginning_of_its_id(database: str) -> None:
    async with open_call_gate() as gate, start_server_process(database, gate, "auto") as (_, client):
        gate.release.set()
        gate.hold()
        debate_id = (await call(client, "start_debate", **ASKED))["debate_id"]
        async with (
            start_watching(database, debate_id[:4]) as watcher,
            start_watching(database, debate_id) as other,
        ):
            seen = await watcher.read_through("phase_entered")
            assert [entry["kind"] for entry in seen] == [
                "opened",
                "phase_entered",
            ]  # the models are still asked
            await other.read_through("phase_entered")
            other.process.send_signal(signal.SIGINT)
            with anyio.fail_after(PATIENCE):
                assert await other.process.wait() == 128 + signal.SIGINT
            gate.release.set()
            seen += await watcher.read_through("ended")
            with anyio.fail_after(PATIENCE):
                assert await watcher.process.wait() == 0
        assert (await call(client, "get_verdict", debate_id=debate_id))["status"] == "concluded"

    assert [entry["seq"] for entry in seen] == list(range(1, len(seen) + 1))
    assert [entry["seat"] for entry in seen if entry["kind"] == "spoke"][:2] == ["Proponent", "Opponent"]


@pytest.mark.both_databases
def test_an_ended_debate_is_printed_with_its_verdict_and_from_an_entry_on(cli: Cli) -> None:
    debate_id = json.loads(cli("debate", "Ship it?", "--model", "scripted", "--json").stdout)["debate_id"]

    whole = cli("watch", debate_id)
    assert whole.exit_code == 0
    for said in (
        "Ship it?",
        "== Round 1: opening ==",
        "Proponent",
        "judge 1, reading 2",
        "Leaning (1 of 1 judge",
    ):
        assert said in whole.stdout
    rest = [
        json.loads(line) for line in cli("watch", debate_id, "--json", "--since-seq", "5").stdout.splitlines()
    ]
    assert [entry["seq"] for entry in rest] == list(range(6, 6 + len(rest)))
    assert rest[-1]["kind"] == "ended"


@pytest.mark.both_databases
def test_an_id_that_is_no_debate_or_several_is_refused(cli: Cli, database: str) -> None:
    ids = [
        json.loads(cli("debate", "Ship it?", "--model", "scripted", "--json").stdout)["debate_id"]
        for _ in "ab"
    ]

    for number, debate_id in enumerate(ids):
        run_raw(database, "update stream set name = ? where name = ?", f"abcdef{number}", debate_id)
    unknown, ambiguous, short = cli("watch", "zzzz"), cli("watch", "abcd"), cli("watch", "abc")

    assert (unknown.exit_code, ambiguous.exit_code, short.exit_code) == (1, 1, 1)
    assert 'Several debates begin with "abcd": abcdef0, abcdef1.' in ambiguous.stderr
    for refused in (unknown, short):
        assert "There is no debate" in refused.stderr
