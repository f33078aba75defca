"""The start of a server: CPU and time to `tools/list`, memory, and the first debate."""

import json
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.processes.children import (
    BARE_SERVER,
    OUR_SERVER,
    Server,
    build_environment,
    provider_environment,
    start_stub,
)
from benchmarks.speed.debates import CHAIN_TOGETHER, LATENCY, run_debate
from benchmarks.table import Measurement, Samples, median

REPEATS = 12
BARE = "bare server"


async def measure_start() -> list[Measurement]:
    """From spawn to the answer to `tools/list`, ours and the bare server alternating, with an existing database."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        environ = build_environment(COUNTERPOINT_DB=str(Path(folder) / "debates.db"))
        for era, is_modern in (("with a handshake", False), ("2026-07-28", True)):
            ours, bare = Samples(), Samples()
            for repeat in range(REPEATS + 1):
                for command, samples in ((OUR_SERVER, ours), (BARE_SERVER, bare)):
                    started = perf_counter()
                    async with Server.start(*command, environ=environ, is_modern=is_modern) as server:
                        await server.initialize()
                        await server.request("tools/list")
                        if repeat:  # the first run compiles modules and creates the database
                            samples.wall.append(perf_counter() - started)
                            samples.cpu.append(server.read_cpu())
            lines.append(
                Measurement(
                    f"spawn to `tools/list`, {era}, CPU",
                    median(ours.cpu) / median(bare.cpu),
                    goal=1.05,
                    ours=ours,
                    bare=bare,
                    bare_name=BARE,
                    details=f"wall {median(ours.wall) / median(bare.wall):.2f} x",
                )
            )
    return lines


async def measure_memory() -> list[Measurement]:
    """Memory of the process after `tools/list`, and the size of that list."""
    memory: dict[tuple[str, ...], list[float]] = {OUR_SERVER: [], BARE_SERVER: []}
    listed: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        environ = build_environment(COUNTERPOINT_DB=str(Path(folder) / "debates.db"))
        for _ in range(5):
            for command, megabytes in memory.items():
                async with Server.start(*command, environ=environ) as server:
                    await server.initialize()
                    tools = (await server.request("tools/list"))["tools"]
                    listed = tools if command == OUR_SERVER else listed
                    megabytes.append(server.read_memory() / 1024)
    ours, bare = median(memory[OUR_SERVER]), median(memory[BARE_SERVER])
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in listed]
    outputs = [tool.get("outputSchema") for tool in listed]
    how = f"ours {ours:.1f} MB, {BARE} {bare:.1f} MB"
    return [
        Measurement("idle memory beyond a bare server", ours - bare, "MB", 10, details=how),
        Measurement("`tools/list`, shown to a model", count_bytes(shown), "bytes", 12_000),
        Measurement("`tools/list`, output schemas", count_bytes(outputs), "bytes", 16_000),
    ]


def count_bytes(data: object) -> int:
    """Size as compact JSON."""
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())


async def measure_first_verdict() -> list[Measurement]:
    """From spawn to the first verdict through a provider, with a new database each time, and memory after it."""
    samples, memory, started_bare = Samples(), [], Samples()
    async with start_stub(LATENCY) as url:
        for repeat in range(6):
            with tempfile.TemporaryDirectory() as folder:
                for command, taken in ((BARE_SERVER, started_bare), (OUR_SERVER, samples)):
                    started = perf_counter()
                    async with Server.start(*command, environ=provider_environment(folder, url)) as server:
                        await server.initialize()
                        if command == OUR_SERVER:
                            await run_debate(server, "second_opinion")
                        if repeat:
                            taken.wall.append(perf_counter() - started)
                            taken.cpu.append(server.read_cpu())
                            memory.append(server.read_memory() / 1024)
    ours, bare = memory[1::2], memory[::2]
    bare_name = f"{BARE}, handshake"
    return [
        Measurement(
            f"spawn to first verdict, 3 x 3 and a judge at {LATENCY * 1000:.0f} ms",
            median(samples.wall),
            "s",
            1.5,
            ours=samples,
            bare=started_bare,
            bare_name=bare_name,
            details=f"{CHAIN_TOGETHER:.1f} s of it are calls",
        ),
        Measurement(
            "memory after a debate through a provider",
            median(ours),
            "MB",
            100,
            details=f"{BARE} {median(bare):.1f} MB",
        ),
    ]
