"""One debate at a time: how much longer it takes than its models, and what a turn costs the engine."""

import json
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.plain import IN_SEQUENCE, TOGETHER, litellm_alone
from benchmarks.report import Line, median, spread
from benchmarks.wire import OURS, Server, asked, environment, stub
from server.compose import open_hall
from server.debate.commands.requests import Proposal
from server.engine.debates import Hall
from server.models import Model, Request
from server.models.fakes.scripted import ScriptedModel
from server.models.litellm.client import LitellmModel
from server.settings import Settings

REPEATS = 9
LATENCY = 0.2
CALLS = 10

DEBATE: dict[str, Any] = {
    "question": "Should the billing service be rewritten in Rust this year?",
    "debaters": [{"name": name, "stance": f"{name}'s way"} for name in ("Ada", "Ben", "Cy")],
    "max_rounds": 3,
    "options": {"judges": {"count": 1, "both_orders": False}},
    "run": True,
}
"""3 debaters, 3 rounds, a judge who reads once: 10 calls."""

TURN = "This point matters because the evidence and the practice of others weigh against it. " * 14
FINDING = json.dumps({"reasoning": "A answered.", "verdict": "A prevailed.", "winner": "A", "margin": 2})


async def together() -> list[Line]:
    return await over_stdio("second_opinion", TOGETHER, LATENCY * len(TOGETHER), 1.05)


async def sequence() -> list[Line]:
    return await over_stdio("verdict", IN_SEQUENCE, LATENCY * CALLS, 1.03)


async def over_stdio(form: str, waves: Sequence[int], critical: float, goal: float) -> list[Line]:
    """A whole debate in one call to a warm server, through litellm, against the longest chain of calls."""
    ours, bare = [], []
    async with stub(LATENCY) as url:
        with tempfile.TemporaryDirectory() as folder:
            environ = environment(
                COUNTERPOINT_DB=str(Path(folder) / "debates.db"),
                COUNTERPOINT_MODELS="openai/fine",
                OPENAI_API_BASE=url,
            )
            async with Server.start(*OURS, environ=environ) as server:
                await server.hello()
                await timed_debate(server, form)
                bodies = await asked(url)
                await litellm_alone(url, bodies, waves)
                for _ in range(REPEATS):
                    ours.append(await timed_debate(server, form))
                    begun = perf_counter()
                    await litellm_alone(url, bodies, waves)
                    bare.append(perf_counter() - begun)
        received = len(await asked(url))
    assert received == 2 * CALLS * (REPEATS + 1), received
    name = "together" if goal == 1.05 else "in sequence"
    how = f"{critical:.1f} s of calls; bare litellm {spread(bare)}, ours over MCP {spread(ours)}"
    return [
        Line(
            f"3 x 3 and a judge, {name}, {LATENCY * 1000:.0f} ms a call",
            median(ours) / critical,
            goal=goal,
            how=how,
        ),
        Line("- bare litellm, the same calls", median(bare) / critical),
        Line("- ours to bare litellm", median(ours) / median(bare)),
    ]


async def timed_debate(server: Server, form: str) -> float:
    begun = perf_counter()
    answer = await server.call("start_debate", **DEBATE, format=form, wait_seconds=60)
    taken = perf_counter() - begun
    assert answer["status"] == "concluded", answer
    return taken


async def turn() -> list[Line]:
    """What a turn costs besides its model, each one on the disk before the next is asked for."""
    lines = []
    model = ScriptedModel(always)
    with tempfile.TemporaryDirectory() as folder:
        times: dict[str, list[float]] = {"verdict": [], "second_opinion": []}
        commits = []
        async with open_hall(Settings(db=str(Path(folder) / "a.db")), {"fine": model}, environ={}) as hall:
            for repeat in range(41):
                for form, taken in times.items():
                    seconds = await debated(hall, form)
                    if repeat:
                        taken.append(seconds / CALLS)
                commits.append(bare_commit(folder))
        for form, name in (("verdict", "in sequence"), ("second_opinion", "together")):
            lines.append(
                Line(
                    f"engine cost of a durable turn, {name}, model at 0 ms",
                    median(times[form]) * 1000,
                    "ms",
                    3,
                    how=f"{spread(times[form])}; a bare SQLite commit of 2 kB on this disk {spread(commits)}",
                )
            )
        lines.append(await turn_through_litellm(folder))
    return lines


def bare_commit(folder: str) -> float:
    """One durable transaction on the same disk: the floor of what is durable."""
    with closing(sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)) as db:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        db.execute("create table if not exists entry (text)")
        begun = perf_counter()
        for _ in range(20):
            db.execute("insert into entry values (?)", ("x" * 2000,))
        return (perf_counter() - begun) / 20


async def turn_through_litellm(folder: str) -> Line:
    os.environ.setdefault("OPENAI_API_KEY", "sk-loopback")
    ours, bare = [], []
    async with stub() as url:
        models: dict[str, Model] = {"fine": LitellmModel("openai/fine", api_base=url)}
        async with open_hall(Settings(db=str(Path(folder) / "b.db")), models, environ={}) as hall:
            await debated(hall, "verdict")
            bodies = await asked(url)
            await litellm_alone(url, bodies, IN_SEQUENCE)
            for _ in range(25):
                ours.append(await debated(hall, "verdict") / CALLS)
                begun = perf_counter()
                await litellm_alone(url, bodies, IN_SEQUENCE)
                bare.append((perf_counter() - begun) / CALLS)
    how = f"a call by bare litellm {spread(bare)}, a turn of ours {spread(ours)}"
    return Line(
        "a durable turn through litellm, provider at 0 ms", median(ours) / median(bare), goal=1.5, how=how
    )


async def debated(hall: Hall, form: str, model: str = "fine") -> float:
    """The seconds that one debate takes in a hall."""
    begun = perf_counter()
    case = await hall.start(proposal(form, model), actor="benchmark")
    case = await hall.follow(case.id, wait=600)
    taken = perf_counter() - begun
    assert case.status == "concluded", case.status
    assert len(case.debate.turns) + len(case.debate.judged) == CALLS, case.debate.failures
    return taken


def proposal(form: str, model: str) -> Proposal:
    return Proposal.model_validate({**DEBATE, "format": form, "models": [model]})


def always(request: Request) -> str:
    return FINDING if request.prompt.schema else TURN
