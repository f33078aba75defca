"""Keeps the event loop responsive: of all debates of a process, few take a step in each pass of the loop.

Answers that arrive together would be read and recorded in one pass, for which every other request would have to wait.
"""

import asyncio
from collections import deque

STEPS_PER_PASS = 3  # of less than half a millisecond each


class Turnstile:
    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()  # the next to be let through first
        self._free = STEPS_PER_PASS  # of this pass

    async def enter(self) -> None:
        """Return in this pass of the event loop if few others have entered in it, else in a later one, in order."""
        loop = asyncio.get_running_loop()
        if self._free == STEPS_PER_PASS:
            loop.call_soon(self._begin_pass)
        if self._free:
            self._free -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _begin_pass(self) -> None:
        self._free = STEPS_PER_PASS
        while self._waiting and self._free:
            turn = self._waiting.popleft()
            if not turn.done():  # else it was cancelled
                if self._free == STEPS_PER_PASS:
                    turn.get_loop().call_soon(self._begin_pass)
                turn.set_result(None)
                self._free -= 1
