"""Two suites, chosen by measured cost. As a plugin of pytest.

`pytest` runs the fast one, `pytest -m full` everything, and `pytest PATH` whatever is there. A test belongs to the
full suite if it is marked so, or lies in one of `FULL_FOLDERS`; a test that belongs to neither has to be cheap.
"""

import gc
import os
import signal
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import SystemRandom
from statistics import median

import pytest
from _pytest.runner import runtestprotocol  # there is no public name for running a test twice
from hypothesis import settings, strategies

from server.optional import PURPOSES
from tests.support.import_graph import TOP_LEVEL_PACKAGES, find_imports_at_start, is_of
from tests.support.paths import ROOT

TESTS = Path(__file__).parents[1]

FULL_FOLDERS = (
    *("access", "cli", "clients", "evaluation", "http_server", "mcp", "research"),
    *("storage/postgres", "telemetry", "upkeep", "web"),
)
"""Not even imported by the fast suite. Each of these doors has a test in `tests/smoke`."""

SMOKE = TESTS / "smoke"
"""The few tests of the fast suite that start processes, and may cost what that takes."""

FAST, EVERYTHING = "not full", "full or not full"
REST = "full or hypothesis"
"""What the full suite has beside the fast one. Searches are in both: they look at more examples in the full one."""

IDLE_LOOP = 0.007
"""Seconds of CPU that a loop of `measure_cpu_slowness` takes on a fast machine."""

CPU_LIMIT = 0.3
SHARED_MACHINE = 4
"""How many times as much a test may cost where the limit is not given: others on a machine slow its memory down."""

FEW_EXAMPLES, MANY_EXAMPLES = 25, 150

settings.register_profile("fast", derandomize=True, max_examples=FEW_EXAMPLES, deadline=None, database=None)
settings.register_profile("full", max_examples=MANY_EXAMPLES, print_blob=True, deadline=None, database=None)
settings.load_profile(
    "fast"
)  # for what the conftest of a folder that is named imports before `pytest_configure`


def pytest_addoption(parser: pytest.Parser) -> None:
    about = (
        "seconds of CPU that a test of the fast suite may cost on a fast machine; 0: as much as it likes. "
        f"Default: {SHARED_MACHINE} times {CPU_LIMIT}, and as much as it likes while others want the cores"
    )
    parser.addoption("--cpu-limit", type=float, metavar="SECONDS", help=about)


# -- what is collected ---------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # A shell ignores SIGINT in its background jobs, and nohup SIGHUP; the programs that tests start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    is_anything_named = config.args_source is pytest.Config.ArgsSource.ARGS
    if config.option.markexpr == "full":
        config.option.markexpr = EVERYTHING
    elif not config.option.markexpr and not is_anything_named:
        config.option.markexpr = FAST

    has_searches = config.option.markexpr in (EVERYTHING, REST)
    settings.load_profile("full" if has_searches else "fast")
    if has_searches and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(SystemRandom().randrange(2**32))  # workers get it, too


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Importing what will not run would cost a third of the fast suite's time."""
    is_left_out = config.option.markexpr == FAST and is_in_full_folder(collection_path)
    is_file = collection_path.suffix == ".py"
    return (
        True
        if is_left_out or (MISSING and is_file and MISSING & find_needed_packages(collection_path))
        else None
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_in_full_folder(item.path):
            item.add_marker("full")
    if MISSING:
        is_needed = {
            item: any({*mark.args} & MISSING for mark in item.iter_markers("needs")) for item in items
        }
        items[:] = [item for item in items if not is_needed[item]]


def pytest_collection_finish() -> None:
    # What would otherwise be at the expense of some test: hypothesis makes its table of characters on first use, which
    # takes a second, and each collection of garbage looks through ten thousand tests.
    strategies.text().validate()
    gc.freeze()


@cache
def is_in_full_folder(path: Path) -> bool:
    return any(path.is_relative_to(TESTS / folder) for folder in FULL_FOLDERS)


# -- what may be missing -------------------------------------------------------------------------------------

MISSING = {package for package in PURPOSES if find_spec(package) is None}
"""Optional packages that are not there. Tests that import them at their start, and those marked so, are left out."""


def find_needed_packages(path: Path) -> set[str]:
    """The optional packages that are imported with a file of tests.

    Our other code imports none of them at its start: tests/test_imports.py sees to it.
    """
    seen, left, needed = set[Path](), [path.relative_to(ROOT)], set[str]()
    while left:
        seen.add(one := left.pop())
        for name in find_imports_at_start(one):
            packages = {package for package in PURPOSES if is_of(name, package)}
            file = Path(*name.split(".")).with_suffix(".py")
            if (
                (packages or not name.startswith(TOP_LEVEL_PACKAGES))
                and file not in seen
                and (ROOT / file).is_file()
            ):
                left.append(file)
            needed |= packages
    return needed


# -- what it may cost ----------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A test that costs too much runs again: whichever comes first pays for imports and for what several share."""
    if not is_limited(item):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    cost, reports = measure_test(item, nextitem)
    if is_too_dear(item.config, cost) and all(report.passed for report in reports):
        cost, reports = measure_test(item, nextitem)
        if is_too_dear(item.config, cost):
            reports[-1].outcome = "failed"
            reports[-1].longrepr = (
                f"{item.nodeid} costs {cost:.2f} s of CPU, too much for a test of the fast suite: "
                "make it cheaper, or mark it with pytest.mark.full"
            )
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def is_limited(item: pytest.Item) -> bool:
    is_cheap = item.get_closest_marker("full") is None and SMOKE not in item.path.parents
    has_searches = item.config.option.markexpr in (EVERYTHING, REST)
    return item.config.option.cpu_limit != 0 and is_cheap and not has_searches


def measure_test(item: pytest.Item, nextitem: pytest.Item | None) -> tuple[float, list[pytest.TestReport]]:
    started_at = measure_cpu()
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    return measure_cpu() - started_at, reports


def measure_cpu() -> float:
    """Seconds of CPU of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def is_too_dear(config: pytest.Config, cost: float) -> bool:
    given: float | None = config.option.cpu_limit
    if given is not None:
        return cost > given and cost > given * measure_cpu_slowness()
    limit = SHARED_MACHINE * CPU_LIMIT
    return cost > limit and not is_busy() and cost > limit * measure_cpu_slowness()


def is_busy() -> bool:
    """Whether others want the cores as well: they share caches, and a test's CPU says little of what it costs."""
    waiting = os.getloadavg()[0]
    if (stat := Path("/proc/stat")).is_file():
        waiting = max(waiting, int(stat.read_text().partition("procs_running ")[2].partition("\n")[0]))
    return waiting > 1.5 * (os.cpu_count() or 1)


def measure_cpu_slowness() -> float:
    """How many times the CPU of a fast machine a piece of work takes here.

    A loop feels less of slow memory than a test does: half as much again is allowed.
    """
    taken = []
    for _ in range(5):
        started_at = time.process_time()
        sum(number * number for number in range(100_000))
        taken.append(time.process_time() - started_at)
    return max(1.5, median(taken) / IDLE_LOOP)


# -- what is skipped in CI -----------------------------------------------------------------------------------

SKIPS_IN_CI = {
    "needs a program: nginx": "Debian's package starts a server that listens on every address",
    "nothing can be mounted here": "machines of CI may have no right to mount a file system",
}
"""Why a test may be skipped in CI: the beginning of pytest's reason, and why it cannot be helped."""

_unexpected_skips: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith(tuple(SKIPS_IN_CI)):
            _unexpected_skips[report.nodeid] = reason


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if os.environ.get("CI") and _unexpected_skips and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if seed := config.option.hypothesis_seed:
        terminalreporter.line(f"searches can be repeated with --hypothesis-seed={seed}")
    if os.environ.get("CI") and _unexpected_skips:
        terminalreporter.section("Skipped in CI, which is a failure")
        for name, reason in _unexpected_skips.items():
            terminalreporter.line(f"{name}: {reason}")
