"""Measurements as lines of a table, and statistics."""

import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any, Self

HEADINGS = (
    "what",
    "measured",
    "goal",
    "",
    "CPU ms, min / median",
    "wall ms, min / median",
    "reference",
    "details",
)


SMOKE = "BENCHMARKS_SMOKE"


@dataclass
class Samples:
    """Repeated measurements of one thing, in seconds: CPU time of the process that does it, and wall time."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @contextmanager
    def measure(self, read_cpu: Callable[[], float], parts: int = 1) -> Iterator[None]:
        """Add what the block takes. `parts`: how many equal things it does."""
        cpu, wall = read_cpu(), perf_counter()
        yield
        self.wall.append((perf_counter() - wall) / parts)
        self.cpu.append((read_cpu() - cpu) / parts)

    def add(self, other: "Samples") -> None:
        self.cpu += other.cpu
        self.wall += other.wall


@dataclass
class Measurement:
    """One line of the table. `value` and `goal` are in `unit`; a line without a goal is for information."""

    name: str
    value: float
    unit: str = "x"
    goal: float | None = None
    at_least: bool = False  # the goal is a minimum, not a maximum
    ours: Samples = field(default_factory=Samples)
    bare: Samples = field(default_factory=Samples)  # the reference, measured in the same run
    bare_name: str = ""
    details: str = ""

    @property
    def goal_status(self) -> str:
        if self.goal is None:
            return ""
        is_met = self.value >= self.goal if self.at_least else self.value <= self.goal
        return "met" if is_met else "MISSED"

    @property
    def cells(self) -> tuple[str, ...]:
        sign = ">=" if self.at_least else "<="
        goal = "" if self.goal is None else f"{sign} {format_amount(self.goal)} {self.unit}"
        reference = self.bare_name
        if self.bare.wall:
            cpu = f"CPU {format_samples(self.bare.cpu)}, " if self.bare.cpu else ""
            reference = f"{self.bare_name}: {cpu}wall {format_samples(self.bare.wall)}"
        return (
            self.name,
            f"{format_amount(self.value)} {self.unit}",
            goal,
            self.goal_status,
            format_samples(self.ours.cpu),
            format_samples(self.ours.wall),
            reference,
            self.details,
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        return cls(**found | {"ours": Samples(**found["ours"]), "bare": Samples(**found["bare"])})


def format_samples(seconds: Sequence[float]) -> str:
    """Minimum and median in milliseconds; nothing for no samples."""
    if not seconds:
        return ""
    return f"{format_amount(min(seconds) * 1000)} / {format_amount(median(seconds) * 1000)}"


def format_amount(value: float) -> str:
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 20 else f"{value:.2f}"


def format_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def format_header(headings: Sequence[str] = HEADINGS) -> str:
    return format_row(headings) + "\n" + format_row(["---"] * len(headings))


def describe_load() -> str:
    """The load average of the machine over 1 and 5 minutes."""
    one, five, _ = os.getloadavg()
    return f"load average {one:.2f} over 1 minute, {five:.2f} over 5, on {os.cpu_count()} cores"


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], fraction: float) -> float:
    """The smallest value that a `fraction` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]


def shorten(count: int, least: int = 1) -> int:
    """The count, or in a smoke run (`BENCHMARKS_SMOKE=1`) the least with which a row still runs."""
    return least if os.environ.get(SMOKE) else count
