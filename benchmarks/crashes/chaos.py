"""Run hundreds of debates with injected faults in servers that are killed again and again.

Two servers share one database. Debates of all formats are created, stepped or left to run, paused, annotated
and polled through either server, until each has ended or stays paused. `benchmarks.crashes.chaos_checks` then
checks what must hold whatever happened.
"""

import os
import random
import signal
import sqlite3
import sys
import tempfile
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, time
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from benchmarks.crashes.chaos_checks import MANUAL_PAUSE_REASON, CheckReport, Kill, check_results
from benchmarks.processes.children import ROOT
from benchmarks.table import Measurement, shorten
from server.debate.commands.setup.formats import FORMATS

CHAOS = (
    "failure=0.06,timeout=0.03,corrupt=0.08,truncated=0.04,never=0.01,empty=0.04,crash=0.04,latency=0.3"
    ",seed=7"
)
DELAY = 0.05  # seconds per model call, at least
LEEWAY = 1.0  # seconds after its timeout at which a call that never ends is abandoned
POLL_SECONDS = 2  # wait_seconds of a poll
WORKERS = 24  # concurrent polls
MAX_RESUMES = 3  # of a debate that paused by itself; after that it is concluded
TIMEOUT = 600.0  # seconds for the whole run
INTERVENTION_RATE = 0.04  # share of polls that pause a debate; the same share injects a note
MAX_IDLE_SECONDS = 8.0  # a server is killed after this time even without enough model calls
CALLS_PER_DEBATE = 9  # a usual minimum, over which the kills are spread


@dataclass
class Plan:
    debates: int
    kills: int
    seed: int
    processes: int = 2
    chaos: str = CHAOS


PLAN = Plan(debates=shorten(200, 6), kills=shorten(20, 1), seed=1)


@dataclass(eq=False)
class ChaosDebate:
    """A debate as the client that steps it sees it."""

    arguments: dict[str, Any]
    id: str = ""
    resumes: int = 0
    is_concluding: bool = False
    is_settled: bool = False


class ToolCallError(Exception):
    """A tool returned an error."""


class ServerProcess:
    """A server process that is restarted whenever it was killed."""

    def __init__(self, folder: Path, number: int, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self.pid_file = folder / f"pid{number}"
        self.client: Client | None = None
        self.lifetime = anyio.CancelScope()
        self.is_stopping = False

    def parameters(self) -> StdioServerParameters:
        # The shell writes its process id and then becomes the server (exec), so the id is the server's.
        serve = f"echo $$ > '{self.pid_file}'; exec '{sys.executable}' -m benchmarks.crashes.ledger_server "
        serve += f"'{self.folder}/debates.db' '{self.folder}/ledger' {DELAY} '{self.plan.chaos}' {LEEWAY}"
        return StdioServerParameters(
            command="sh",
            args=["-c", f"{serve} 2>> '{self.folder}/stderr'"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    async def keep_running(self) -> None:
        while not self.is_stopping:
            with anyio.CancelScope() as self.lifetime:
                # A session whose server was killed may fail in any way.
                with suppress(Exception):
                    async with Client(self.parameters()) as self.client:
                        await anyio.sleep_forever()
            self.client = None

    def kill(self) -> Kill:
        pid = int(self.pid_file.read_text())
        before = time()
        os.kill(pid, signal.SIGKILL)
        self.client = None
        self.lifetime.cancel()
        return Kill(pid, before, time())

    def stop(self) -> None:
        self.is_stopping = True
        self.lifetime.cancel()


@dataclass
class ChaosRun:
    folder: Path
    plan: Plan
    rng: random.Random
    processes: list[ServerProcess] = field(default_factory=list)
    queue: deque[ChaosDebate] = field(default_factory=deque)
    debates: list[ChaosDebate] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    # Hashes of the entries stored at the last kill, by stream and number.
    known_hashes: dict[tuple[str, int], str] = field(default_factory=dict)
    seed_count: int = 0
    poll_counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def is_settled(self) -> bool:
        return all(one.is_settled for one in self.debates)

    @property
    def database(self) -> Path:
        return self.folder / "debates.db"

    async def run(self) -> None:
        self.processes = [ServerProcess(self.folder, n, self.plan) for n in range(self.plan.processes)]
        names = list(FORMATS)
        for number in range(self.plan.debates):
            self.add(ChaosDebate(build_debate_arguments(names[number % len(names)], number)))
        with anyio.move_on_after(TIMEOUT) as limit:
            async with anyio.create_task_group() as tasks:
                for process in self.processes:
                    tasks.start_soon(process.keep_running)
                tasks.start_soon(self.kill_repeatedly)
                await self.run_debates()
                for process in self.processes:
                    process.stop()
                tasks.cancel_scope.cancel()
        if limit.cancelled_caught:
            left = [one.id or "one that was never created" for one in self.debates if not one.is_settled]
            self.problems.append(f"not settled after {TIMEOUT:.0f} s: {', '.join(left[:10])}")

    def add(self, debate: ChaosDebate) -> None:
        self.debates.append(debate)
        self.queue.append(debate)

    async def run_debates(self) -> None:
        """Poll every debate until it is settled, also those whose creation was cut off by a kill."""
        while not self.is_settled:
            async with anyio.create_task_group() as workers:
                for _ in range(WORKERS):
                    workers.start_soon(self.poll_debates)
            known = {one.id for one in self.debates}
            for name in {name for name, _ in self.read_entry_hashes()} - known:
                self.poll_counts["adopted"] += 1
                self.add(ChaosDebate({"run": False}, id=name))

    async def poll_debates(self) -> None:
        while not self.is_settled:
            if not self.queue:
                await anyio.sleep(0.05)
                continue
            one = self.queue.popleft()
            await self.poll_debate(one)
            if not one.is_settled:
                self.queue.append(one)

    async def poll_debate(self, debate: ChaosDebate) -> None:
        alive = [process for process in self.processes if process.client]
        if not alive:
            await anyio.sleep(0.05)
            return
        process = self.rng.choice(alive)
        client = process.client
        assert client is not None
        self.poll_counts["polls"] += 1
        try:
            with anyio.fail_after(POLL_SECONDS + 20):
                await self.advance(debate, client)
        except ToolCallError as error:
            if not debate.id:
                self.problems.append(f"a debate was refused: {error}")
            # There is nothing to judge, or the debate has ended: its status will not change.
            debate.is_settled = debate.is_concluding or not debate.id
        except Exception as error:  # noqa: BLE001  (a killed connection may fail in any way)
            if process.client is client:
                self.problems.append(
                    f"{debate.id}: a call failed although no server was killed: {error!r}"[:300]
                )
                debate.is_settled = True

    async def advance(self, debate: ChaosDebate, client: Client) -> None:
        this = {"debate_id": debate.id}
        if not debate.id:
            # A new seed for each attempt: the last one may have created its debate before it failed.
            self.seed_count += 1
            debate.arguments["options"]["seed"] = self.seed_count
            debate.id = (await call_tool(client, "start_debate", debate.arguments))["debate_id"]
            return
        if self.rng.random() < INTERVENTION_RATE:
            with suppress(ToolCallError):
                await call_tool(client, "intervene", {**this, "action": "inject", "text": "And the costs?"})
        if self.rng.random() < INTERVENTION_RATE:
            with suppress(ToolCallError):
                await call_tool(
                    client, "intervene", {**this, "action": "pause", "reason": MANUAL_PAUSE_REASON}
                )
        tool = "get_verdict" if debate.arguments["run"] else "step_round"
        found = await call_tool(client, tool, {**this, "wait_seconds": POLL_SECONDS})
        match found["status"]:
            case "concluded" | "truncated":
                debate.is_settled = True
            case "paused":
                await self.resume_or_conclude(
                    debate, client, is_manual_pause=found["reason"] == MANUAL_PAUSE_REASON
                )

    async def resume_or_conclude(self, debate: ChaosDebate, client: Client, *, is_manual_pause: bool) -> None:
        """Resume a paused debate. After `MAX_RESUMES` pauses of its own it is concluded, or stays paused."""
        this = {"debate_id": debate.id}
        if debate.resumes < MAX_RESUMES or is_manual_pause:
            debate.resumes += not is_manual_pause
            await call_tool(client, "intervene", {**this, "action": "resume"})
        elif debate.is_concluding:
            debate.is_settled = True
        else:
            debate.is_concluding = True
            await call_tool(client, "get_verdict", {**this, "conclude": True, "wait_seconds": POLL_SECONDS})

    async def kill_repeatedly(self) -> None:
        """Kill a random server after a random number of model calls, or after `MAX_IDLE_SECONDS`."""
        between = self.plan.debates * CALLS_PER_DEBATE / max(self.plan.kills, 1)
        for _ in range(self.plan.kills):
            wanted = self.count_model_calls() + self.rng.uniform(0.2, 1.6) * between
            with anyio.move_on_after(MAX_IDLE_SECONDS):
                while self.count_model_calls() < wanted:  # noqa: ASYNC110  (another process writes the file)
                    await anyio.sleep(0.01)
            while not (alive := [process for process in self.processes if process.client]):  # noqa: ASYNC110
                await anyio.sleep(0.01)
            self.kills.append(self.rng.choice(alive).kill())
            self.check_entries()

    def count_model_calls(self) -> int:
        ledger = self.folder / "ledger"
        return ledger.read_bytes().count(b"\n") if ledger.exists() else 0

    def check_entries(self) -> None:
        """Report entries that were stored at an earlier kill and are now missing or changed."""
        now = self.read_entry_hashes()
        for (name, seq), found in self.known_hashes.items():
            if now.get((name, seq)) != found:
                self.problems.append(f"{name}: entry {seq} was recorded and is missing or changed")
        self.known_hashes = now

    def read_entry_hashes(self) -> dict[tuple[str, int], str]:
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True) as db:
            rows = db.execute("select stream, seq, hash from journal").fetchall()
        return {(name, seq): found for name, seq, found in rows}


def build_debate_arguments(format_name: str, number: int) -> dict[str, Any]:
    """Every other debate runs without steps; every third has a referee and a moderator as well."""
    options: dict[str, Any] = {"limits": {"turn_timeout": 1 + number % 2}, "tags": ["soak"]}
    if number % 3 == 0:
        options["referee"] = True
        if format_name in ("verdict", "round_robin", "settle"):
            options["moderator"] = {"opens": format_name != "settle", "closes": format_name != "round_robin"}
    if format_name == "round_robin" and number % 2:
        options["output_schema"] = {
            "type": "object",
            "properties": {"summary": {"type": "string"}, "points": {"type": "array", "maxItems": 5}},
            "required": ["summary"],
        }
    if format_name == "handoff":
        options["handoff"] = ("structured", "tool", "text")[number // len(FORMATS) % 3]
        options["limits"]["max_turns"] = 6
    return {
        "question": f"Should penguins fly? ({number})",
        "format": format_name,
        "options": options,
        "run": bool(number // len(FORMATS) % 2),
        "wait_seconds": 0,
    }


async def call_tool(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    if result.is_error or not result.structured_content:
        raise ToolCallError(str(getattr(result.content[0], "text", result.content)))
    return dict(result.structured_content)


async def run_chaos(plan: Plan, folder: Path) -> CheckReport:
    """Run the plan in `folder` and check the results."""
    running = ChaosRun(folder, plan, random.Random(plan.seed))  # noqa: S311  (instants, not secrets)
    began = perf_counter()
    await running.run()
    running.check_entries()
    report = await check_results(running.database, folder / "ledger", plan.chaos, running.kills)
    report.problems[:0] = running.problems
    report.counts["seconds"] = round(perf_counter() - began)
    report.counts.update(running.poll_counts)
    return report


async def measure_chaos() -> list[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        report = await run_chaos(PLAN, Path(folder))
    how = "; ".join([str(report), *report.problems[:3]])
    return [
        Measurement(
            f"chaos: problems after {PLAN.debates} debates and {PLAN.kills} kills",
            len(report.problems),
            "",
            0,
            details=how,
        )
    ]
