"""The examples run as they stand, on the scripted model."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.requirement("M6"), pytest.mark.slow]

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_ends_with_a_verdict(example: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "COUNTERPOINT_DB": str(tmp_path / "debates.db"),
        "COUNTERPOINT_MODELS": "scripted",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, str(example)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "## Verdict: Decided" in done.stdout
