"""A plugin of pytest, for a run in a forked process: it picks the tests, stops what takes too long, and keeps notes.

The process may be killed at any moment, so each note is a line of a file, and the runner reads them afterwards.
"""

import json
import math
import signal
from pathlib import Path
from typing import Any

import pytest


class Selection:
    """Runs those of the collected tests that are in `limits`, in its order, each for so many seconds at most.

    A key may be a file, a class or a test without its parameters: it stands for all that is below it.
    """

    def __init__(self, limits: dict[str, float], longest: float, notes: Path) -> None:
        self.limits = limits
        self.longest = longest
        self.order = {key: number for number, key in enumerate(limits)}
        self.notes = notes

    def note(self, **values: Any) -> None:
        with self.notes.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")

    def find_key(self, nodeid: str) -> str | None:
        if nodeid in self.order:
            return nodeid
        parts = nodeid.split("[", maxsplit=1)[0].split("::")
        names = ["::".join(parts[:count]) for count in range(len(parts), 0, -1)]
        return next((name for name in names if name in self.order), None)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        keys = {item: key for item in items if (key := self.find_key(item.nodeid)) is not None}
        items[:] = sorted(keys, key=lambda item: self.order[keys[item]])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.note(test=report.nodeid, outcome="failed", seconds=0)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """The signal ends the process, even where it is in a loop that never gives way."""
        self.note(test=nodeid, outcome="started", seconds=0)
        signal.setitimer(signal.ITIMER_REAL, self.limits.get(self.find_key(nodeid) or "", math.inf))

    def pytest_runtest_logfinish(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self.longest)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.note(test=report.nodeid, outcome=report.outcome, seconds=report.duration)
