"""Compare two checkouts: run the same rows in both, alternating, and print each line side by side.

Usage: python -m benchmarks compare OLD NEW [--repeats N] [ROW ...]

The benchmarks of this checkout measure the product of each, with the interpreter of its own `.venv` where it has one:
in a temporary folder with links to the product of one checkout and to these benchmarks. What the older one cannot be
asked is said.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.rows import USUAL, check_names, run_row
from benchmarks.table import (
    Measurement,
    Samples,
    format_amount,
    format_header,
    format_row,
    format_samples,
    median,
)

HEADINGS = (
    *("what", "old", "new", "new / old", "goal"),
    *("CPU ms, min / median: old", "new", "wall ms, min / median: old", "new"),
)
BENCHMARKS = Path(__file__).resolve().parent
PRODUCT = ("counterpoint", "server", "storage", "pyproject.toml")


@dataclass
class Side:
    """What one checkout measured in one line, over all repeats."""

    values: list[float] = field(default_factory=list)
    samples: Samples = field(default_factory=Samples)

    def add(self, line: Measurement) -> None:
        self.values.append(line.value)
        self.samples.add(line.ours)


@dataclass
class Comparison:
    last: Measurement
    old: Side = field(default_factory=Side)
    new: Side = field(default_factory=Side)

    @property
    def cells(self) -> tuple[str, ...]:
        old, new, line = median(self.old.values), median(self.new.values), self.last
        line.value = new
        return (
            line.name,
            f"{format_amount(old)} {line.unit}",
            f"{format_amount(new)} {line.unit}",
            f"{new / old:.2f}" if old else "",
            f"{line.cells[2]} {line.goal_status}".strip(),
            *(format_samples(side.samples.cpu) for side in (self.old, self.new)),
            *(format_samples(side.samples.wall) for side in (self.old, self.new)),
        )


@dataclass(frozen=True, slots=True)
class Checkout:
    """A folder in which the product of a checkout is measured by these benchmarks."""

    python: str
    folder: Path

    @classmethod
    def link(cls, source: Path, folder: Path) -> "Checkout":
        folder.mkdir()
        for name in PRODUCT:
            if (source / name).exists():
                (folder / name).symlink_to(source / name)
        (folder / "benchmarks").symlink_to(BENCHMARKS)
        own_python = source / ".venv" / "bin" / "python"
        return cls(str(own_python) if own_python.exists() else sys.executable, folder)

    def measure(self, row: str) -> list[Measurement] | str:
        return run_row(row, self.python, self.folder, os.environ | {"PYTHONPATH": str(self.folder)})


def compare_row(old: Checkout, new: Checkout, row: str, repeats: int) -> tuple[list[Comparison], list[str]]:
    """Measure a row in both checkouts by turns; which one goes first alternates as well. Also says what was missing."""
    lines: dict[str, Comparison] = {}
    missing: dict[str, None] = {}
    for repeat in range(repeats):
        for checkout in (old, new) if repeat % 2 == 0 else (new, old):
            name = "old" if checkout is old else "new"
            found = checkout.measure(row)
            if isinstance(found, str):
                missing[f"{row}: the {name} checkout cannot measure it ({found})"] = None
                continue
            for line in found:
                both = lines.setdefault(line.name, Comparison(line))
                (both.old if checkout is old else both.new).add(line)
    for only in [line for line in lines.values() if not (line.old.values and line.new.values)]:
        name = "new" if only.new.values else "old"
        missing[f"{row}: only the {name} checkout has: {only.last.name}"] = None
    return [line for line in lines.values() if line.old.values and line.new.values], list(missing)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument(
        "rows", nargs="*", default=list(USUAL), help="rows of the benchmarks; default: the usual ones"
    )
    parser.add_argument("--repeats", type=int, default=2, help="runs of each row in each checkout")
    given = parser.parse_intermixed_args(arguments)
    check_names(given.rows)
    if wrong := [str(path) for path in (given.old, given.new) if not (path / "server").is_dir()]:
        parser.error(f"no checkout of Counterpoint: {', '.join(wrong)}")
    print(format_header(HEADINGS), flush=True)
    missing: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        old = Checkout.link(given.old.resolve(), Path(folder) / "old")
        new = Checkout.link(given.new.resolve(), Path(folder) / "new")
        for row in given.rows:
            lines, problems = compare_row(old, new, row, given.repeats)
            missing += problems
            for line in lines:
                print(format_row(line.cells), flush=True)
    print("", *missing, sep="\n")
