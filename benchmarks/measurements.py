"""Measurements as lines of a table, and statistics."""

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement. `value` and `goal` are in `unit`; a line without a goal is a reference."""

    name: str
    value: float
    unit: str = "x"
    goal: float | None = None
    at_least: bool = False  # the goal is a minimum, not a maximum
    details: str = ""  # the underlying numbers, the reference first

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
        return self.name, f"{format_amount(self.value)} {self.unit}", goal, self.goal_status, self.details


def format_amount(value: float) -> str:
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 20 else f"{value:.2f}"


HEADINGS = ("what", "measured", "goal", "", "details")


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


def format_ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def format_spread(values: Sequence[float]) -> str:
    """Median and range, for times in seconds."""
    return f"{format_ms(median(values))} ({min(values) * 1000:.1f}-{max(values) * 1000:.1f})"
