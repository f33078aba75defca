"""One command's work in a hall of its own, and what it prints as data."""

import json
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio

from server.cli.doctor import cause
from server.compose import log_to_stderr
from server.engine import queries as reading
from server.engine.debates import Hall
from server.models.fakes.chaos import Chaos
from server.settings import Settings

T = TypeVar("T")


def run(settings: Settings, work: Callable[[Hall], Coroutine[Any, Any, T]], chaos: Chaos | None = None) -> T:
    """Do something in the hall, and raise what it raised."""
    # It brings the database and the models with it, and `--help` does without.
    from server.compose import open_hall  # noqa: PLC0415

    log_to_stderr(settings)

    async def inside() -> T:
        async with open_hall(settings, chaos=chaos) as hall:
            return await work(hall)

    try:
        return anyio.run(inside)
    except BaseExceptionGroup as group:
        raise cause(group) from None


def dumped(data: Any) -> str:
    whole = "utf" in (sys.stdout.encoding or "").lower()
    return reading.as_json(data) if whole else json.dumps(data, indent=1)
