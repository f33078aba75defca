"""How long the debates of a server that was killed stand still, with a second server on the same database."""

import asyncio
import os
import signal
import sqlite3
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.processes.children import OUR_SERVER, Server, build_environment
from benchmarks.speed.debates import DEBATE
from benchmarks.table import Measurement, Samples, shorten

DEBATES = 8
GOAL_SECONDS = 10
MAX_SECONDS = 90


async def measure_takeover() -> list[Measurement]:
    """From SIGKILL until all debates have gone on: with callers that wait for them, and with none."""
    lines = []
    for is_waited_for, repeats, name in (
        (True, shorten(3), "their callers ask another server"),
        (False, 1, "nobody asks"),
    ):
        samples = Samples()
        for _ in range(repeats):
            samples.wall.append(await time_takeover(is_waited_for=is_waited_for))
        lines.append(
            Measurement(
                f"takeover of a killed server's {DEBATES} debates, {name}",
                max(samples.wall),
                "s",
                GOAL_SECONDS,
                ours=samples,
                details="the longest",
            )
        )
    return lines


async def time_takeover(*, is_waited_for: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "debates.db"
        environ = build_environment(COUNTERPOINT_DB=str(database), COUNTERPOINT_MODELS="scripted?delay=0.3")
        async with (
            Server.start(*OUR_SERVER, environ=environ) as other,
            Server.start(*OUR_SERVER, environ=environ) as killed,
        ):
            await other.initialize()
            await killed.initialize()
            arguments: dict[str, Any] = {**DEBATE, "format": "verdict", "max_rounds": 10, "wait_seconds": 0}
            started = [
                (await killed.call_tool("start_debate", **arguments, again=True))["debate_id"]
                for _ in range(DEBATES)
            ]
            await wait_for_more(database, dict.fromkeys(started, 3))
            os.kill(killed.child.pid, signal.SIGKILL)
            await killed.child.wait()
            began = perf_counter()
            waiting = [
                asyncio.create_task(other.call_tool("get_verdict", debate_id=name, wait_seconds=45))
                for name in started
                if is_waited_for
            ]
            await wait_for_more(database, read_lengths(database))
            taken = perf_counter() - began
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            return taken


async def wait_for_more(database: Path, lengths: dict[str, int]) -> None:
    """Wait until each debate has more entries than given."""
    async with asyncio.timeout(MAX_SECONDS):
        while any(read_lengths(database)[name] <= length for name, length in lengths.items()):  # noqa: ASYNC110  (another process writes the file)
            await asyncio.sleep(0.02)


def read_lengths(database: Path) -> dict[str, int]:
    """The number of entries of each debate."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        return dict(db.execute("select stream, max(seq) from journal group by stream").fetchall())
