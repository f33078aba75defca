"""Compare two checkouts: run the same rows in both, alternating, and print the ratios of the medians.

Usage: python -m benchmarks compare OLD NEW [--repeats N] [ROW ...]

Each checkout measures itself, with its own benchmarks and with the interpreter of its own `.venv` where it
has one. Lines that only one of the two prints are left out.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measurements import format_amount, format_header, format_row, median

ROWS = ("startup", "memory", "turn")
HEADINGS = ("what", "old", "new", "new / old")

_VALUE = re.compile(r"([\d.,]+) ?(.*)")


@dataclass
class Comparison:
    """The values of one line of the table in both checkouts, in `unit`."""

    unit: str
    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)

    def cells(self, name: str) -> tuple[str, ...]:
        old, new = median(self.old), median(self.new)
        ratio = f"{new / old:.2f}" if old else ""
        return name, f"{format_amount(old)} {self.unit}", f"{format_amount(new)} {self.unit}", ratio


def measure_checkout(checkout: Path, row: str) -> dict[str, tuple[float, str]]:
    """Run one row of a checkout's benchmarks: by name of a line, its value and its unit."""
    own_python = checkout / ".venv" / "bin" / "python"
    python = str(own_python) if own_python.exists() else sys.executable
    done = subprocess.run(
        [python, "-m", "benchmarks", "--only", row],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return parse_table(done.stdout)


def parse_table(text: str) -> dict[str, tuple[float, str]]:
    """The measured values of a printed table: {name: (value, unit)}. Lines without a number are left out."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 2 and (value := _VALUE.fullmatch(cells[2])):
            found[cells[1]] = (float(value[1].replace(",", "")), value[2])
    return found


def compare_row(old: Path, new: Path, row: str, repeats: int) -> dict[str, Comparison]:
    """Measure a row in both checkouts by turns; which one goes first alternates as well."""
    lines: dict[str, Comparison] = {}
    for repeat in range(repeats):
        for checkout in (old, new) if repeat % 2 == 0 else (new, old):
            for name, (value, unit) in measure_checkout(checkout, row).items():
                line = lines.setdefault(name, Comparison(unit))
                (line.old if checkout == old else line.new).append(value)
    return {name: line for name, line in lines.items() if line.old and line.new}


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("rows", nargs="*", default=ROWS, help=f"rows of the benchmarks; default: {ROWS}")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each row in each checkout")
    given = parser.parse_intermixed_args(arguments)
    old, new = given.old.resolve(), given.new.resolve()
    print(format_header(HEADINGS), flush=True)
    for row in given.rows:
        lines = compare_row(old, new, row, given.repeats)
        for name, line in lines.items():
            print(format_row(line.cells(name)), flush=True)
        if not lines:
            print(format_row((row, "nothing to compare", "", "")), flush=True)
