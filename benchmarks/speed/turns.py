"""The CPU of a turn: the engine's alone, and all of a server's where a provider answers at once."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from benchmarks.processes.children import (
    OUR_SERVER,
    Server,
    provider_environment,
    read_request_bodies,
    start_stub,
)
from benchmarks.processes.references import IN_SEQUENCE, TOGETHER, measure_bare_chains, measure_bare_commits
from benchmarks.speed.debates import APART, CALLS_PER_DEBATE, DEBATE, run_debate
from benchmarks.table import Measurement, Samples, median, shorten
from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.engine.debates import DebateManager
from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings

REPEATS = shorten(40)
PROVIDER_REPEATS = shorten(20)

TURN_TEXT = "This point matters because the evidence and the practice of others weigh against it. " * 14
FINDING = json.dumps({"reasoning": "It answered.", "verdict": "It prevailed.", "winner": "Ada", "margin": 2})


def constant_reply(request: Request) -> str:
    return FINDING if request.prompt.schema else TURN_TEXT


async def measure_turn() -> list[Measurement]:
    """The engine's cost of a turn with a model that answers at once. Each turn is durable before the next call."""
    samples = {"verdict": Samples(), APART: Samples()}
    with tempfile.TemporaryDirectory() as folder:
        models = {"fine": ScriptedModel(constant_reply, record_requests=False)}
        async with open_manager(Settings(db=str(Path(folder) / "a.db")), models, environ={}) as manager:
            for repeat in range(REPEATS + 5):
                for format_name, taken in samples.items():
                    debate = Samples()
                    with debate.measure(process_time, CALLS_PER_DEBATE):
                        await run_to_end(manager, format_name)
                    if repeat >= 5:
                        taken.add(debate)
            commits = measure_bare_commits(Path(folder))
    return [
        Measurement(
            f"engine, CPU of a durable turn, {name}, model at 0 ms",
            median(samples[format_name].cpu) * 1000,
            "ms",
            1.5,
            ours=samples[format_name],
            bare=commits,
            bare_name="an SQLite insert of 2 kB with fsync",
        )
        for format_name, name in (("verdict", "in sequence"), (APART, "together"))
    ]


async def run_to_end(manager: DebateManager, format_name: str) -> None:
    request = DebateRequest.model_validate({**DEBATE, "format": format_name, "models": ["fine"]})
    snapshot = await manager.start(request, actor="benchmark")
    snapshot = await manager.follow(snapshot.id, wait=600)
    assert snapshot.status == "concluded", snapshot.status
    assert not snapshot.debate.failures


async def measure_provider_turn() -> list[Measurement]:
    """All of the server's CPU, divided by the calls of the debate."""
    return [
        await measure_through("verdict", IN_SEQUENCE, "in sequence"),
        await measure_through(APART, TOGETHER, "together"),
    ]


async def measure_through(format_name: str, waves: Sequence[int], name: str) -> Measurement:
    ours = Samples()
    async with start_stub() as url:
        with tempfile.TemporaryDirectory() as folder:
            async with Server.start(*OUR_SERVER, environ=provider_environment(folder, url)) as server:
                await server.initialize()
                await run_debate(server, format_name)
                bodies = await read_request_bodies(url)
                await run_debate(server, format_name)
                for _ in range(PROVIDER_REPEATS):
                    with ours.measure(server.read_cpu, CALLS_PER_DEBATE):
                        await run_debate(server, format_name)
        bare = await measure_bare_chains(url, bodies, waves, PROVIDER_REPEATS)
    for seconds in (bare.cpu, bare.wall):
        seconds[:] = [one / CALLS_PER_DEBATE for one in seconds]
    return Measurement(
        f"CPU of a turn through a provider, {name}, provider at 0 ms",
        median(ours.cpu) * 1000,
        "ms",
        2.5,
        ours=ours,
        bare=bare,
        bare_name="a call by aiohttp alone",
    )
