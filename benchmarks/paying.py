"""A server whose model writes down, durably, every question it was asked: what would have been paid for.

Usage: python -m benchmarks.paying DATABASE LEDGER DELAY
"""

import os
import sys
from pathlib import Path

from server.app import build, open_hall
from server.models import OnText, Reply, Request
from server.models.scripted import ScriptedModel
from server.settings import Settings


class PayingModel:
    def __init__(self, ledger: Path, delay: float) -> None:
        self.ledger = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.model = ScriptedModel(delay=delay)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        os.write(self.ledger, f"{request.seed} {request.seat}\n".encode())
        return await self.model.reply(request, on_text)


def main(database: str, ledger: str, delay: str) -> None:
    model = PayingModel(Path(ledger), float(delay))
    settings = Settings(db=database, models=("paying",))
    build(lambda: open_hall(settings, {"paying": model}, environ={})).run("stdio")


if __name__ == "__main__":
    main(*sys.argv[1:])
