"""A process that has imported all modules of Counterpoint, and forks the programs that tests start. See programs.py.

For each program it forks twice, and the process in the middle ends at once. Its orphan, the program, becomes a child of
the test process, which adopts orphans meanwhile (man 2 prctl, PR_SET_CHILD_SUBREAPER). So pid, exit code, signals and
the time of CPU are the program's own.
"""

import gc
import io
import json
import os
import pkgutil
import runpy
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import coverage

ROOT = Path(__file__).parents[3]
MAX_BYTES = 100_000
"""Of an order, which is one packet."""

PACKAGES = ("counterpoint", "server", "storage")
LEFT_OUT = ("counterpoint.__main__", "server.__main__")
"""What is run, and what needs a library that other programs do not import."""
LATER = ("anyio._backends._asyncio", "aiohttp")
"""What nearly every program imports once it runs."""


def serve(channel: socket.socket) -> dict[str, Any]:
    """Fork at each order until the test process is gone. Returns in a program, with its order."""
    import_everything()
    while True:
        packet, streams, _, _ = socket.recv_fds(channel, MAX_BYTES, 3)
        if not packet:
            sys.exit()
        pid = fork_orphan()
        if pid == 0:
            channel.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
        for stream in streams:
            os.close(stream)
        if pid == 0:
            return dict(json.loads(packet))
        channel.send(str(pid).encode())


def import_everything() -> None:
    measured = coverage.Coverage.current()  # the lines of modules run here, and no more in the programs
    for package in map(import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name not in LEFT_OUT:
                with suppress(ModuleNotFoundError):  # an extra is not installed: the program will say so
                    import_module(module.name)
    for name in LATER:
        import_module(name)
    if measured:
        measured.stop()
        measured.save()
    gc.collect()
    gc.freeze()  # the collector would write into pages that programs share


def fork_orphan() -> int:
    """The pid of a new child of the test process; 0 in that child."""
    reader, writer = os.pipe()
    if middle := os.fork():
        os.waitpid(middle, 0)
        pid = int(os.read(reader, 20))
    else:
        middle = os.getpid()
        if pid := os.fork():
            os.write(writer, str(pid).encode())
            os._exit(0)
        while os.getppid() == middle:  # a program may ask who its parent is
            os.sched_yield()
    os.close(reader)
    os.close(writer)
    return pid


def become(order: Mapping[str, Any]) -> None:
    """Have what a new interpreter has: its session, working directory, arguments, variables and streams."""
    if order["is_session"]:
        os.setsid()
    if order["takes_terminal"]:
        take_terminal()
    os.chdir(order["folder"])
    sys.path[0] = order["folder"]
    sys.argv = [order["module"], *order["arguments"]]
    os.environ.clear()
    os.environ.update(order["environ"])
    time.tzset()
    for name, mode in (("stdin", "rb"), ("stdout", "wb"), ("stderr", "wb")):
        new = open_stream(getattr(sys, name), mode)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    coverage.process_startup(force=True)  # if the variables say so


def open_stream(old: io.TextIOWrapper, mode: str) -> io.TextIOWrapper:
    """As `old`, for what its number means now."""
    is_unbuffered = old.write_through  # by PYTHONUNBUFFERED
    size = 0 if is_unbuffered and mode == "wb" else -1
    stream = open(old.fileno(), mode, size, closefd=False)  # noqa: SIM115  (to the end of the program)
    return io.TextIOWrapper(
        stream,
        old.encoding,
        old.errors,
        newline="\n",
        line_buffering=not is_unbuffered and (stream.isatty() or old is sys.stderr),
        write_through=is_unbuffered,
    )


def take_terminal() -> None:
    """Make stdin, a terminal, the one that controls this session."""
    import fcntl  # noqa: PLC0415  (not on Windows)
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def main() -> None:
    sys.path[0] = str(ROOT)
    order = serve(socket.socket(fileno=int(sys.argv[1])))
    become(order)
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
