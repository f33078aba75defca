"""Thousands of debates through one server, for minutes: its memory, its files and its stalls, minute by minute.

Usage: python -m benchmarks soak [--minutes N] [--debates N] [--turns N] [--at-once N]

By default 1,000 debates of 30 turns, spread over ten minutes, through a provider on loopback. Callers wait for
verdicts; others read a debate, list debates or look at a finished one. Afterwards the server is idle for some seconds.
Exit code 1 where memory grew: the last minute under load against the third part of the time, by more than 5 %.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import anyio

from benchmarks.processes.children import WATCHED_SERVER, Server, provider_environment, start_stub
from benchmarks.table import format_amount, format_header, format_row, median, percentile

LATENCY = 0.3
DEBATERS = ("Ada", "Ben", "Cy")
IDLE_SECONDS = 5
MAX_GROWTH = 1.05
HEADINGS = (
    *("minute", "debates done", "memory MB", "database MB", "WAL MB", "tasks", "threads"),
    *("CPU s", "stalls p99 ms", "longest ms", "requests p99 ms"),
)


@dataclass
class Plan:
    minutes: float = 10.0
    debates: int = 1000
    turns: int = 30
    at_once: int = 100


@dataclass
class Soak:
    server: Server
    folder: Path
    plan: Plan
    rng: random.Random
    done: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)  # seconds of small requests, since the last line
    memory: list[float] = field(default_factory=list)  # MB, of each line
    lines_read: int = 0
    cpu: float = 0.0

    async def run(self) -> None:
        began, pause = monotonic(), self.plan.minutes * 60 / self.plan.debates
        places = asyncio.Semaphore(self.plan.at_once)
        reporting = asyncio.create_task(self.report_minutes())
        others = asyncio.create_task(self.send_requests())
        try:
            async with asyncio.TaskGroup() as running:
                for number in range(self.plan.debates):
                    await asyncio.sleep(max(0.0, began + number * pause - monotonic()))
                    await places.acquire()
                    task = running.create_task(self.run_debate(number))
                    task.add_done_callback(lambda _: places.release())
        finally:
            for task in (reporting, others):
                task.cancel()
            await asyncio.gather(reporting, others, return_exceptions=True)
        self.print_line("end")
        await asyncio.sleep(IDLE_SECONDS)
        self.print_line(f"idle {IDLE_SECONDS} s")

    async def run_debate(self, number: int) -> None:
        call: dict[str, Any] = {
            "question": f"Should service {number} be rewritten in Rust this year?",
            "format": "verdict",
            "debaters": [{"name": name, "stance": f"{name}'s way"} for name in DEBATERS],
            "max_rounds": max(self.plan.turns // len(DEBATERS), 1),
            "options": {"judges": {"count": 1, "both_orders": False}},
        }
        answer = await self.server.call_tool("start_debate", **call, run=True, wait_seconds=45)
        while answer["status"] == "running":
            answer = await self.server.call_tool(
                "get_verdict", debate_id=answer["debate_id"], wait_seconds=45
            )
        assert answer["status"] == "concluded", answer
        self.done.append(answer["debate_id"])

    async def send_requests(self) -> None:
        """What other callers do meanwhile: a request every 50 ms."""
        while True:
            await asyncio.sleep(0.05)
            known = self.rng.choice(self.done) if self.done else ""
            call: tuple[str, dict[str, Any]] = self.rng.choice(
                (
                    ("find_debates", {}),
                    ("find_debates", {"query": "rewritten"}),
                    ("read_debate", {"debate_id": known, "view": "transcript"}),
                    ("get_verdict", {"debate_id": known}),
                )
            )
            if known:
                began = monotonic()
                await self.server.call_tool(call[0], **call[1])
                self.waits.append(monotonic() - began)

    async def report_minutes(self) -> None:
        for minute in range(1, 10_000):
            await asyncio.sleep(60)
            self.print_line(str(minute))

    def print_line(self, name: str) -> None:
        watched = self.read_watch()
        stalls = [stall for line in watched for stall in line["stalls"]]
        smooth = [0.0] * max(sum(line["ticks"] for line in watched) - len(stalls), 0)
        cpu = self.server.read_cpu()
        self.memory.append(watched[-1]["kilobytes"] / 1024 if watched else 0.0)
        cells = (
            name,
            str(len(self.done)),
            *(format_amount(one) for one in (self.memory[-1], self.size_of(""), self.size_of("-wal"))),
            *(str(max((line[key] for line in watched), default=0)) for key in ("tasks", "threads")),
            format_amount(round(cpu - self.cpu, 1)),
            f"{percentile([*smooth, *stalls] or [0.0], 0.99):.1f}",
            f"{max(stalls, default=0.0):.0f}",
            f"{percentile(self.waits, 0.99) * 1000:.0f}" if self.waits else "",
        )
        self.cpu = cpu
        self.waits.clear()
        print(format_row(cells), flush=True)

    def read_watch(self) -> list[dict[str, Any]]:
        """What the watch has written since the last line."""
        lines = (self.folder / "watch").read_text(encoding="utf-8").splitlines()
        fresh, self.lines_read = lines[self.lines_read :], len(lines)
        return [json.loads(line) for line in fresh]

    def size_of(self, suffix: str) -> float:
        path = self.folder / f"debates.db{suffix}"
        return path.stat().st_size / 2**20 if path.exists() else 0.0


async def run_soak(plan: Plan) -> float:
    """By how much memory has grown from a third of the time to the end of the load."""
    print(format_header(HEADINGS), flush=True)
    async with start_stub(LATENCY, "--forget") as url:
        with tempfile.TemporaryDirectory() as folder:
            environ = provider_environment(folder, url)
            watch = str(Path(folder) / "watch")
            async with Server.start(*WATCHED_SERVER, watch, environ=environ) as server:
                await server.initialize()
                rng = random.Random(1)  # noqa: S311  (load, not secrets)
                soak = Soak(server, Path(folder), plan, rng)
                await soak.run()
    loaded = soak.memory[:-1]
    early = median(loaded[len(loaded) // 3 : len(loaded) // 3 + 2])
    return loaded[-1] / early


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks soak")
    defaults = Plan()
    parser.add_argument("--minutes", type=float, default=defaults.minutes, help="over which debates begin")
    parser.add_argument("--debates", type=int, default=defaults.debates)
    parser.add_argument("--turns", type=int, default=defaults.turns)
    parser.add_argument("--at-once", type=int, default=defaults.at_once, help="debates at once, at most")
    growth = anyio.run(run_soak, Plan(**vars(parser.parse_args(arguments))))
    print(f"\nMemory at the end of the load against a third of the time: {growth:.2f} x.")
    sys.exit(growth > MAX_GROWTH)
