"""Kill a server with SIGKILL at random instants: recorded entries stay, and the next call continues the debate."""

import os
import random
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from benchmarks.processes.children import ROOT
from benchmarks.table import Measurement, shorten
from server.compose import open_manager
from server.debate.machine.decide import Ask, Record, decide
from server.engine.database.errors import DebateNotFoundError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import DebateStore
from server.engine.debates import utc_now
from server.settings import Settings
from server.upkeep.check import check_database
from storage.sqlite import SqliteStorage

KILLS = shorten(100, 2)
DELAY = 0.15
"""Seconds per model call: a round of three in sequence takes about as long as a process lives here."""

ARGUMENTS = {
    "question": "Should penguins fly?",
    "format": "verdict",
    "max_rounds": 4,
    "debaters": [{"name": name, "stance": name} for name in ("Ada", "Ben", "Cy")],
    "options": {"judges": {"both_orders": False}},
}
"""One model call at a time: each kill loses one at most."""


@dataclass
class Report:
    kills: int = 0
    debates: int = 0
    calls_made: int = 0
    answers_recorded: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills in {self.debates} debates: {self.calls_made} model calls, {self.answers_recorded} "
            f"recorded, {self.calls_made - self.answers_recorded} lost in flight, {len(self.problems)} problems"
        )


class KillableServer:
    """A server process that a test can kill, with its database and its ledger of model calls."""

    def __init__(self, folder: Path, delay: float = DELAY) -> None:
        self.delay = delay
        self.database = folder / "debates.db"
        self.ledger = folder / "ledger"
        self.pid_file = folder / "pid"

    def parameters(self) -> StdioServerParameters:
        # The shell writes its process id and then becomes the server (exec), so the id is the server's.
        serve = f"echo $$ > '{self.pid_file}'; exec '{sys.executable}' -m benchmarks.crashes.ledger_server "
        return StdioServerParameters(
            command="sh",
            args=["-c", serve + f"'{self.database}' '{self.ledger}' {self.delay}"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def kill(self) -> None:
        os.kill(int(self.pid_file.read_text()), signal.SIGKILL)

    async def load_snapshot(self, debate_id: str) -> DebateSnapshot:
        """The debate as stored, with its hash chain checked.

        Raises:
            DebateNotFoundError: nothing of it was stored.
        """
        storage = await SqliteStorage.open(self.database)
        try:
            return await DebateStore(storage, utc_now).load(debate_id)
        finally:
            await storage.close()

    async def find_problems(self) -> list[str]:
        """What lists, searches and sums of a day read, and does not follow from the entries."""
        async with open_manager(Settings(db=str(self.database)), environ={}) as manager:
            checked = await check_database(manager, rebuild=False)
        return [f"{problem.debate_id or 'the file'}: {problem.text}" for problem in checked.problems]


async def step_until_killed(server: KillableServer, debate_id: str, kill_after: float) -> tuple[str, bool]:
    """Run one server process until `kill_after` seconds have passed or the debate has ended.

    Returns the debate's id ("" before it was created) and whether the process was killed.
    """
    killed = False

    async def kill() -> None:
        nonlocal killed
        await anyio.sleep(kill_after)
        killed = True
        server.kill()

    with anyio.CancelScope() as life:
        async with anyio.create_task_group() as tasks:
            try:
                async with Client(server.parameters()) as client:
                    if not debate_id:
                        debate_id = (await call_tool(client, "start_debate", ARGUMENTS | {"again": True}))[
                            "debate_id"
                        ]
                    tasks.start_soon(kill)
                    status = "running"
                    while status in ("ready", "running"):
                        status = (await call_tool(client, "step_round", {"debate_id": debate_id}))["status"]
                    tasks.cancel_scope.cancel()
            except BaseException:
                if not killed:
                    raise
                life.cancel()
    return debate_id, killed


async def call_tool(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert result.structured_content, result.content
    return dict(result.structured_content)


def check_log(report: Report, snapshot_before: DebateSnapshot | None, snapshot_after: DebateSnapshot) -> None:
    """Report entries that disappeared or changed over a kill, and turns that were recorded twice."""
    if snapshot_before and snapshot_after.entries[: len(snapshot_before.entries)] != snapshot_before.entries:
        report.problems.append(
            f"debate {snapshot_after.id}: an entry recorded before the kill is missing or changed"
        )
    repeated = [
        key for key, n in Counter((t.round, t.seat) for t in snapshot_after.debate.turns).items() if n > 1
    ]
    if repeated:
        report.problems.append(f"debate {snapshot_after.id}: turns recorded twice: {repeated}")


async def run_kills(kills: int, seed: int, folder: Path) -> Report:
    """Run debates in a process that is killed again and again, and check after every kill."""
    draw = random.Random(seed)  # noqa: S311  (instants, not secrets)
    victim, report = KillableServer(folder), Report()
    debate_id, before = "", None
    while report.kills < kills:
        report.debates += not debate_id
        debate_id, killed = await step_until_killed(victim, debate_id, draw.uniform(0.0, 1.2))
        report.kills += killed
        if not debate_id:
            continue
        try:
            snapshot = await victim.load_snapshot(debate_id)
        except DebateNotFoundError:
            debate_id = ""
            continue
        check_log(report, before, snapshot)
        report.problems += await victim.find_problems()
        before = snapshot
        if snapshot.debate.ended:
            count_recorded_answers(report, snapshot)
            debate_id, before = "", None
        elif not isinstance(decide(snapshot.debate), (Record, Ask)):
            report.problems.append(f"debate {snapshot.id} cannot continue")
    if before:
        count_recorded_answers(report, before)
    report.calls_made = len(victim.ledger.read_text().splitlines()) if victim.ledger.exists() else 0
    if report.calls_made - report.answers_recorded > report.kills:
        report.problems.append("more model calls than recorded answers and calls in flight at a kill")
    return report


def count_recorded_answers(report: Report, snapshot: DebateSnapshot) -> None:
    report.answers_recorded += (
        len(snapshot.debate.turns) + len(snapshot.debate.judgments) + len(snapshot.debate.failures)
    )


async def measure_kills() -> list[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        report = await run_kills(KILLS, 1, Path(folder))
    how = "; ".join([str(report), *report.problems[:3]])
    return [
        Measurement(
            f"kill -9 at random instants: problems after {KILLS} kills",
            len(report.problems),
            "",
            0,
            details=how,
        )
    ]
