"""Many debates at once: what they cost each other, and what everybody else waits meanwhile."""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.debates import DEBATE, LATENCY, debated
from benchmarks.plain import TOGETHER, litellm_alone
from benchmarks.report import Line, median, ms, percentile, spread
from benchmarks.wire import OURS, Server, asked, environment, stub
from server.compose import open_hall
from server.models import Model
from server.models.litellm.client import LitellmModel
from server.settings import Settings

SCRIPTED = "scripted?delay=0.2"
FORM = "second_opinion"
Debate = Callable[[], Awaitable[Any]]


async def crowd() -> list[Line]:
    """8 and 200 debates at once, against one by itself, on a model in this process."""
    async with AsyncExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        settings = Settings(db=str(Path(folder) / "a.db"))
        hall = await opened.enter_async_context(open_hall(settings, environ={}))

        async def ours() -> float:
            return await debated(hall, FORM, SCRIPTED)

        return [
            await against_one(8, ours, goal=1.1, repeats=7),
            await against_one(200, ours, goal=2.0, repeats=5),
        ]


async def providers() -> list[Line]:
    """The same through litellm and a provider, next to litellm alone."""
    os.environ.setdefault("OPENAI_API_KEY", "sk-loopback")
    lines = []
    async with AsyncExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        url = await opened.enter_async_context(stub(LATENCY))
        models: dict[str, Model] = {"fine": LitellmModel("openai/fine", api_base=url)}
        settings = Settings(db=str(Path(folder) / "a.db"))
        hall = await opened.enter_async_context(open_hall(settings, models, environ={}))
        await debated(hall, FORM)
        bodies = await asked(url)

        async def ours() -> float:
            return await debated(hall, FORM)

        async def bare() -> None:
            await litellm_alone(url, bodies, TOGETHER)

        for number, repeats, goal in ((8, 5, 1.1), (200, 2, 2.0)):
            mine = await against_one(number, ours, goal=goal, repeats=repeats, through=" through litellm")
            alone = await against_one(number, bare, goal=None, repeats=repeats, through=" by litellm alone")
            lines += [mine, alone]
    return lines


async def against_one(
    number: int, debate: Debate, *, goal: float | None, repeats: int, through: str = ""
) -> Line:
    one, many = [], []
    await debate()
    for _ in range(repeats):
        one.append(await at_once(1, debate))
        many.append(await at_once(number, debate))
    return Line(
        f"{number} debates at once{through}",
        median(many) / median(one),
        goal=goal,
        how=f"one {spread(one)}, {number} {spread(many)}",
    )


async def at_once(number: int, debate: Debate) -> float:
    begun = perf_counter()
    await asyncio.gather(*(debate() for _ in range(number)))
    return perf_counter() - begun


async def others() -> list[Line]:
    """How long small requests take while 50 debates run in the same server."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        environ = environment(COUNTERPOINT_DB=str(Path(folder) / "debates.db"), COUNTERPOINT_MODELS=SCRIPTED)
        async with Server.start(*OURS, environ=environ) as server:
            await server.hello()
            idle = await latencies(server, ())
            for form, rounds, name in (("verdict", 10, "spread out"), (FORM, 4, "in step")):
                busy: dict[str, list[float]] = {}
                for _ in range(1 if form == "verdict" else 4):
                    running = [asyncio.create_task(full_debate(server, form, rounds)) for _ in range(50)]
                    await asyncio.sleep(0.1)
                    found = await latencies(server, running)
                    for request, times in found.items():
                        busy.setdefault(request, []).extend(times)
                    await asyncio.gather(*running)
                for request, times in busy.items():
                    lines.append(latency_line(request, name, times, idle[request]))
    return lines


async def full_debate(server: Server, form: str, rounds: int) -> None:
    asked_for = {**DEBATE, "max_rounds": rounds, "format": form}
    answer = await server.call("start_debate", **asked_for, wait_seconds=120)
    assert answer["status"] == "concluded", answer


async def latencies(server: Server, running: Sequence[asyncio.Task[None]]) -> dict[str, list[float]]:
    """Times of one request after the other, until these are done; a hundred of each at least."""
    times: dict[str, list[float]] = {"tools/list": [], "find_debates": []}
    while not all(task.done() for task in running) or len(times["tools/list"]) < 100:
        for request, taken in times.items():
            begun = perf_counter()
            if request == "tools/list":
                await server.ask(request)
            else:
                await server.call(request)
            taken.append(perf_counter() - begun)
            await asyncio.sleep(0.005)
    return times


def latency_line(request: str, name: str, times: list[float], idle: list[float]) -> Line:
    return Line(
        f"`{request}` during 50 debates {name}, p99",
        percentile(times, 0.99) * 1000,
        "ms",
        20,
        how=f"of {len(times)}: p50 {ms(median(times))}, longest {ms(max(times))}; "
        f"idle p50 {ms(median(idle))}, p99 {ms(percentile(idle, 0.99))}",
    )
