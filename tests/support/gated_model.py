"""A model whose replies a test holds back."""

import anyio

from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.patience import PATIENCE


class Gate:
    """`first_call` is set by the first call; replies wait for `release`. Its findings cannot be parsed."""

    def __init__(self) -> None:
        self.release = anyio.Event()
        self.first_call = anyio.Event()
        self.model = ScriptedModel(self.answer)

    async def answer(self, request: Request) -> str:
        self.first_call.set()
        await self.release.wait()
        return f"{request.seat} has a point."

    async def wait_for_call(self) -> None:
        with anyio.fail_after(PATIENCE):
            await self.first_call.wait()
