"""A program that tests fork finds what one finds that is started as users do it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes.programs import start_as_ever

pytestmark = [
    pytest.mark.full,
    pytest.mark.requirement("N38"),
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere programs are not forked"),
]

COMMAND = [sys.executable, "-m", "tests.support.processes.circumstances", "some", "--words=é"]


def find_circumstances(**how: Any) -> dict[str, Any]:
    environ = {**os.environ, "TZ": "Asia/Tokyo", "NEW": "\udcff"}
    done = subprocess.run(
        COMMAND, env=environ, input="a line\n", stdout=subprocess.PIPE, text=True, check=False, **how
    )
    assert done.returncode == 7
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("is_session", [False, True])
def test_a_forked_program_finds_what_a_started_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_session: bool
) -> None:
    how = {"cwd": tmp_path, "start_new_session": is_session}
    forked = find_circumstances(**how)
    with monkeypatch.context() as patch:
        start_as_ever(patch)
        started = find_circumstances(**how)

    assert forked == started
    assert forked["parent"] == os.getpid()
    assert forked["given"] == "a line\n"


def test_a_signal_that_ends_a_forked_program_is_seen() -> None:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        os.kill(child.pid, signal.SIGKILL)

    assert child.returncode == -signal.SIGKILL
