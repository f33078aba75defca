"""Scripts of a shell that start `counterpoint`, which is forked there, too (programs.py): they start it often."""

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from tests.support.processes import shell_program
from tests.support.processes.fork_server import MAX_BYTES
from tests.support.processes.programs import READ_AT_START
from tests.support.processes.served import COMMAND


@contextmanager
def put_on_path(folder: Path) -> Iterator[str]:
    """Lay a `counterpoint` into a folder, and return what is the PATH of a shell that finds it there.

    Each is killed with the program that the shell takes for it.
    """
    address = str(folder / "programs")
    client = [sys.executable, "-I", "-S", shell_program.__file__, address]
    script = folder / "counterpoint"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        thread = Thread(target=serve, args=[listener], daemon=True)
        thread.start()
        yield f"{folder}{os.pathsep}{os.environ['PATH']}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def serve(listener: socket.socket) -> None:
    with suppress(OSError):  # it was shut down
        while True:
            channel, _ = listener.accept()
            Thread(target=run, args=[channel], daemon=True).start()


def run(channel: socket.socket) -> None:
    with channel:
        packet, streams, _, _ = socket.recv_fds(channel, MAX_BYTES, 3)
        order = json.loads(packet)
        stdin, stdout, stderr = streams
        child = subprocess.Popen(
            [*COMMAND, *order["arguments"]],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=order["folder"],
            env=choose_variables(order["environ"]),
        )
        for stream in streams:
            os.close(stream)
        channel.send(str(child.pid).encode())
        waiting = Thread(target=tell_end, args=[channel, child], daemon=True)
        waiting.start()
        channel.recv(1)  # until the other end is closed
        child.kill()
        waiting.join()


def tell_end(channel: socket.socket, child: subprocess.Popen[bytes]) -> None:
    code = child.wait()
    with suppress(OSError):
        channel.send(str(code).encode())


def choose_variables(given: Mapping[str, str]) -> dict[str, str]:
    """As they were given, but with those of this process that no fork can have others of."""
    own, others = (
        {name: value for name, value in variables.items() if bool(READ_AT_START.match(name)) == is_read}
        for variables, is_read in ((os.environ, True), (given, False))
    )
    return own | others
