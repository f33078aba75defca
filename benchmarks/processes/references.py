"""What the cost of the product is compared with: the least that could do the same work."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

import aiohttp

from benchmarks.table import Samples

TOGETHER = (3, 3, 3, 1)
IN_SEQUENCE = (1,) * 10
"""Number of concurrent calls in each wave of a debate of 3 x 3 and a judge."""


async def run_bare_chain(
    client: aiohttp.ClientSession, url: str, bodies: Sequence[dict[str, Any]], waves: Sequence[int]
) -> None:
    """The calls of one debate by the fastest HTTP client alone; `bodies` are those that a stub received."""
    rest = iter(bodies)

    async def ask(body: dict[str, Any]) -> None:
        async with client.post(f"{url}/chat/completions", data=json.dumps(body).encode()) as response:
            assert json.loads(await response.read())["choices"]

    for size in waves:
        await asyncio.gather(*(ask(body) for body in islice(rest, size)))


async def measure_bare_chains(
    url: str, bodies: Sequence[dict[str, Any]], waves: Sequence[int], repeats: int, at_once: int = 1
) -> Samples:
    """So many chains at once; the CPU time is that of all."""
    samples = Samples()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        for repeat in range(repeats + 1):
            taken = Samples()
            with taken.measure(process_time):
                await asyncio.gather(*(run_bare_chain(client, url, bodies, waves) for _ in range(at_once)))
            if repeat:  # the first one connects
                samples.add(taken)
    return samples


def measure_bare_commits(folder: Path, repeats: int = 40, each: int = 20) -> Samples:
    """One durable transaction on the same disk: the lower bound of a durable turn."""
    samples = Samples()
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as db:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        db.execute("create table if not exists entry (text)")
        for _ in range(repeats):
            with samples.measure(process_time, each):
                for _ in range(each):
                    db.execute("insert into entry values (?)", ("x" * 2000,))
    return samples
