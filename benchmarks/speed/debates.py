"""One debate at a time over stdio, through a provider: its time against the longest chain of its calls."""

import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks.processes.children import (
    OUR_SERVER,
    Server,
    provider_environment,
    read_request_bodies,
    start_stub,
)
from benchmarks.processes.references import IN_SEQUENCE, TOGETHER, measure_bare_chains
from benchmarks.table import Measurement, Samples, median
from server.debate.commands.requests import OptionsInput

REPEATS = 9
LATENCY = 0.2
CALLS_PER_DEBATE = 10
CHAIN_TOGETHER = LATENCY * len(TOGETHER)

NO_BALLOTS = {"ballots": "none"} if "ballots" in OptionsInput.model_fields else {}
"""The option of a debate without private ballots, which older checkouts do not know."""

DEBATE: dict[str, Any] = {
    "question": "Should the billing service be rewritten in Rust this year?",
    "debaters": [{"name": name, "stance": f"{name}'s way"} for name in ("Ada", "Ben", "Cy")],
    "max_rounds": 3,
    "options": {"judges": {"count": 1, "both_orders": False}, **NO_BALLOTS},
    "run": True,
}
"""3 debaters, 3 rounds, a judge with one reading, no private ballots: 10 calls."""


async def run_debate(server: Server, format_name: str, **changes: Any) -> dict[str, Any]:
    """A whole debate in one call. Returns its result."""
    arguments = {**DEBATE, "format": format_name, "wait_seconds": 45, "again": True, **changes}
    answer = await server.call_tool("start_debate", **arguments)
    while answer["status"] == "running":  # a long one outlasts a call
        answer = await server.call_tool("get_verdict", debate_id=answer["debate_id"], wait_seconds=45)
    assert answer["status"] == "concluded", answer
    return answer


async def measure_together() -> list[Measurement]:
    return await measure_chain("second_opinion", "together", TOGETHER, 1.04)


async def measure_sequence() -> list[Measurement]:
    return await measure_chain("verdict", "in sequence", IN_SEQUENCE, 1.03)


async def measure_chain(format_name: str, name: str, waves: Sequence[int], goal: float) -> list[Measurement]:
    """A debate in one call to a warm server, against the longest chain of its model calls."""
    ours, bare = Samples(), Samples()
    async with start_stub(LATENCY) as url:
        with tempfile.TemporaryDirectory() as folder:
            async with Server.start(*OUR_SERVER, environ=provider_environment(folder, url)) as server:
                await server.initialize()
                await run_debate(server, format_name)
                bodies = await read_request_bodies(url)
                for _ in range(REPEATS):
                    with ours.measure(server.read_cpu):
                        await run_debate(server, format_name)
        bare = await measure_bare_chains(url, bodies, waves, REPEATS // 2)
    assert len(bodies) == CALLS_PER_DEBATE, len(bodies)
    chain = LATENCY * len(waves)
    return [
        Measurement(
            f"3 x 3 and a judge, {name}, {LATENCY * 1000:.0f} ms a call, to the longest chain",
            median(ours.wall) / chain,
            goal=goal,
            ours=ours,
            bare=bare,
            bare_name="the same calls by httpx2 alone",
            details=f"{chain:.1f} s of calls; httpx2 alone {median(bare.wall) / chain:.3f} x",
        )
    ]
