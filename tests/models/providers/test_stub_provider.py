import json
import subprocess
import sys
from typing import Any
from urllib.request import urlopen

import pytest

from tests.support.paths import ROOT
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.requirement("B7")


def test_the_stub_runs_as_a_child_and_ends_with_its_input() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.stub", "--text", "Yes.", "--queue", "503"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        url = child.stdout.readline().strip()
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Is it?"}]}).encode()
        with pytest.raises(OSError, match="503"):
            ask(f"{url}/chat/completions", body)
        answer = ask(f"{url}/chat/completions", body)
        seen = ask(f"{url}/asked")
        child.communicate(timeout=PATIENCE)

    assert answer["choices"][0]["message"]["content"] == "Yes."
    assert (seen["requests"], seen["most_in_flight"]) == (2, 1)
    assert seen["asked"][0]["body"]["model"] == "m"
    assert child.returncode == 0


def ask(url: str, body: bytes | None = None) -> dict[str, Any]:
    with urlopen(url, body, timeout=PATIENCE) as answer:  # noqa: S310  (on loopback)
        found: dict[str, Any] = json.load(answer)
    return found
