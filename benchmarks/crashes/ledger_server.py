"""A server whose model records every call in a ledger file: what a provider would have charged for.

Usage: python -m benchmarks.crashes.ledger_server DATABASE LEDGER DELAY [CHAOS LEEWAY]
"""

import os
import sys
from functools import partial
from pathlib import Path
from time import time

import anyio

from server.compose import open_manager
from server.engine.model_calls import LEEWAY
from server.mcp.late_manager import LateManager
from server.mcp.server import build_server
from server.mcp.stdio import run_protocol
from server.models import Model, OnText, Reply, Request
from server.models.fakes.chaos import Chaos, FaultyModel
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings

ANSWERS_SUFFIX = "answered"


class LedgerModel:
    def __init__(self, ledger: Path, model: Model) -> None:
        # An appended line this short is written atomically and survives a kill of the process.
        self.ledger, self.answers = (
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            for path in (ledger, ledger.with_suffix(f".{ANSWERS_SUFFIX}"))
        )
        self.model = model

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        self.append_line(self.ledger, request)
        try:
            return await self.model.reply(request, on_text)
        finally:
            self.append_line(self.answers, request)

    def append_line(self, descriptor: int, request: Request) -> None:
        os.write(descriptor, f"{time():.6f} {os.getpid()} {request.seed} {request.seat}\n".encode())


async def main(database: str, ledger: str, delay: str, chaos: str = "", leeway: str = str(LEEWAY)) -> None:
    model: Model = ScriptedModel(delay=float(delay), record_requests=False)
    if chaos:
        model = FaultyModel(model, Chaos.parse(chaos))
    ledger_model = LedgerModel(Path(ledger), model)

    settings = Settings(db=database, models=("ledger",))
    models = {"ledger": ledger_model}
    async with open_manager(settings, models, environ={}, leeway=float(leeway)) as manager:
        await run_protocol(build_server(LateManager.of(manager)))


if __name__ == "__main__":
    anyio.run(partial(main, *sys.argv[1:]))
