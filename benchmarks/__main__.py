"""Measure the performance goals. Never a test: a missed goal is printed, and the exit code is 0.

Usage: python -m benchmarks [ROW ...]
       python -m benchmarks compare OLD NEW [--repeats N] [ROW ...]
       python -m benchmarks labels FILE.csv
       python -m benchmarks judges LLMBAR.csv [BELIEFS.csv]
"""

import subprocess
import sys
from collections.abc import Awaitable, Callable
from time import perf_counter

import anyio

from benchmarks import compare, concurrency, debates, growth, judges, labels, large_data, prefixes, startup
from benchmarks.crashes import kills, soak
from benchmarks.measurements import Measurement, describe_load, format_header, format_row

ROWS: dict[str, Callable[[], Awaitable[list[Measurement]]]] = {
    "startup": startup.measure_startup,
    "memory": startup.measure_memory,
    "together": debates.measure_parallel,
    "sequence": debates.measure_sequential,
    "turn": debates.measure_turn,
    "prompts": prefixes.measure_prompts,
    "growth": growth.measure_growth,
    "crowd": concurrency.measure_concurrency,
    "providers": concurrency.measure_provider_concurrency,
    "others": concurrency.measure_other_requests,
    "stored": large_data.measure_lists,
    "replay": large_data.measure_replay,
    "verdict": large_data.measure_verdict_text,
    "kills": kills.measure_kills,
    "soak": soak.measure_soak,
}
ON_REQUEST = {"kills", "soak"}  # rows that take minutes


async def print_row(name: str) -> None:
    try:
        lines = await ROWS[name]()
    except Exception as error:  # noqa: BLE001  (the other rows are measured all the same)
        lines = []
        print(format_row((name, "failed", "", "", f"{type(error).__name__}: {error}"[:200])))
    for line in lines:
        print(format_row(line.cells))


def main() -> None:
    if sys.argv[1:2] == ["--only"]:
        anyio.run(print_row, sys.argv[2])
        return
    if sys.argv[1:2] == ["compare"]:
        compare.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["labels"]:
        labels.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["judges"]:
        judges.main(sys.argv[2:])
        return
    names = sys.argv[1:] or [name for name in ROWS if name not in ON_REQUEST]
    if unknown := [name for name in names if name not in ROWS]:
        print(f"There is no row {', '.join(unknown)}. Rows: {', '.join(ROWS)}.")
        return
    print(f"Before: {describe_load()}\n\n{format_header()}", flush=True)
    started = perf_counter()
    for name in names:  # each in its own process, so that no row inherits the heap of another
        subprocess.run([sys.executable, "-m", "benchmarks", "--only", name], check=False)
    print(f"\nAfter {perf_counter() - started:.0f} s: {describe_load()}")


if __name__ == "__main__":
    main()
