"""A program that prints, in JSON, what it finds as it starts."""

import json
import os
import signal
import sys


def describe_stream(name: str) -> list[object]:
    stream = getattr(sys, name)
    buffering = [stream.line_buffering, stream.write_through]
    return [
        stream is getattr(sys, f"__{name}__"),
        stream.fileno(),
        stream.encoding,
        stream.errors,
        *buffering,
    ]


if __name__ == "__main__":
    found = {
        "argv": sys.argv,
        "path": sys.path,
        "environ": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109  (links are not followed)
        "parent": os.getppid(),
        "session is its own": os.getsid(0) == os.getpid(),
        "group of the parent": os.getpgid(0) == os.getpgid(os.getppid()),
        "streams": [describe_stream(name) for name in ("stdin", "stdout", "stderr")],
        "terminal": [os.isatty(number) for number in range(3)],
        "open files": sorted(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
        "given": sys.stdin.readline(),
    }
    print(json.dumps(found))  # noqa: T201
    sys.exit(7)
