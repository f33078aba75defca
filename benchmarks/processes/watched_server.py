"""Our server as it is started by a client, and a line a second about its event loop and its memory.

Usage: python -m benchmarks.processes.watched_server FILE

Each line of FILE is a JSON object: `at` (monotonic seconds), `stalls` (milliseconds by which a timer of 5 ms came late,
those over 1 ms), `ticks`, `tasks`, `threads`, `kilobytes` (resident). The loop is watched from inside, because requests
to the server also wait for other things.
"""

import asyncio
import json
import sys
import threading
from asyncio import events
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TextIO

TICK = 0.005
MIN_STALL_MS = 1.0


class Watch:
    def __init__(self, loop: asyncio.AbstractEventLoop, file: TextIO) -> None:
        self.loop, self.file = loop, file
        self.stalls: list[float] = []
        self.ticks = 0
        self.due = self.next_line = loop.time()
        loop.call_soon(self.tick)

    def tick(self) -> None:
        now = self.loop.time()
        late = (now - self.due) * 1000
        self.ticks += 1
        if late > MIN_STALL_MS:
            self.stalls.append(round(late, 1))
        if now >= self.next_line:
            self.next_line = now + 1
            self.write_line()
        self.due = self.loop.time() + TICK
        self.loop.call_at(self.due, self.tick)

    def write_line(self) -> None:
        status = Path("/proc/self/status").read_text()
        line = {
            "at": monotonic(),
            "stalls": self.stalls,
            "ticks": self.ticks,
            "tasks": len(asyncio.all_tasks(self.loop)),
            "threads": threading.active_count(),
            "kilobytes": int(status.partition("VmRSS:")[2].split()[0]),
        }
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        self.stalls, self.ticks = [], 0


def watch_new_loops(file: TextIO) -> None:
    """Watch every loop that the standard library opens from now on."""
    original: Callable[[], asyncio.AbstractEventLoop] = events.new_event_loop

    def new_event_loop() -> asyncio.AbstractEventLoop:
        loop = original()
        Watch(loop, file)
        return loop

    events.new_event_loop = new_event_loop


def main() -> None:
    path = sys.argv.pop(1)
    from server.__main__ import main as serve  # noqa: PLC0415  (after the argument is taken)

    with Path(path).open("a", encoding="utf-8") as file:
        watch_new_loops(file)
        serve()


if __name__ == "__main__":
    main()
