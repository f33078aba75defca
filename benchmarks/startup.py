"""The start of a server: time to `tools/list`, memory, and the size of the list."""

import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.child_processes import BARE_SERVER, OUR_SERVER, Server, build_environment, time_to_tools_list
from benchmarks.measurements import Measurement, format_spread, median

REPEATS = 15


async def measure_startup() -> list[Measurement]:
    """Time from spawn to `tools/list`, ours and the bare server alternating, with an existing database."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        environ = build_environment(COUNTERPOINT_DB=str(Path(folder) / "debates.db"))
        for era, modern in (("with a handshake", False), ("2026-07-28", True)):
            times: dict[tuple[str, ...], list[float]] = {OUR_SERVER: [], BARE_SERVER: []}
            for repeat in range(REPEATS + 1):
                for command, taken in times.items():
                    seconds = await time_to_tools_list(*command, environ=environ, is_modern=modern)
                    if repeat:  # the first run compiles modules and creates the database
                        taken.append(seconds)
            lines.append(
                Measurement(
                    f"spawn to `tools/list`, {era}",
                    median(times[OUR_SERVER]) / median(times[BARE_SERVER]),
                    goal=1.05,
                    details=f"bare {format_spread(times[BARE_SERVER])}, ours {format_spread(times[OUR_SERVER])}",
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
            for command, kilobytes in memory.items():
                async with Server.start(*command, environ=environ) as server:
                    await server.initialize()
                    tools = (await server.request("tools/list"))["tools"]
                    listed = tools if command == OUR_SERVER else listed
                    kilobytes.append(server.read_memory() / 1024)
    ours, bare = median(memory[OUR_SERVER]), median(memory[BARE_SERVER])
    inputs = [{key: part for key, part in tool.items() if key != "outputSchema"} for tool in listed]
    outputs = [tool.get("outputSchema") for tool in listed]
    return [
        Measurement(
            "idle memory beyond a bare server",
            ours - bare,
            "MB",
            10,
            details=f"bare {bare:.1f}, ours {ours:.1f}",
        ),
        Measurement("`tools/list`, shown to a model", count_bytes(inputs), "bytes", 12_000),
        Measurement("`tools/list`, output schemas", count_bytes(outputs), "bytes", 16_000),
    ]


def count_bytes(data: object) -> int:
    """Size as compact JSON."""
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
