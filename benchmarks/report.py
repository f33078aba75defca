"""What a measurement comes to, as a line of a table, and the few statistics there are."""

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement. `value` and `goal` are in `unit`; a line without a goal is there to compare with."""

    what: str
    value: float
    unit: str = "x"
    goal: float | None = None
    at_least: bool = False  # the goal is a floor, not a ceiling
    how: str = ""  # the numbers behind it, the bare reference first

    @property
    def met(self) -> str:
        if self.goal is None:
            return ""
        good = self.value >= self.goal if self.at_least else self.value <= self.goal
        return "met" if good else "MISSED"

    @property
    def cells(self) -> tuple[str, ...]:
        sign = ">=" if self.at_least else "<="
        goal = "" if self.goal is None else f"{sign} {amount(self.goal)} {self.unit}"
        return self.what, f"{amount(self.value)} {self.unit}", goal, self.met, self.how


def amount(value: float) -> str:
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 20 else f"{value:.2f}"


HEADINGS = ("what", "measured", "goal", "", "behind it")


def row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def heading() -> str:
    return row(HEADINGS) + "\n" + row(["---"] * len(HEADINGS))


def load() -> str:
    """How busy the machine is: the mean number of processes that want to run, over 1 and 5 minutes."""
    one, five, _ = os.getloadavg()
    return f"load average {one:.2f} over 1 minute, {five:.2f} over 5, on {os.cpu_count()} cores"


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that `part` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def spread(values: Sequence[float]) -> str:
    """Median and range, for times in seconds."""
    return f"{ms(median(values))} ({min(values) * 1000:.1f}-{max(values) * 1000:.1f})"
