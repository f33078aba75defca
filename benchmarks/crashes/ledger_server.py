"""A server whose model records every call in a ledger file: what a provider would have charged for.

Usage: python -m benchmarks.crashes.ledger_server DATABASE LEDGER DELAY
"""

import os
import sys
from functools import partial
from pathlib import Path
from time import time

import anyio

from server.compose import open_manager
from server.mcp.late_manager import LateManager
from server.mcp.server import build_server
from server.mcp.stdio import run_protocol
from server.models import Model, OnText, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings


class LedgerModel:
    def __init__(self, ledger: Path, model: Model) -> None:
        # An appended line this short is written atomically and survives a kill of the process.
        self.ledger = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.model = model

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        line = f"{time():.6f} {os.getpid()} {request.max_tokens} {request.seed} {request.seat}\n"
        os.write(self.ledger, line.encode())
        return await self.model.reply(request, on_text)


async def main(database: str, ledger: str, delay: str) -> None:
    ledger_model = LedgerModel(Path(ledger), ScriptedModel(delay=float(delay), record_requests=False))

    settings = Settings(db=database, models=("ledger",))
    models = {"ledger": ledger_model}
    async with open_manager(settings, models, environ={}) as manager:
        await run_protocol(build_server(LateManager.of(manager)))


if __name__ == "__main__":
    anyio.run(partial(main, *sys.argv[1:]))
