"""Watchers of runs: told when this process begins to work on a debate, and when it stops."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from server.engine.runner import Run
from tests.support.engines import open_engine, run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N15")]


async def test_a_watcher_is_entered_and_left_around_the_work_on_a_debate(database: str) -> None:
    told: list[tuple[str, str]] = []

    @contextmanager
    def watch(run: Run) -> Iterator[None]:
        told.append(("begins", run.snapshot.status))
        yield
        told.append(("stops", run.snapshot.status))

    async with open_engine(database) as manager:
        manager.run_watchers.append(watch)
        snapshot = await run_debate(manager, models=["scripted"])
        assert snapshot.status == "concluded"
    assert told == [("begins", "running"), ("stops", "concluded")]
