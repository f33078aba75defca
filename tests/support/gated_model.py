"""A model that answers when a test lets it."""

import anyio

from server.models import Request
from server.models.fakes.scripted import ScriptedModel


class Gate:
    """`asked` is set by the first question; answers wait until `open` is set. It never judges readably."""

    def __init__(self) -> None:
        self.release = anyio.Event()
        self.first_call = anyio.Event()
        self.model = ScriptedModel(self.answer)

    async def answer(self, request: Request) -> str:
        self.first_call.set()
        await self.release.wait()
        return f"{request.seat} has a point."
