"""How long a test waits for what comes at once on an idle machine: one setting for the whole suite.

Only a test that fails waits so long, so it is generous: a machine that does other work stretches it, and may have
more to do later than when it was measured.
"""

import os
import subprocess
import sys
from time import monotonic

IDLE_START = 0.05
"""Seconds that an idle machine takes to start an interpreter that imports a little."""

VARIABLE = "COUNTERPOINT_TEST_SLOWNESS"
"""Set by the process that starts the workers, for them and for the programs that they start."""


def measure_slowness() -> float:
    """How many times longer than on an idle machine the start of a process takes here and now; 1 at least."""
    started_at = monotonic()
    subprocess.run([sys.executable, "-c", "import asyncio, json, ssl"], check=True)
    return max(1.0, (monotonic() - started_at) / IDLE_START)


if VARIABLE not in os.environ:
    os.environ[VARIABLE] = f"{measure_slowness():.2f}"
SLOWNESS = float(os.environ[VARIABLE])
PATIENCE = 60 * SLOWNESS
"""Seconds for anything that a test waits for: an answer, a reader, a child process that ends."""
START_PATIENCE = 2 * PATIENCE
"""Seconds until a program that was started gives its first sign of life; `PATIENCE` counts from there."""
