"""What a measurement comes to, as a line of a table, and the few statistics there are."""

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement. `value` and `goal` are in `unit`; a line without a goal is there to compare with."""

    name: str
    value: float
    unit: str = "x"
    goal: float | None = None
    at_least: bool = False  # the goal is a floor, not a ceiling
    details: str = ""  # the numbers behind it, the bare reference first

    @property
    def goal_status(self) -> str:
        if self.goal is None:
            return ""
        good = self.value >= self.goal if self.at_least else self.value <= self.goal
        return "met" if good else "MISSED"

    @property
    def cells(self) -> tuple[str, ...]:
        sign = ">=" if self.at_least else "<="
        goal = "" if self.goal is None else f"{sign} {format_amount(self.goal)} {self.unit}"
        return self.name, f"{format_amount(self.value)} {self.unit}", goal, self.goal_status, self.details


def format_amount(value: float) -> str:
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 20 else f"{value:.2f}"


HEADINGS = ("what", "measured", "goal", "", "behind it")


def format_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def format_header() -> str:
    return format_row(HEADINGS) + "\n" + format_row(["---"] * len(HEADINGS))


def describe_load() -> str:
    """How busy the machine is: the mean number of processes that want to run, over 1 and 5 minutes."""
    one, five, _ = os.getloadavg()
    return f"load average {one:.2f} over 1 minute, {five:.2f} over 5, on {os.cpu_count()} cores"


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], fraction: float) -> float:
    """The smallest value that `part` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]


def format_ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def format_spread(values: Sequence[float]) -> str:
    """Median and range, for times in seconds."""
    return f"{format_ms(median(values))} ({min(values) * 1000:.1f}-{max(values) * 1000:.1f})"
