"""The rows of the table, in its order. Each is imported when it is measured, in a process of its own.

A row whose imports an older checkout does not have fails alone.
"""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.table import HEADINGS, Measurement, describe_load, format_header, format_row

ROWS: dict[str, str] = {
    "start": "speed.start:measure_start",
    "words": "speed.first_words:measure_first_words",
    "memory": "speed.start:measure_memory",
    "together": "speed.debates:measure_together",
    "throughput": "speed.debates:measure_throughput",
    "turn": "speed.turns:measure_turn",
    "provider": "speed.turns:measure_provider_turn",
    "growth": "speed.growth:measure_growth",
    "disk": "stored.disk:measure_disk",
    "stored": "stored.lists:measure_lists",
    "takeover": "crashes.takeover:measure_takeover",
    "many": "stored.lists:measure_many_lists",
    "kills": "crashes.kills:measure_kills",
}
"""Where each row is measured: module and function."""

ON_REQUEST = ("many", "kills")
"""Rows that take minutes."""

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- table -->", "<!-- /table -->"

USUAL = tuple(name for name in ROWS if name not in ON_REQUEST)


def check_names(names: Sequence[str]) -> None:
    """Ends the program where a row is unknown."""
    if unknown := [name for name in names if name not in ROWS]:
        sys.exit(f"There is no row {', '.join(unknown)}. Rows: {', '.join(ROWS)}.")


async def measure_alone(name: str) -> None:
    """Measure one row in this process, and print its lines as JSON, or what went wrong."""
    module, function = ROWS[name].split(":")
    try:
        measure: Callable[[], Awaitable[list[Measurement]]]
        measure = getattr(import_module(f"benchmarks.{module}"), function)
        lines = await measure()
    except Exception as error:  # noqa: BLE001  (the other rows are measured all the same)
        print(json.dumps({"failed": f"{type(error).__name__}: {error}"[:300]}))
        return
    for line in lines:
        print(json.dumps(line.to_json()))


def run_row(
    name: str,
    python: str = sys.executable,
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[Measurement] | str:
    """Measure a row in a process of its own, which inherits no other row's heap. A text says why it failed."""
    done = subprocess.run(
        [python, "-m", "benchmarks", "--alone", name],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
    for line in found:
        if "failed" in line:
            return str(line["failed"])
    return [Measurement.from_json(line) for line in found] or f"exit code {done.returncode}"


def print_rows(names: Sequence[str]) -> str:
    """Measure rows and print the table. Returns it as it is printed, without the details."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=PAGE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    commit_text = f"Commit {commit.stdout.strip() or 'unknown'}"
    before, started = describe_load(), perf_counter()
    kept = [format_header(HEADINGS[:-1])]
    print(f"{commit_text}. Before: {before}\n\n{format_header()}", flush=True)
    for name in names:
        lines = run_row(name)
        failed = (name, "failed", *[""] * (len(HEADINGS) - 3), lines)
        for cells in [failed] if isinstance(lines, str) else [line.cells for line in lines]:
            print(format_row([str(cell) for cell in cells]), flush=True)
            kept.append(format_row([str(cell) for cell in cells[:-1]]))
    after = f"{describe_load()}, after {perf_counter() - started:.0f} seconds"
    print(f"\nAfter: {after}")
    return "\n".join([*kept, "", f"{commit_text}. Before: {before}. After: {after}."])


def write_table(names: Sequence[str]) -> None:
    """Measure rows, and put the table into the page about performance."""
    page = PAGE.read_text(encoding="utf-8")
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{PAGE} has no place for the table between {BEGIN} and {END}.")
    PAGE.write_text(f"{head}{BEGIN}\n{print_rows(names)}\n{END}{tail}", encoding="utf-8")
