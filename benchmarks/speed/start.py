"""The start of a server: CPU and time to `tools/list`, and memory before and after a debate."""

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
from benchmarks.speed.debates import APART, run_debate
from benchmarks.table import Measurement, Samples, median, shorten

REPEATS = shorten(12)
MEMORY_REPEATS = shorten(5)
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
                    goal=1.0,
                    ours=ours,
                    bare=bare,
                    bare_name=BARE,
                    details=f"wall {median(ours.wall) / median(bare.wall):.2f} x",
                )
            )
    return lines


async def measure_memory() -> list[Measurement]:
    """Memory of the process after `tools/list` and after a debate through a provider, and the size of that list."""
    idle, bare, after = [], [], []
    listed: list[dict[str, Any]] = []
    async with start_stub() as url:
        for _ in range(MEMORY_REPEATS):
            async with Server.start(*BARE_SERVER) as server:
                await server.initialize()
                await server.request("tools/list")
                bare.append(server.read_memory() / 1024)
            with tempfile.TemporaryDirectory() as folder:
                async with Server.start(*OUR_SERVER, environ=provider_environment(folder, url)) as server:
                    await server.initialize()
                    listed = (await server.request("tools/list"))["tools"]
                    idle.append(server.read_memory() / 1024)
                    await run_debate(server, APART)
                    after.append(server.read_memory() / 1024)
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in listed]
    outputs = [tool.get("outputSchema") for tool in listed]
    how = f"ours {median(idle):.1f} MB, {BARE} {median(bare):.1f} MB"
    return [
        Measurement("idle memory beyond a bare server", median(idle) - median(bare), "MB", 10, details=how),
        Measurement("memory after a debate through a provider", median(after), "MB", 100),
        Measurement("`tools/list`, shown to a model", count_bytes(shown), "bytes", 12_000),
        Measurement("`tools/list`, output schemas", count_bytes(outputs), "bytes", 12_000),
    ]


def count_bytes(data: object) -> int:
    """Size as compact JSON."""
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
