"""How tests start our programs: forked from a process that has imported them, for 0.1 s of CPU in place of 0.6.

So `subprocess` starts `[sys.executable, "-m", MODULE]` where the module is in `FORKED`, and the `counterpoint` that is
installed beside this interpreter; and with it do asyncio, anyio and the SDK's stdio client. Every other command is
started as ever, and so are these in a test that is about the start: it uses the fixture `real_starts`. As a plugin of
pytest.
"""

import atexit
import ctypes
import inspect
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import fork_server
from tests.support.processes.fork_server import MAX_BYTES, take_terminal

FORKED = (
    *("counterpoint", "tests.support.doomed_debate"),
    *("tests.support.processes.circumstances", "tests.support.processes.gated_servers"),
)
"""Modules that are programs of ours."""
INSTALLED = str(Path(sys.executable).with_name("counterpoint"))

PR_SET_CHILD_SUBREAPER = 36
READ_AT_START = re.compile(r"PYTHON[A-Z]|LANG|LC_")
"""The variables that an interpreter reads when it starts, so that a fork cannot have others."""

_start_really: Any = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_parameters = inspect.signature(_start_really)
_server: "ForkServer | None" = None


class ForkServer:
    """The process that is forked: one for each test process, from the first program on."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.environ = dict(os.environ)
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, fork_server.__file__, str(theirs.fileno())]
        with theirs:
            self.process = subprocess.Popen(command, env=self.environ, pass_fds=[theirs.fileno()])
        atexit.register(self.close)

    def is_fit(self, environ: Mapping[str, str]) -> bool:
        ours, theirs = (
            {name: value for name, value in variables.items() if READ_AT_START.match(name)}
            for variables in (self.environ, environ)
        )
        return ours == theirs

    def start(self, order: bytes, streams: Sequence[int]) -> int:
        """The pid of a new child of this process. Its stdin, stdout and stderr are `streams`."""
        with self.lock:
            adopt_orphans(True)
            try:
                socket.send_fds(self.channel, [order], streams)
                pid = self.channel.recv(MAX_BYTES)
            finally:
                adopt_orphans(False)
        assert pid, "the fork server has ended: what it said is on stderr"
        return int(pid)

    def close(self) -> None:
        self.channel.close()
        self.process.wait()


def adopt_orphans(is_wanted: bool) -> None:
    """Only while a program is forked: nobody would wait for what others leave behind."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(is_wanted), 0, 0, 0)


def start_program(popen: Any, *given: Any) -> None:
    """In the place of the method with which `Popen` forks and executes."""
    global _server  # noqa: PLW0603  (one for each test process)
    call = _parameters.bind(popen, *given).arguments
    if not can_fork(call):
        _start_really(popen, *given)
        return
    _server = _server or ForkServer()
    environ = dict(os.environ if call["env"] is None else call["env"])
    module, *arguments = find_program(call["args"])
    order = json.dumps(
        {
            "module": module,
            "arguments": [os.fsdecode(argument) for argument in arguments],
            "environ": environ,
            "folder": str(Path(call["cwd"] or ".").absolute()),
            "is_session": call["start_new_session"],
            "takes_terminal": call["preexec_fn"] is take_terminal,
        }
    ).encode()
    if not _server.is_fit(environ) or len(order) > MAX_BYTES:
        _start_really(popen, *given)
        return
    ends = (call["p2cread"], call["c2pwrite"], call["errwrite"])
    popen.pid = _server.start(order, [number if end == -1 else end for number, end in enumerate(ends)])
    popen._child_created = True
    pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
    popen._close_pipe_fds(*(call[name] for name in pipes))


def can_fork(call: Mapping[str, Any]) -> bool:
    is_ours = bool(find_program(call["args"]))
    return is_ours and call["preexec_fn"] in (None, take_terminal) and not call["pass_fds"]


def find_program(args: Sequence[Any]) -> list[Any]:
    """The module of ours that a command runs, and its arguments. Nothing, if it is none."""
    if args[0] == INSTALLED:
        return ["counterpoint", *args[1:]]
    return [*args[2:]] if list(args[:2]) == [sys.executable, "-m"] and args[2] in FORKED else []


def pytest_configure() -> None:
    if sys.platform == "linux":
        subprocess.Popen._execute_child = start_program  # type: ignore[attr-defined]


@pytest.fixture
def real_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs start as users start them."""
    start_as_ever(monkeypatch)


def start_as_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(subprocess.Popen, "_execute_child", _start_really)
