"""Many debates at once over stdio, with default settings: their time against that of one."""

import asyncio
import tempfile
from pathlib import Path

from benchmarks.processes.children import (
    OUR_SERVER,
    Server,
    build_environment,
    provider_environment,
    read_request_bodies,
    start_stub,
)
from benchmarks.processes.references import TOGETHER, measure_bare_chains
from benchmarks.speed.debates import LATENCY, run_debate
from benchmarks.table import Measurement, Samples, median

SCRIPTED_MODEL = f"scripted?delay={LATENCY}&chars=1200"
FORMAT = "second_opinion"
SIZES = ((8, 5, 1.1), (50, 3, 1.5), (200, 2, 4.0))
"""(debates at once, repeats, goal)."""


async def measure_scripted() -> list[Measurement]:
    """With a model in the server's process."""
    with tempfile.TemporaryDirectory() as folder:
        environ = build_environment(
            COUNTERPOINT_DB=str(Path(folder) / "debates.db"), COUNTERPOINT_MODELS=SCRIPTED_MODEL
        )
        async with Server.start(*OUR_SERVER, environ=environ) as server:
            await server.initialize()
            return await measure_sizes(server, "scripted")


async def measure_providers() -> list[Measurement]:
    """With a provider, and as reference the same calls, so many at once, by a client alone."""
    async with start_stub(LATENCY) as url:
        with tempfile.TemporaryDirectory() as folder:
            async with Server.start(*OUR_SERVER, environ=provider_environment(folder, url)) as server:
                await server.initialize()
                await run_debate(server, FORMAT)
                bodies = await read_request_bodies(url)
                lines = await measure_sizes(server, "through a provider")
        for line, (number, repeats, _) in zip(lines[1:], SIZES, strict=True):
            line.bare = await measure_bare_chains(url, bodies, TOGETHER, repeats, number)
            line.bare_name = f"the calls of {number} by httpx2 alone"
    return lines


async def measure_sizes(server: Server, name: str) -> list[Measurement]:
    one = Samples()
    lines = [Measurement(f"1 debate, {name}", 1.0, ours=one)]
    await run_many(server, 8)
    for number, repeats, goal in SIZES:
        many = Samples()
        for _ in range(repeats):
            with one.measure(server.read_cpu):
                await run_many(server, 1)
            with many.measure(server.read_cpu):
                await run_many(server, number)
        lines.append(
            Measurement(
                f"{number} debates at once, {name}, to one",
                median(many.wall) / median(one.wall),
                goal=goal,
                ours=many,
                details=f"CPU {median(many.cpu) / number * 1000:.1f} ms a debate",
            )
        )
    return lines


async def run_many(server: Server, number: int) -> None:
    await asyncio.gather(*(run_debate(server, FORMAT) for _ in range(number)))
