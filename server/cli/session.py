"""One command's work in a hall of its own, and what it prints as data."""

import json
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio

from server.cli.doctor import find_root_cause
from server.compose import log_to_stderr
from server.debate.views import catalog
from server.engine.debates import DebateManager
from server.models.fakes.chaos import Chaos
from server.settings import Settings

T = TypeVar("T")


def run_with_manager(
    settings: Settings,
    operation: Callable[[DebateManager], Coroutine[Any, Any, T]],
    chaos: Chaos | None = None,
) -> T:
    """Do something in the hall, and raise what it raised."""
    # It brings the database and the models with it, and `--help` does without.
    from server.compose import open_manager  # noqa: PLC0415

    log_to_stderr(settings)

    async def open_and_run() -> T:
        async with open_manager(settings, chaos=chaos) as hall:
            return await operation(hall)

    try:
        return anyio.run(open_and_run)
    except BaseExceptionGroup as group:
        raise find_root_cause(group) from None


def format_json(data: Any) -> str:
    whole = "utf" in (sys.stdout.encoding or "").lower()
    return catalog.format_json(data) if whole else json.dumps(data, indent=1)
