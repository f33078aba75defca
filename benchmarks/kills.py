"""kill -9 at random instants of a debate: what is recorded stays, and the next call goes on.

Usage: python -m benchmarks.kills [KILLS] [SEED], or `python -m benchmarks kills` for a hundred.
"""

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

from benchmarks.report import Line
from server.debate.rules.decide import Ask, Record, decide
from server.engine.errors import NoSuchDebate
from server.engine.model_calls import Questions
from server.engine.runner import Case, Runner
from server.models.registry import Models
from storage.sqlite import SqliteJournal

DELAY = 0.15
"""Seconds an answer takes: a round of three in sequence is about as long as a process lives here."""

ARGUMENTS = {
    "question": "Should penguins fly?",
    "format": "verdict",
    "max_rounds": 4,
    "debaters": [{"name": name, "stance": name} for name in ("Ada", "Ben", "Cy")],
}


@dataclass
class Report:
    kills: int = 0
    debates: int = 0
    asked: int = 0
    recorded: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills in {self.debates} debates: {self.asked} answers asked for, {self.recorded} "
            f"recorded, {self.asked - self.recorded} lost in flight, {len(self.wrong)} things wrong"
        )


class Victim:
    """A server process that can be killed, and the debate it is at."""

    def __init__(self, folder: Path, delay: float = DELAY) -> None:
        self.delay = delay
        self.database = folder / "debates.db"
        self.ledger = folder / "ledger"
        self.pid_file = folder / "pid"

    def parameters(self) -> StdioServerParameters:
        # The shell becomes the server (exec), so that the number it leaves is the server's own.
        serve = f"echo $$ > '{self.pid_file}'; exec '{sys.executable}' -m benchmarks.paying "
        return StdioServerParameters(
            command="sh",
            args=["-c", serve + f"'{self.database}' '{self.ledger}' {self.delay}"],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )

    def kill(self) -> None:
        os.kill(int(self.pid_file.read_text()), signal.SIGKILL)

    async def case(self, debate_id: str) -> Case:
        """The debate as it stands on the disk, its chain checked."""
        journal = await SqliteJournal.open(self.database)
        try:
            return await Runner(journal, Questions(Models()), lambda: None).load(debate_id)  # type: ignore[arg-type,return-value]  # nothing is written
        finally:
            await journal.close()


async def step_until_killed(victim: Victim, debate_id: str, after: float) -> tuple[str, bool]:
    """(debate, was it killed before it ended) of one life of the process."""
    killed = False

    async def kill() -> None:
        nonlocal killed
        await anyio.sleep(after)
        killed = True
        victim.kill()

    with anyio.CancelScope() as life:
        async with anyio.create_task_group() as tasks:
            try:
                async with Client(victim.parameters()) as client:
                    if not debate_id:
                        debate_id = (await called(client, "start_debate", ARGUMENTS))["debate_id"]
                    tasks.start_soon(kill)
                    status = "running"
                    while status == "running":
                        status = (await called(client, "step_round", {"debate_id": debate_id}))["status"]
                    tasks.cancel_scope.cancel()
            except BaseException:
                if not killed:
                    raise
                life.cancel()
    return debate_id, killed


async def called(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert result.structured_content, result.content
    return dict(result.structured_content)


def compare(report: Report, before: Case | None, after: Case) -> None:
    """Nothing that was recorded may be gone, changed or there twice."""
    if before and after.log[: len(before.log)] != before.log:
        report.wrong.append(f"debate {after.id}: what was recorded before the kill is not what is there now")
    doubled = [key for key, n in Counter((t.round, t.seat) for t in after.debate.turns).items() if n > 1]
    if doubled:
        report.wrong.append(f"debate {after.id}: spoke twice: {doubled}")


async def survive(kills: int, seed: int, folder: Path) -> Report:
    """Run debates in a process that is killed again and again, and check after every kill."""
    draw = random.Random(seed)  # noqa: S311  (instants, not secrets)
    victim, report = Victim(folder), Report()
    debate_id, before = "", None
    while report.kills < kills:
        report.debates += not debate_id
        debate_id, killed = await step_until_killed(victim, debate_id, draw.uniform(0.0, 1.2))
        report.kills += killed
        if not debate_id:
            continue
        try:
            case = await victim.case(debate_id)
        except NoSuchDebate:
            debate_id = ""
            continue
        compare(report, before, case)
        before = case
        if case.debate.ended:
            settle(report, case)
            debate_id, before = "", None
        elif not isinstance(decide(case.debate), (Record, Ask)):
            report.wrong.append(f"debate {case.id} has nothing to go on with")
    if before:
        settle(report, before)
    report.asked = len(victim.ledger.read_text().splitlines()) if victim.ledger.exists() else 0
    if report.asked - report.recorded > report.kills:
        report.wrong.append("more answers were paid for than were recorded or in flight at a kill")
    return report


def settle(report: Report, case: Case) -> None:
    report.recorded += len(case.debate.turns) + len(case.debate.judged) + len(case.debate.failures)


async def measured() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        report = await survive(100, 1, Path(folder))
    how = "; ".join([str(report), *report.wrong[:3]])
    return [
        Line("kill -9 at random instants: things wrong after 100 kills", len(report.wrong), "", 0, how=how)
    ]


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        report = anyio.run(survive, kills, seed, Path(folder))
    print(report, *report.wrong, sep="\n")
    sys.exit(bool(report.wrong))


if __name__ == "__main__":
    main()
