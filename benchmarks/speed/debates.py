"""Debates over stdio: one through a provider against the longest chain of its calls, and many at once."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.processes.children import (
    OUR_SERVER,
    Server,
    build_environment,
    provider_environment,
    read_request_bodies,
    start_stub,
)
from benchmarks.processes.references import TOGETHER, measure_bare_chains
from benchmarks.table import Measurement, Samples, median, shorten

REPEATS = shorten(9)
LATENCY = 0.2
CALLS_PER_DEBATE = 10

AT_ONCE = shorten(100, 2)
LONG_LATENCY = 2

DEBATE: dict[str, Any] = {
    "question": "Should the billing service be rewritten in Rust this year?",
    "debaters": [{"name": name, "stance": f"{name}'s way"} for name in ("Ada", "Ben", "Cy")],
    "max_rounds": 3,
    "options": {"judges": {"count": 1, "both_orders": False}, "ballots": "none"},
    "run": True,
}
"""3 debaters, 3 rounds, a judge with one reading, no private ballots: 10 calls."""

APART = "advocates"
"""The format whose debaters speak at once in a round."""


async def run_debate(server: Server, format_name: str) -> None:
    """A whole debate in one call."""
    arguments = {**DEBATE, "format": format_name, "wait_seconds": 45, "again": True}
    answer = await server.call_tool("start_debate", **arguments)
    while answer["status"] == "running":  # a long one outlasts a call
        answer = await server.call_tool("get_verdict", debate_id=answer["debate_id"], wait_seconds=45)
    assert answer["status"] == "concluded", answer


async def measure_together() -> list[Measurement]:
    """A debate in one call to a warm server, against the longest chain of its model calls."""
    ours = Samples()
    async with start_stub(LATENCY) as url:
        with tempfile.TemporaryDirectory() as folder:
            async with Server.start(*OUR_SERVER, environ=provider_environment(folder, url)) as server:
                await server.initialize()
                await run_debate(server, APART)
                bodies = await read_request_bodies(url)
                for _ in range(REPEATS):
                    with ours.measure(server.read_cpu):
                        await run_debate(server, APART)
        bare = await measure_bare_chains(url, bodies, TOGETHER, REPEATS)
    assert len(bodies) == CALLS_PER_DEBATE, len(bodies)
    chain = LATENCY * len(TOGETHER)
    return [
        Measurement(
            f"3 x 3 and a judge, together, {LATENCY * 1000:.0f} ms a call, to the longest chain",
            median(ours.wall) / chain,
            goal=1.05,
            ours=ours,
            bare=bare,
            bare_name="the same calls by aiohttp alone",
        )
    ]


async def measure_throughput() -> list[Measurement]:
    """Debates at once in one server, whose models take two seconds: how many a minute a core could hold."""
    taken = Samples()
    model = f"scripted?delay={LONG_LATENCY}&chars=1200"
    with tempfile.TemporaryDirectory() as folder:
        environ = build_environment(
            COUNTERPOINT_DB=str(Path(folder) / "debates.db"), COUNTERPOINT_MODELS=model
        )
        async with Server.start(*OUR_SERVER, environ=environ) as server:
            await server.initialize()
            await run_debate(server, APART)
            with taken.measure(server.read_cpu):
                await asyncio.gather(*(run_debate(server, APART) for _ in range(AT_ONCE)))
    return [
        Measurement(
            "debates a minute and core, two-second models",
            60 / (taken.cpu[0] / AT_ONCE),
            "debates",
            1_000,
            at_least=True,
            ours=taken,
            details=f"by the CPU of {AT_ONCE} at once, whose calls take {LONG_LATENCY * len(TOGETHER)} s",
        )
    ]
