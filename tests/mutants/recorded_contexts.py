"""A plugin of pytest, for the control run: coverage notes lines by test, and each test's outcome and time are kept.

It imports nothing of ours: it is copied to a folder of the control run, and is loaded by each worker there.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

OUTCOMES_FILE = "MUTANTS_OUTCOMES"
"""The variable with the path of the file that outcomes are written to."""

outcomes: dict[str, str] = {}
seconds: dict[str, float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    measured = coverage.Coverage.current()
    if measured:
        measured.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        if measured:
            measured.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Of setup, call and teardown the worst outcome counts. The seconds are those of an idle machine, about."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    seconds[report.nodeid] = seconds.get(report.nodeid, 0.0) + report.duration / max(load, 1.0)
    if report.outcome != "passed" or report.nodeid not in outcomes:
        outcomes[report.nodeid] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):  # the workers of xdist report to this process
        rows = {test: [outcome, round(seconds[test], 3)] for test, outcome in outcomes.items()}
        Path(os.environ[OUTCOMES_FILE]).write_text(json.dumps(rows), encoding="utf-8")
