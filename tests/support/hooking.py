"""A hall with hooks, as a process has it, and debates to try them on."""

import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from server.compose import open_hall
from server.debate.commands.requests import DebaterAsked, Proposal
from server.engine.debates import Hall, utc_now
from server.engine.runner import Case
from server.hooks import Hooks, load
from server.models import Model, ModelError, Request
from server.models.fakes.scripted import ScriptedModel
from server.models.registry import Models
from server.settings import Settings
from storage.sqlite import SqliteJournal
from tests.support.receiving import SECRET

ENVIRON = {"HOOK_SECRET": SECRET}
ACTOR = "test"


class Lines(logging.Handler):
    """What is logged, and a way to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.came = anyio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
        self.came.set()

    async def of(self, part: str, count: int = 1) -> str:
        """The last of so many lines that hold this."""
        with anyio.fail_after(5):
            while len(found := [line for line in self.said if part in line]) < count:
                self.came = anyio.Event()
                await self.came.wait()
        return found[-1] if found else ""


def webhook(url: str, **more: Any) -> dict[str, Any]:
    return {"webhook": {"url": url, "secret_env": "HOOK_SECRET", **more}}


def hook(name: str, on: str, *do: dict[str, Any], **when: Any) -> dict[str, Any]:
    return {"name": name, "on": [on], "when": when, "do": list(do)}


def written(folder: Path, *hooks: dict[str, Any], **top: Any) -> Path:
    """A file of hooks; JSON is YAML. Webhooks may go to this machine unless it says otherwise."""
    path = folder / "hooks.yaml"
    path.write_text(json.dumps({"hooks": hooks, "allow": {"private": ["127.0.0.1"]}, **top}), "utf-8")
    return path


@asynccontextmanager
async def hooked(
    database: str, path: Path | str, models: Mapping[str, Model] | None = None
) -> AsyncIterator[Hall]:
    """The hall that the server and the terminal open."""
    settings = Settings(db=database, models=("scripted",), hooks=str(path))
    async with open_hall(settings, models, environ=ENVIRON) as hall:
        yield hall


@asynccontextmanager
async def impatient(
    database: str, path: Path, *, pauses: Sequence[float] = (0,), clock: Any = utc_now, **more: Any
) -> AsyncIterator[Hall]:
    """The same, put together by hand: with pauses of its own between the attempts."""
    journal = await SqliteJournal.open(database)
    try:
        async with (
            Hall.open(journal, Models({}), configured=("scripted",), environ=ENVIRON, clock=clock) as hall,
            Hooks.open(load(str(path), ENVIRON), hall, journal.outbox, pauses=pauses, **more),
        ):
            yield hall
    finally:
        await journal.close()


async def started(hall: Hall, **more: Any) -> Case:
    return await hall.start(Proposal(**{"question": "Ship it?", **more}), actor=ACTOR)


async def debated(hall: Hall, **more: Any) -> Case:
    """A debate from its beginning to its verdict."""
    case = await started(hall, run=True, **more)
    with anyio.fail_after(5):
        return await hall.follow(case.id, wait=5)


def fails(request: Request) -> str:
    raise ModelError("timeout", f"{request.seat} did not answer.")


def one_fails() -> tuple[list[DebaterAsked], dict[str, Model]]:
    """Three debaters, the last of whom never answers, and the models of theirs."""
    debaters = [DebaterAsked(name=name, stance=name, model="scripted") for name in ("Ada", "Ben")]
    debaters.append(DebaterAsked(name="Cy", stance="neither", model="mute"))
    return debaters, {"mute": ScriptedModel(fails)}
