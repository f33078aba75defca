"""Requests are begun a few at a time, and owners in turn: one who sends hundreds at once does not hold up another.

A request has its place until it is answered or only waits (`server.turns.give_way`), and for a second at most.
"""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.caller import read_caller
from server.models.concurrency import ConcurrencyLimit
from server.turns import leave_place

PLACES = 4  # more would only share the one core that a process has
HOLD_SECONDS = 1.0


class Admission:
    def __init__(self, app: ASGIApp, places: int = PLACES, hold_seconds: float = HOLD_SECONDS) -> None:
        self.app, self.limit, self.hold_seconds = app, ConcurrencyLimit(places), hold_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.limit.acquire(read_caller().owner)
        has_place = True

        def leave() -> None:
            nonlocal has_place
            if has_place:
                has_place = False
                self.limit.release()

        async def send_leaving(message: Message) -> None:
            leave()  # what follows the beginning of an answer may be a stream without end
            await send(message)

        timer = asyncio.get_running_loop().call_later(self.hold_seconds, leave)
        before = leave_place.set(leave)
        try:
            await self.app(scope, receive, send_leaving)
        finally:
            leave_place.reset(before)
            timer.cancel()
            leave()
