"""Lines that were logged, for tests that wait for one."""

import logging

import anyio

from tests.support.patience import PATIENCE


class LogLines(logging.Handler):
    """Collects log lines and lets a test wait for one."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []
        self.arrival = anyio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
        self.arrival.set()

    async def wait_for(self, text: str, count: int = 1) -> str:
        """Wait until `count` lines contain `text`; returns the last of them."""
        with anyio.fail_after(PATIENCE):
            while len(found := [line for line in self.messages if text in line]) < count:
                self.arrival = anyio.Event()
                await self.arrival.wait()
        return found[-1] if found else ""
