"""kill -9 after each fact of a second opinion that is divided, rewritten and checked: it comes to the same."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from tests.support.client_calls import call
from tests.support.mcp_debates import read_all_events
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll
from tests.support.processes.gated_servers import ServerProcess
from tests.support.provider.advice import generate_advice
from tests.support.provider.stub import Stub

pytestmark = [pytest.mark.anyio, pytest.mark.full, pytest.mark.requirement("M3", "N8")]

KEPT = "Zebra crossings need lamps"
CALLS = 14

OF_THEIR_TIME = {"seq", "at", "seen", "usage", "hash"}
"""What two debates that come to the same do not share."""

Row = tuple[Any, ...]


def write(task: str, model: str, prompt: str) -> str:
    """The usual reply; but the report loses what is to be kept, and the check finds a fault in the second one."""
    usual = generate_advice(prompt, model)
    if task == "report":
        is_last, is_second = "Revise the first version" in prompt, "Bring that back" in prompt
        because = "It is revised." if is_last else "It is brought back." if is_second else "It is lost."
        advice, _, _ = usual.partition("\n\n")
        return f"{advice}\n\n{because}" + f" {KEPT}." * (is_second or is_last)
    reply = json.loads(usual)
    match task:
        case "advice":
            reply["because"] += f" {KEPT}."
        case "review":
            reply["keep"] = [KEPT]
        case "check":
            fault = {"words": "It is brought back", "right": "It is not.", "matters": True}
            reply = {"faults": [fault], "agrees": False}
    return json.dumps(reply)


class OneByOne(Stub):
    """A provider that answers one request after the other, as few at once as there can be."""

    turn = anyio.Lock()

    async def _respond(self, *given: Any) -> None:
        async with self.turn:
            await anyio.sleep(0.01)
            await super()._respond(*given)


@dataclass
class Life:
    """Processes on one database, one after the other."""

    folder: Path
    stub: Stub
    debate_id: str = ""
    in_flight: int = 0  # calls that died with a process
    kept: list[Row] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        models = {f"{name}_API_BASE": self.stub.url for name in ("ALPHA", "BETA")}
        database = {"COUNTERPOINT_DB": str(self.folder / "debates.db")}
        return {**os.environ, **models, **database, "COUNTERPOINT_MODELS": "alpha/side-a,beta/side-b"}

    @asynccontextmanager
    async def start(self) -> AsyncIterator[tuple[ServerProcess, Client]]:
        command = [sys.executable, "-m", "counterpoint"]
        process = await anyio.open_process(command, env=self.environ, stderr=subprocess.DEVNULL)
        server = ServerProcess(process)
        try:
            async with Client(server.transport()) as client:
                if not self.debate_id:
                    asked = {
                        "question": "Keep it?",
                        "format": "second_opinion",
                        "run": True,
                        "wait_seconds": 0,
                    }
                    options = {"effort": "assured", "seed": 5, "framing": True}
                    begun = await call(client, "start_debate", **asked, options=options)
                    self.debate_id = begun["debate_id"]
                yield server, client
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            with anyio.CancelScope(shield=True):
                await process.aclose()

    def read(self) -> list[Row]:
        with suppress(sqlite3.OperationalError):
            connection = sqlite3.connect(f"file:{self.folder / 'debates.db'}?mode=ro", uri=True)
            try:
                return connection.execute("select * from journal order by seq").fetchall()
            finally:
                connection.close()
        return []

    async def live_for_a_fact(self) -> bool:
        """One life, which ends with the next fact. False where the debate has ended."""
        async with self.start() as (server, client), anyio.create_task_group() as tasks:

            async def follow() -> None:
                with suppress(Exception):  # the process dies meanwhile
                    await call(client, "get_verdict", debate_id=self.debate_id, wait_seconds=30)

            tasks.start_soon(follow)
            while len(self.read()) <= len(self.kept) and not self.has_ended:
                await wait_before_next_poll()
            self.in_flight += self.stub.in_flight + 1  # one may have been answered, and not been recorded
            server.kill()
            tasks.cancel_scope.cancel()
        rows = self.read()
        assert rows[: len(self.kept)] == self.kept
        self.kept = rows
        return not self.has_ended

    @property
    def has_ended(self) -> bool:
        return bool(self.kept) and '"ended"' in str(self.kept[-1])

    async def finish(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """(its facts, its lines), as a new process reads them."""
        async with self.start() as (_, client):
            step = await call(client, "get_verdict", debate_id=self.debate_id, wait_seconds=30)
            assert step["status"] == "concluded"
            events = await read_all_events(client, self.debate_id)
        facts = [{key: event[key] for key in event.keys() - OF_THEIR_TIME} for event in events[1:]]
        return facts, {key: text for key, text in step["answer"].items() if key != "cost"}


async def test_a_divided_second_opinion_that_is_killed_after_each_fact_comes_to_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "whole").mkdir()
    async with OneByOne(script=write) as stub:
        with anyio.fail_after(2 * PATIENCE):
            facts, lines = await Life(tmp_path / "whole", stub).finish()
            assert stub.request_count == CALLS
            assert "It is revised" in lines["because"]
            killed = Life(tmp_path, stub)
            lives = 1
            while await killed.live_for_a_fact():
                lives += 1
            asked = stub.request_count - CALLS
            found_facts, found_lines = await killed.finish()

    assert lives > CALLS // 2
    assert asked <= CALLS + killed.in_flight
    assert found_lines == lines
    kinds = [[fact["kind"] for fact in rows] for rows in (facts, found_facts)]
    assert sorted(kinds[0]) == sorted(kinds[1])
    assert all(fact in found_facts for fact in facts)
    check = [sys.executable, "-m", "counterpoint", "db", "check"]
    checked = await anyio.run_process(check, env=killed.environ, check=False)
    assert (checked.returncode, b"nothing is wrong" in checked.stdout) == (0, True)
