"""A server whose model writes down, durably, every question it was asked: what would have been paid for.

Usage: python -m benchmarks.paying DATABASE LEDGER DELAY [CHAOS LEEWAY]
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import time

from server.compose import open_hall
from server.engine.debates import Hall
from server.engine.model_calls import LEEWAY
from server.mcp.server import build
from server.models import Model, OnText, Reply, Request
from server.models.fakes.chaos import Chaos, Faulty
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings

ANSWERED = "answered"


class PayingModel:
    def __init__(self, ledger: Path, model: Model) -> None:
        # Lines this short are written whole, by whatever process, and outlive a kill of it.
        self.ledger, self.answers = (
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            for path in (ledger, ledger.with_suffix(f".{ANSWERED}"))
        )
        self.model = model

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        self.write(self.ledger, request)
        try:
            return await self.model.reply(request, on_text)
        finally:
            self.write(self.answers, request)

    def write(self, book: int, request: Request) -> None:
        os.write(book, f"{time():.6f} {os.getpid()} {request.seed} {request.seat}\n".encode())


def main(database: str, ledger: str, delay: str, chaos: str = "", leeway: str = str(LEEWAY)) -> None:
    model: Model = ScriptedModel(delay=float(delay), remember=False)
    if chaos:
        model = Faulty(model, Chaos.parse(chaos))
    paying = PayingModel(Path(ledger), model)

    @asynccontextmanager
    async def hall() -> AsyncIterator[Hall]:
        settings = Settings(db=database, models=("paying",))
        async with open_hall(settings, {"paying": paying}, environ={}) as opened:
            opened.runner.questions.leeway = float(leeway)
            yield opened

    build(hall).run("stdio")


if __name__ == "__main__":
    main(*sys.argv[1:])
