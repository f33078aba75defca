"""What 50 debates do to everything else in their server: the latency of small requests, and stalls of the loop."""

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.processes.children import (
    WATCHED_SERVER,
    Server,
    build_environment,
    provider_environment,
    start_stub,
)
from benchmarks.speed.concurrency import SCRIPTED_MODEL
from benchmarks.speed.debates import LATENCY, run_debate
from benchmarks.table import Measurement, Samples, format_ms, median, percentile

DEBATES = 50
KINDS = (("second_opinion", "in step"), ("verdict", "spread out"))
REQUESTS = ("tools/list", "find_debates", "read_debate")
GOAL_MS = 15
ROUNDS = 3  # of 50 debates each


async def measure_other_requests() -> list[Measurement]:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        environ = build_environment(
            COUNTERPOINT_DB=str(Path(folder) / "debates.db"), COUNTERPOINT_MODELS=SCRIPTED_MODEL
        )
        lines += await measure_in(folder, environ, "scripted")
    async with start_stub(LATENCY) as url:
        with tempfile.TemporaryDirectory() as folder:
            lines += await measure_in(folder, provider_environment(folder, url), "through a provider")
    return lines


async def measure_in(folder: str, environ: dict[str, str], name: str) -> list[Measurement]:
    lines = []
    log = Path(folder) / "watch"
    async with Server.start(*WATCHED_SERVER, str(log), environ=environ) as server:
        await server.initialize()
        finished = await run_debate(server, "second_opinion")
        idle: dict[str, Samples] = {request: Samples() for request in REQUESTS}
        await send_requests(server, str(finished["debate_id"]), (), idle)
        for format_name, rhythm in KINDS:
            busy: dict[str, Samples] = {request: Samples() for request in REQUESTS}
            begun = len(read_lines(log))
            for _ in range(ROUNDS):
                running = [asyncio.create_task(run_debate(server, format_name)) for _ in range(DEBATES)]
                await send_requests(server, str(finished["debate_id"]), running, busy)
                await asyncio.gather(*running)
            for request, samples in busy.items():
                lines.append(
                    build_latency_row(
                        f"`{request}` during 50 debates {rhythm}, {name}", samples, idle[request]
                    )
                )
            lines.append(
                await build_stall_row(log, begun, f"stalls of the loop, 50 debates {rhythm}, {name}")
            )
    return lines


async def send_requests(
    server: Server, debate_id: str, debates: Sequence[asyncio.Task[Any]], found: dict[str, Samples]
) -> None:
    """Requests one after the other until `debates` are done; 100 of each kind where there are none.

    The start of the debates is left out.
    """
    await asyncio.sleep(0.1)
    while not (debates and all(task.done() for task in debates)):
        for request, samples in found.items():
            with samples.measure(lambda: 0.0):
                match request:
                    case "tools/list":
                        await server.request(request)
                    case "read_debate":
                        await server.call_tool(request, debate_id=debate_id, view="transcript")
                    case _:
                        await server.call_tool(request)
            await asyncio.sleep(0.003)
        if not debates and len(samples.wall) >= 100:
            return


def build_latency_row(name: str, busy: Samples, idle: Samples) -> Measurement:
    times = busy.wall
    how = (
        f"of {len(times)}: longest {format_ms(max(times))}; idle p99 {format_ms(percentile(idle.wall, 0.99))}"
    )
    return Measurement(
        f"{name}, p99",
        percentile(times, 0.99) * 1000,
        "ms",
        GOAL_MS,
        ours=Samples(wall=times),
        bare=Samples(wall=idle.wall),
        bare_name="idle",
        details=how,
    )


def read_lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines()


async def build_stall_row(log: Path, begun: int, name: str) -> Measurement:
    await asyncio.sleep(1.1)  # until the last line is written
    lines = [json.loads(line) for line in read_lines(log)[begun:]]
    stalls = [stall for line in lines for stall in line["stalls"]]
    ticks = sum(line["ticks"] for line in lines)
    whole = [0.0] * max(ticks - len(stalls), 0) + stalls
    how = f"of {ticks} ticks: p50 {median(whole):.1f}, p99 {percentile(whole, 0.99):.1f} ms"
    return Measurement(f"{name}, longest", max(stalls, default=0.0), "ms", details=how)
