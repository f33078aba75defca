"""Many debates at once: their time against that of one, and the latency of other requests meanwhile."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.child_processes import OUR_SERVER, Server, build_environment, start_stub
from benchmarks.debates import DEBATE, LATENCY, time_debate
from benchmarks.measurements import Measurement, format_ms, format_spread, median, percentile
from server.compose import open_manager
from server.settings import Settings

SCRIPTED_MODEL = "scripted?delay=0.2"
FORMAT = "second_opinion"
RunDebate = Callable[[], Awaitable[Any]]


async def measure_concurrency() -> list[Measurement]:
    """8 and 200 debates at once against one, with a model in this process."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        settings = Settings(db=str(Path(folder) / "a.db"))
        manager = await stack.enter_async_context(open_manager(settings, environ={}))

        async def run_debate() -> float:
            return await time_debate(manager, FORMAT, SCRIPTED_MODEL)

        return [
            await compare_with_one(8, run_debate, goal=1.1, repeats=7),
            await compare_with_one(200, run_debate, goal=4.0, repeats=5),
        ]


async def measure_provider_concurrency() -> list[Measurement]:
    """The same through a server with default settings and a provider, as a client has it."""
    lines = []
    async with start_stub(LATENCY) as url:
        with tempfile.TemporaryDirectory() as folder:
            environ = build_environment(
                COUNTERPOINT_DB=str(Path(folder) / "debates.db"),
                COUNTERPOINT_MODELS="openai/fine",
                OPENAI_API_BASE=url,
            )
            started = perf_counter()
            async with Server.start(*OUR_SERVER, environ=environ) as server:
                await server.initialize()
                await run_full_debate(server, FORMAT, 3)
                first = perf_counter() - started
                memory = server.read_memory() / 1024

                async def run_debate() -> None:
                    await run_full_debate(server, FORMAT, 3)

                for number, repeats, goal in ((8, 7, 1.1), (50, 3, 1.5), (200, 2, 4.0)):
                    cpu = server.read_cpu_seconds()
                    row = await compare_with_one(
                        number, run_debate, goal=goal, repeats=repeats, suffix=" through a provider"
                    )
                    debates = repeats * (number + 1) + 1
                    taken = (server.read_cpu_seconds() - cpu) / debates
                    lines.append(replace(row, details=f"{row.details}; CPU {taken * 1000:.0f} ms a debate"))
    return [
        Measurement("spawn to first verdict, 3 x 3 and a judge at 200 ms", first, "s", 1.5),
        Measurement("memory after a debate through a provider", memory, "MB", 100),
        *lines,
    ]


async def compare_with_one(
    number: int, run_debate: RunDebate, *, goal: float | None, repeats: int, suffix: str = ""
) -> Measurement:
    one, many = [], []
    await run_debate()
    for _ in range(repeats):
        one.append(await time_concurrent_debates(1, run_debate))
        many.append(await time_concurrent_debates(number, run_debate))
    return Measurement(
        f"{number} debates at once{suffix}",
        median(many) / median(one),
        goal=goal,
        details=f"one {format_spread(one)}, {number} {format_spread(many)}",
    )


async def time_concurrent_debates(number: int, run_debate: RunDebate) -> float:
    started = perf_counter()
    await asyncio.gather(*(run_debate() for _ in range(number)))
    return perf_counter() - started


async def measure_other_requests() -> list[Measurement]:
    """Latency of small requests while 50 debates run in the same server."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        environ = build_environment(
            COUNTERPOINT_DB=str(Path(folder) / "debates.db"), COUNTERPOINT_MODELS=SCRIPTED_MODEL
        )
        async with Server.start(*OUR_SERVER, environ=environ) as server:
            await server.initialize()
            idle = await measure_latencies(server, ())
            for format_name, rounds, name in (("verdict", 10, "spread out"), (FORMAT, 4, "in step")):
                busy: dict[str, list[float]] = {}
                for _ in range(1 if format_name == "verdict" else 4):
                    running = [
                        asyncio.create_task(run_full_debate(server, format_name, rounds)) for _ in range(50)
                    ]
                    await asyncio.sleep(0.1)
                    found = await measure_latencies(server, running)
                    for request, times in found.items():
                        busy.setdefault(request, []).extend(times)
                    await asyncio.gather(*running)
                for request, times in busy.items():
                    lines.append(build_latency_row(request, name, times, idle[request]))
    return lines


async def run_full_debate(server: Server, format_name: str, rounds: int) -> None:
    arguments = {**DEBATE, "max_rounds": rounds, "format": format_name}
    answer = await server.call_tool("start_debate", **arguments, wait_seconds=120, again=True)
    assert answer["status"] == "concluded", answer


async def measure_latencies(server: Server, debates: Sequence[asyncio.Task[None]]) -> dict[str, list[float]]:
    """Seconds of requests sent one after the other until `debates` are done; at least 100 of each kind."""
    times: dict[str, list[float]] = {"tools/list": [], "find_debates": []}
    while not all(task.done() for task in debates) or len(times["tools/list"]) < 100:
        for request, taken in times.items():
            started = perf_counter()
            if request == "tools/list":
                await server.request(request)
            else:
                await server.call_tool(request)
            taken.append(perf_counter() - started)
            await asyncio.sleep(0.005)
    return times


def build_latency_row(request: str, name: str, times: list[float], idle_times: list[float]) -> Measurement:
    return Measurement(
        f"`{request}` during 50 debates {name}, p99",
        percentile(times, 0.99) * 1000,
        "ms",
        15,
        details=f"of {len(times)}: p50 {format_ms(median(times))}, longest {format_ms(max(times))}; "
        f"idle p50 {format_ms(median(idle_times))}, p99 {format_ms(percentile(idle_times, 0.99))}",
    )
