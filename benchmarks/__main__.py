"""Measure what DESIGN promises in numbers. Never a test: a missed goal is printed, and the exit code is 0.

Usage: python -m benchmarks [ROW ...]
"""

import subprocess
import sys
from collections.abc import Awaitable, Callable
from time import perf_counter

import anyio

from benchmarks import crowd, debates, kills, prefixes, soak, startup, stored
from benchmarks.report import Line, heading, load, row

ROWS: dict[str, Callable[[], Awaitable[list[Line]]]] = {
    "startup": startup.start,
    "memory": startup.memory,
    "together": debates.together,
    "sequence": debates.sequence,
    "turn": debates.turn,
    "prompts": prefixes.prompts,
    "crowd": crowd.crowd,
    "providers": crowd.providers,
    "others": crowd.others,
    "stored": stored.stored,
    "replay": stored.replay,
    "verdict": stored.verdict,
    "kills": kills.measured,
    "soak": soak.measured,
}
ON_REQUEST = {"kills", "soak"}  # takes minutes


async def measure(name: str) -> None:
    try:
        lines = await ROWS[name]()
    except Exception as error:  # noqa: BLE001  (the other rows are worth having)
        lines = []
        print(row((name, "broke", "", "", f"{type(error).__name__}: {error}"[:200])))
    for line in lines:
        print(row(line.cells))


def main() -> None:
    if sys.argv[1:2] == ["--only"]:
        anyio.run(measure, sys.argv[2])
        return
    names = sys.argv[1:] or [name for name in ROWS if name not in ON_REQUEST]
    if unknown := [name for name in names if name not in ROWS]:
        print(f"There is no row {', '.join(unknown)}. Rows: {', '.join(ROWS)}.")
        return
    print(f"Before: {load()}\n\n{heading()}", flush=True)
    begun = perf_counter()
    for name in names:  # each in a process of its own, so that none inherits the heap of another
        subprocess.run([sys.executable, "-m", "benchmarks", "--only", name], check=False)
    print(f"\nAfter {perf_counter() - begun:.0f} s: {load()}")


if __name__ == "__main__":
    main()
