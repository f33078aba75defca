"""`counterpoint view` in a child process, and the address that it prints."""

import os
import re
import subprocess
import time

from tests.support.patience import PATIENCE
from tests.support.processes.served import COMMAND

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/([A-Za-z0-9_-]{22,})/(debates/[a-z0-9]+)?\n")


class Viewer:
    """A `counterpoint view` that runs."""

    def __init__(self, database: str, *arguments: str, **environ: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "view", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"COUNTERPOINT_DB": database} | environ,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = ADDRESS.fullmatch(line)
        assert found, (line, self.process.communicate(timeout=PATIENCE))
        self.address, self.port, self.page = line.strip(), int(found[1]), found[3] or ""
        self.root = self.address.removesuffix(self.page)

    def end(self, number: int) -> tuple[int, str, float]:
        """Send a signal. Returns (exit code, stderr, seconds until it ended)."""
        begun = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        seconds = time.monotonic() - begun
        assert self.process.stderr is not None
        return code, self.process.stderr.read(), seconds

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)
