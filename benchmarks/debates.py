"""One debate at a time: its time against that of its model calls, and the engine's cost of a turn."""

import json
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.child_processes import OUR_SERVER, Server, build_environment, read_request_bodies, start_stub
from benchmarks.litellm_baseline import PARALLEL_WAVES, SEQUENTIAL_WAVES, run_litellm_baseline
from benchmarks.measurements import Measurement, format_spread, median
from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.engine.debates import DebateManager
from server.models import Model, Request
from server.models.fakes.scripted import ScriptedModel
from server.models.providers.litellm import LitellmModel
from server.settings import Settings

REPEATS = 9
LATENCY = 0.2
CALLS_PER_DEBATE = 10

DEBATE: dict[str, Any] = {
    "question": "Should the billing service be rewritten in Rust this year?",
    "debaters": [{"name": name, "stance": f"{name}'s way"} for name in ("Ada", "Ben", "Cy")],
    "max_rounds": 3,
    "options": {"judges": {"count": 1, "both_orders": False}},
    "run": True,
}
"""3 debaters, 3 rounds, a judge with one reading: 10 calls."""

TURN_TEXT = "This point matters because the evidence and the practice of others weigh against it. " * 14
FINDING = json.dumps({"reasoning": "It answered.", "verdict": "It prevailed.", "winner": "Ada", "margin": 2})


async def measure_parallel() -> list[Measurement]:
    return await measure_over_stdio("second_opinion", PARALLEL_WAVES, LATENCY * len(PARALLEL_WAVES), 1.05)


async def measure_sequential() -> list[Measurement]:
    return await measure_over_stdio("verdict", SEQUENTIAL_WAVES, LATENCY * CALLS_PER_DEBATE, 1.03)


async def measure_over_stdio(
    format_name: str, waves: Sequence[int], critical_path_seconds: float, goal: float
) -> list[Measurement]:
    """A whole debate in one call to a warm server, against the longest chain of its model calls."""
    ours, bare = [], []
    async with start_stub(LATENCY) as url:
        with tempfile.TemporaryDirectory() as folder:
            environ = build_environment(
                COUNTERPOINT_DB=str(Path(folder) / "debates.db"),
                COUNTERPOINT_MODELS="openai/fine",
                OPENAI_API_BASE=url,
            )
            async with Server.start(*OUR_SERVER, environ=environ) as server:
                await server.initialize()
                await time_stdio_debate(server, format_name)
                bodies = await read_request_bodies(url)
                await run_litellm_baseline(url, bodies, waves)
                for _ in range(REPEATS):
                    ours.append(await time_stdio_debate(server, format_name))
                    started = perf_counter()
                    await run_litellm_baseline(url, bodies, waves)
                    bare.append(perf_counter() - started)
        received = len(await read_request_bodies(url))
    assert received == 2 * CALLS_PER_DEBATE * (REPEATS + 1), received
    name = "together" if goal == 1.05 else "in sequence"
    spreads = f"bare litellm {format_spread(bare)}, ours over MCP {format_spread(ours)}"
    how = f"{critical_path_seconds:.1f} s of calls; {spreads}"
    return [
        Measurement(
            f"3 x 3 and a judge, {name}, {LATENCY * 1000:.0f} ms a call",
            median(ours) / critical_path_seconds,
            goal=goal,
            details=how,
        ),
        Measurement("- bare litellm, the same calls", median(bare) / critical_path_seconds),
        Measurement("- ours to bare litellm", median(ours) / median(bare)),
    ]


async def time_stdio_debate(server: Server, format_name: str) -> float:
    started = perf_counter()
    answer = await server.call_tool("start_debate", **DEBATE, format=format_name, wait_seconds=60, again=True)
    taken = perf_counter() - started
    assert answer["status"] == "concluded", answer
    return taken


async def measure_turn() -> list[Measurement]:
    """The engine's time per turn. Each turn is durable before the next call."""
    lines = []
    model = ScriptedModel(constant_reply)
    with tempfile.TemporaryDirectory() as folder:
        times: dict[str, list[float]] = {"verdict": [], "second_opinion": []}
        commits = []
        async with open_manager(
            Settings(db=str(Path(folder) / "a.db")), {"fine": model}, environ={}
        ) as manager:
            for repeat in range(41):
                for format_name, taken in times.items():
                    seconds = await time_debate(manager, format_name)
                    if repeat:
                        taken.append(seconds / CALLS_PER_DEBATE)
                commits.append(time_bare_commit(folder))
        for format_name, name in (("verdict", "in sequence"), ("second_opinion", "together")):
            lines.append(
                Measurement(
                    f"engine cost of a durable turn, {name}, model at 0 ms",
                    median(times[format_name]) * 1000,
                    "ms",
                    3,
                    details=f"{format_spread(times[format_name])}; "
                    f"a bare SQLite commit of 2 kB on this disk {format_spread(commits)}",
                )
            )
        lines.append(await measure_litellm_turn(folder))
    return lines


def time_bare_commit(folder: str) -> float:
    """Seconds of one durable transaction on the same disk: the lower bound of a durable turn."""
    with closing(sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)) as db:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        db.execute("create table if not exists entry (text)")
        started = perf_counter()
        for _ in range(20):
            db.execute("insert into entry values (?)", ("x" * 2000,))
        return (perf_counter() - started) / 20


async def measure_litellm_turn(folder: str) -> Measurement:
    os.environ.setdefault("OPENAI_API_KEY", "sk-loopback")
    ours, bare = [], []
    async with start_stub() as url:
        models: dict[str, Model] = {"fine": LitellmModel("openai/fine", api_base=url)}
        async with open_manager(Settings(db=str(Path(folder) / "b.db")), models, environ={}) as manager:
            await time_debate(manager, "verdict")
            bodies = await read_request_bodies(url)
            await run_litellm_baseline(url, bodies, SEQUENTIAL_WAVES)
            for _ in range(25):
                ours.append(await time_debate(manager, "verdict") / CALLS_PER_DEBATE)
                started = perf_counter()
                await run_litellm_baseline(url, bodies, SEQUENTIAL_WAVES)
                bare.append((perf_counter() - started) / CALLS_PER_DEBATE)
    how = f"a call by bare litellm {format_spread(bare)}, a turn of ours {format_spread(ours)}"
    return Measurement(
        "a durable turn through litellm, provider at 0 ms", median(ours) / median(bare), goal=1.5, details=how
    )


async def time_debate(manager: DebateManager, format_name: str, model: str = "fine") -> float:
    """Seconds of one debate."""
    started = perf_counter()
    snapshot = await manager.start(build_request(format_name, model), actor="benchmark")
    snapshot = await manager.follow(snapshot.id, wait=600)
    taken = perf_counter() - started
    assert snapshot.status == "concluded", snapshot.status
    assert len(snapshot.debate.turns) + len(snapshot.debate.judgments) == CALLS_PER_DEBATE, (
        snapshot.debate.failures
    )
    return taken


def build_request(format_name: str, model: str) -> DebateRequest:
    return DebateRequest.model_validate({**DEBATE, "format": format_name, "models": [model]})


def constant_reply(request: Request) -> str:
    return FINDING if request.prompt.schema else TURN_TEXT
