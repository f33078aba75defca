"""Keeps the event loop responsive: of all debates of a process, one takes a step in each pass of the loop.

Answers that arrive together would be read and recorded in one pass, for which every other request would have to wait. A
step is whatever takes long: opening a debate, asking the seats of a round, reading a reply, recording it, showing it.
"""

import asyncio

from server.turns import Turns


class Turnstile:
    def __init__(self) -> None:
        self.waiting = Turns[asyncio.Future[None]]()  # by owner
        self._is_taken = False  # in this pass

    async def enter(self, owner: str = "") -> None:
        """Return in this pass of the event loop if nobody else has entered it, else in a later one: owners in turn."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._begin_pass)
            return
        turn = loop.create_future()
        self.waiting.add(turn, owner)
        await turn

    def _begin_pass(self) -> None:
        self._is_taken = False
        while self.waiting and not self._is_taken:
            turn = self.waiting.take()
            if not turn.done():  # else it was cancelled
                self._is_taken = True
                turn.set_result(None)
                turn.get_loop().call_soon(self._begin_pass)  # in the next pass, after who was let through
