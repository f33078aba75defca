"""What a client waits for and pays before anything is asked: the start, the memory, the list of tools."""

import json
import tempfile
from pathlib import Path

from benchmarks.report import Line, median, spread
from benchmarks.wire import BARE, OURS, Server, environment, until_listed

REPEATS = 15


async def start() -> list[Line]:
    """Spawn to `tools/list`, ours and bare by turns, with a database that exists already."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        environ = environment(COUNTERPOINT_DB=str(Path(folder) / "debates.db"))
        for era, modern in (("with a handshake", False), ("2026-07-28", True)):
            times: dict[tuple[str, ...], list[float]] = {OURS: [], BARE: []}
            for repeat in range(REPEATS + 1):
                for command, taken in times.items():
                    seconds = await until_listed(*command, environ=environ, modern=modern)
                    if repeat:  # the first compiles, and creates the database
                        taken.append(seconds)
            lines.append(
                Line(
                    f"spawn to `tools/list`, {era}",
                    median(times[OURS]) / median(times[BARE]),
                    goal=1.15,
                    how=f"bare {spread(times[BARE])}, ours {spread(times[OURS])}",
                )
            )
    return lines


async def memory() -> list[Line]:
    """What the process holds after `tools/list`, and how long that list is."""
    held: dict[tuple[str, ...], list[float]] = {OURS: [], BARE: []}
    listed: list[object] = []
    with tempfile.TemporaryDirectory() as folder:
        environ = environment(COUNTERPOINT_DB=str(Path(folder) / "debates.db"))
        for _ in range(5):
            for command, kilobytes in held.items():
                async with Server.start(*command, environ=environ) as server:
                    await server.hello()
                    tools = (await server.ask("tools/list"))["tools"]
                    listed = tools if command == OURS else listed
                    kilobytes.append(server.memory() / 1024)
    ours, bare = median(held[OURS]), median(held[BARE])
    size = len(json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode())
    return [
        Line(
            "idle memory beyond a bare server", ours - bare, "MB", 10, how=f"bare {bare:.1f}, ours {ours:.1f}"
        ),
        Line("`tools/list`", size, "bytes", 9000, how=f"{len(listed)} tools"),
    ]
