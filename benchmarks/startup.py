"""What a client waits for and pays before anything is asked: the start, the memory, the list of tools."""

import json
import tempfile
from pathlib import Path

from benchmarks.child_processes import BARE_SERVER, OUR_SERVER, Server, build_environment, time_to_tools_list
from benchmarks.measurements import Measurement, format_spread, median

REPEATS = 15


async def measure_startup() -> list[Measurement]:
    """Spawn to `tools/list`, ours and bare by turns, with a database that exists already."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        environ = build_environment(COUNTERPOINT_DB=str(Path(folder) / "debates.db"))
        for era, modern in (("with a handshake", False), ("2026-07-28", True)):
            times: dict[tuple[str, ...], list[float]] = {OUR_SERVER: [], BARE_SERVER: []}
            for repeat in range(REPEATS + 1):
                for command, taken in times.items():
                    seconds = await time_to_tools_list(*command, environ=environ, is_modern=modern)
                    if repeat:  # the first compiles, and creates the database
                        taken.append(seconds)
            lines.append(
                Measurement(
                    f"spawn to `tools/list`, {era}",
                    median(times[OUR_SERVER]) / median(times[BARE_SERVER]),
                    goal=1.15,
                    details=f"bare {format_spread(times[BARE_SERVER])}, ours {format_spread(times[OUR_SERVER])}",
                )
            )
    return lines


async def measure_memory() -> list[Measurement]:
    """What the process holds after `tools/list`, and how long that list is."""
    held: dict[tuple[str, ...], list[float]] = {OUR_SERVER: [], BARE_SERVER: []}
    listed: list[object] = []
    with tempfile.TemporaryDirectory() as folder:
        environ = build_environment(COUNTERPOINT_DB=str(Path(folder) / "debates.db"))
        for _ in range(5):
            for command, kilobytes in held.items():
                async with Server.start(*command, environ=environ) as server:
                    await server.initialize()
                    tools = (await server.request("tools/list"))["tools"]
                    listed = tools if command == OUR_SERVER else listed
                    kilobytes.append(server.read_memory() / 1024)
    ours, bare = median(held[OUR_SERVER]), median(held[BARE_SERVER])
    size = len(json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode())
    return [
        Measurement(
            "idle memory beyond a bare server",
            ours - bare,
            "MB",
            10,
            details=f"bare {bare:.1f}, ours {ours:.1f}",
        ),
        Measurement("`tools/list`", size, "bytes", 9000, details=f"{len(listed)} tools"),
    ]
